/* SPDX-License-Identifier: BSD-2-Clause
 * Finds settings of a live encoding that an encoder does not accept, as far as its table of options
 * shows: no encoder is opened, and none of its devices or libraries is used. Any thread. */
#ifndef HALO_ENCODE_CHECK_H
#define HALO_ENCODE_CHECK_H

#include <libavcodec/avcodec.h>

#include "config/error.h"

/* codec: a name for halo_av_find_encoder(); an unknown name is accepted here. key: "bitrate", "crf"
 * or "preset". 0, a usage error whose text follows the key's name, or -ENOMEM. */
int halo_encode_check(const char *codec, const char *key, const char *value,
                      struct halo_error *err);

/* The same for an encoder that could not be opened with any settings. */
int halo_encode_check_codec(const AVCodec *codec, struct halo_error *err);

#endif
