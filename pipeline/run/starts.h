/* SPDX-License-Identifier: BSD-2-Clause
 * Where the streams of a file begin, and what the output's container can say of that. */
#ifndef HALO_STARTS_H
#define HALO_STARTS_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "config/run.h"
#include "pipeline/input/source_file.h"

/* What is to be subtracted from all times (AV_TIME_BASE), so that streams begin where container can
 * say it: 0 where they do, or where -ss says what is 0. The source may be read ahead. 0, or -errno
 * with err filled. */
int halo_starts_offset(struct halo_source *source, const AVOutputFormat *container,
                       const struct halo_run_settings *settings, int64_t *ret,
                       struct halo_error *err);

/* Whether sound that begins at start (in tb) is to be filled up from 0 with silence, for the
 * container counts its samples from there and would play it too early by a packet or more. */
bool halo_starts_too_late(const AVOutputFormat *container, const AVCodecParameters *par,
                          int64_t start, AVRational tb);

#endif
