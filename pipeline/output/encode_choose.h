/* SPDX-License-Identifier: BSD-2-Clause
 * Chooses an encoder's parameters from the properties of the frames. Used by encode.c. Any thread;
 * no call blocks. */
#ifndef HALO_ENCODE_CHOOSE_H
#define HALO_ENCODE_CHOOSE_H

#include <libavcodec/avcodec.h>

#include "config/option.h"
#include "pipeline/output/encode.h"

/* Sets the size, format, colours, field order and time base of the codec context `c`, which is not
 * open yet. */
void halo_encode_choose(AVCodecContext *c, const AVCodec *codec,
                        const struct halo_encoder_settings *settings,
                        const struct halo_encoder_input *input);

/* Returns whether the encoder accepts frames of this format without conversion if its packets are
 * stored in this container. */
bool halo_encode_takes(const AVOutputFormat *container, const AVCodec *codec,
                       enum AVPixelFormat format);

/* Returns whether the frames use the full range of their samples. */
bool halo_encode_is_full(const struct halo_encoder_input *input);

/* Adds options that prevent the encoder from holding back frames, unless the user has set them.
 * Returns 0 or -ENOMEM. */
int halo_encode_live_options(const AVCodecContext *c, const AVCodec *codec, AVDictionary **options);

/* Checks the preset, which may be NULL. x264 reports unknown presets directly on standard error,
 * bypassing FFmpeg's log, so only known presets are passed to it. Returns 0 or a usage error. */
int halo_encode_check_preset(const AVCodec *codec, const char *preset, struct halo_error *err);
/* Returns whether the encoder knows the preset; if not, ret_near contains the result of
 * halo_nearest_words() for the presets that it knows. */
bool halo_encode_knows_preset(const AVCodec *codec, const char *preset,
                              char ret_near[HALO_NEAREST_WORDS]);

#endif
