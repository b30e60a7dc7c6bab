/* SPDX-License-Identifier: BSD-2-Clause
 * Determines when the streams of a file begin, and whether the output's container can store these
 * times. */
#ifndef HALO_STARTS_H
#define HALO_STARTS_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/input/source_file.h"

/* Computes the offset that must be subtracted from all timestamps so that the streams begin at
 * times that the container can store. Sets *ret to this offset, in units of AV_TIME_BASE. The
 * offset is 0 if the container can store the original times, or if -ss defines time 0. May read
 * ahead in the source. Returns 0, or -errno with err filled. */
int halo_starts_offset(struct halo_source *source, const AVOutputFormat *container,
                       const struct halo_run_settings *settings, int64_t *ret,
                       struct halo_error *err);

/* Returns whether audio that begins at start (in units of tb) must be preceded by silence that
 * begins at time 0. Silence is needed if the container counts samples from time 0 and players would
 * therefore play the audio too early, by more than a packet. */
bool halo_starts_too_late(const AVOutputFormat *container, const AVCodecParameters *par,
                          int64_t start, AVRational tb);

#endif
