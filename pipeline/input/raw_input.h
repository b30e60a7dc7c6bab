/* SPDX-License-Identifier: BSD-2-Clause
 * What the user says of an input that does not describe itself: -video_size, -framerate,
 * -pixel_format. Any thread; does not block. */
#ifndef HALO_RAW_INPUT_H
#define HALO_RAW_INPUT_H

#include <libavutil/dict.h>

#include "config/error.h"
#include "config/source.h"

/* Usage errors for values that mean nothing. */
int halo_raw_input_check(const struct halo_source_settings *settings, struct halo_error *err);

/* After the input was refused: a usage error where it seems to be raw video without its size. */
int halo_raw_input_check_size(const struct halo_source_settings *settings, struct halo_error *err);

/* As options of a demuxer. 0 or -ENOMEM. */
int halo_raw_input_options(const struct halo_source_settings *settings, AVDictionary **ret);

/* The usage error for an option that the demuxer did not take. */
int halo_raw_input_refuse(const char *key, const char *demuxer, struct halo_error *err);

#endif
