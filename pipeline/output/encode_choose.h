/* SPDX-License-Identifier: BSD-2-Clause
 * What an encoder is asked for, from what the pictures are. For encode.c; any thread, no
 * blocking. */
#ifndef HALO_ENCODE_CHOOSE_H
#define HALO_ENCODE_CHOOSE_H

#include <libavcodec/avcodec.h>

#include "config/option.h"
#include "pipeline/output/encode.h"

/* Size, format, colours, fields and time base of c, which is not open yet. */
void halo_encode_choose(AVCodecContext *c, const AVCodec *codec,
                        const struct halo_encoder_settings *settings,
                        const struct halo_encoder_input *input);

/* Whether the encoder takes pictures of this format in the container as they are. */
bool halo_encode_takes(const AVOutputFormat *container, const AVCodec *codec,
                       enum AVPixelFormat format);

/* Whether the pictures use the full range of their samples. */
bool halo_encode_is_full(const struct halo_encoder_input *input);

/* Adds what makes the encoder hold no picture back, where nothing else was asked for. 0 or
 * -ENOMEM. */
int halo_encode_live_options(const AVCodecContext *c, const AVCodec *codec, AVDictionary **options);

/* x264 prints on standard error what it does not know, beside FFmpeg's log: so it is asked for
 * known presets only. 0 or a usage error; preset may be NULL. */
int halo_encode_check_preset(const AVCodec *codec, const char *preset, struct halo_error *err);
/* Whether it knows that; where not, ret_near is halo_nearest_words() of those it knows. */
bool halo_encode_knows_preset(const AVCodec *codec, const char *preset,
                              char ret_near[HALO_NEAREST_WORDS]);

#endif
