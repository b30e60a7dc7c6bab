/* SPDX-License-Identifier: BSD-2-Clause
 * Finds settings of a live encoding that an encoder does not accept, as far as its table of options
 * shows this. No encoder is opened, and no device or library of an encoder is used. Any thread. */
#ifndef HALO_ENCODE_CHECK_H
#define HALO_ENCODE_CHECK_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "config/base/error.h"

/* Checks one setting of an encoder. `codec` is a name for halo_av_find_encoder(); if no encoder has
 * this name, any setting is accepted. `key` is "bitrate", "crf" or "preset". Returns 0, a usage
 * error whose text is to be appended to the key's name, or -ENOMEM. */
int halo_encode_check(const char *codec, const char *key, const char *value,
                      struct halo_error *err);

/* Returns 0, or a usage error if the encoder cannot be opened with any settings. */
int halo_encode_check_codec(const AVCodec *codec, struct halo_error *err);

bool halo_nvenc_is(const AVCodec *codec);

/* halo_nvenc_preset() returns NVENC's equivalent of a preset of x264 or x265, or name itself if
 * there is none. halo_nvenc_software_preset() returns the other encoder's equivalent of NVENC's
 * preset, or of one of x264 for SVT-AV1 (`id`); NULL: it has none. */
const char *halo_nvenc_preset(const char *name);
const char *halo_nvenc_software_preset(const char *name, enum AVCodecID id);

#endif
