/* SPDX-License-Identifier: BSD-2-Clause
 * Settings for an input that does not describe its own format: -video_size, -framerate,
 * -pixel_format. Any thread; no call blocks. */
#ifndef HALO_RAW_INPUT_H
#define HALO_RAW_INPUT_H

#include <libavutil/dict.h>

#include "config/base/error.h"
#include "config/source.h"

/* Checks the settings' values. Returns 0, or a usage error if a setting is invalid. */
int halo_raw_input_check(const struct halo_source_settings *settings, struct halo_error *err);

/* Call this if the input could not be opened. Returns a usage error if the input seems to be raw
 * video and no size is set, otherwise 0. */
int halo_raw_input_check_size(const struct halo_source_settings *settings, struct halo_error *err);

/* Converts the settings to options for a demuxer. Returns 0 or -ENOMEM. */
int halo_raw_input_options(const struct halo_source_settings *settings, AVDictionary **ret);

/* Returns the usage error for an option that the demuxer did not use. */
int halo_raw_input_refuse(const char *key, const char *demuxer, struct halo_error *err);

#endif
