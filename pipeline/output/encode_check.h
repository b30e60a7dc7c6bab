/* SPDX-License-Identifier: BSD-2-Clause
 * What of a live encoding's settings an encoder cannot take, as far as its table of options says
 * it: no encoder is opened, and no device or library of one is touched. Any thread. */
#ifndef HALO_ENCODE_CHECK_H
#define HALO_ENCODE_CHECK_H

#include <libavcodec/avcodec.h>

#include "config/error.h"

/* codec: as halo_av_find_encoder() knows it; another name is nothing to say here. key: "bitrate",
 * "crf" or "preset". 0, a usage error in words that go behind the key's name, or -ENOMEM. */
int halo_encode_check(const char *codec, const char *key, const char *value,
                      struct halo_error *err);

/* An encoder that would not be opened, whatever its settings. As above. */
int halo_encode_check_codec(const AVCodec *codec, struct halo_error *err);

#endif
