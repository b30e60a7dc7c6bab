/* SPDX-License-Identifier: BSD-2-Clause
 * Chooses an encoder's parameters from the properties of the frames. Used by encode.c; any thread,
 * no call blocks. */
#ifndef HALO_ENCODE_CHOOSE_H
#define HALO_ENCODE_CHOOSE_H

#include <libavcodec/avcodec.h>

#include "config/option.h"
#include "pipeline/output/encode.h"

/* Sets size, format, colours, fields and time base of c, which is not open yet. */
void halo_encode_choose(AVCodecContext *c, const AVCodec *codec,
                        const struct halo_encoder_settings *settings,
                        const struct halo_encoder_input *input);

/* Whether the encoder accepts frames of this format unconverted, for this container. */
bool halo_encode_takes(const AVOutputFormat *container, const AVCodec *codec,
                       enum AVPixelFormat format);

/* Whether the frames use the full range of their samples. */
bool halo_encode_is_full(const struct halo_encoder_input *input);

/* Adds the options that keep the encoder from holding frames back, unless the user set others. 0 or
 * -ENOMEM. */
int halo_encode_live_options(const AVCodecContext *c, const AVCodec *codec, AVDictionary **options);

/* x264 reports unknown presets on standard error, past FFmpeg's log, so only known presets are
 * passed to it. 0 or a usage error; preset may be NULL. */
int halo_encode_check_preset(const AVCodec *codec, const char *preset, struct halo_error *err);
/* Whether the encoder knows the preset; if not, ret_near is halo_nearest_words() of those it
 * knows. */
bool halo_encode_knows_preset(const AVCodec *codec, const char *preset,
                              char ret_near[HALO_NEAREST_WORDS]);

#endif
