/* SPDX-License-Identifier: BSD-2-Clause
 * Source: a file, URL or standard input, read through FFmpeg's demuxers.
 *
 * For one thread; only the limits may be set by others. Every call may block on disk or network; a
 * stop request ends a blocking call the next time it wakes up. */
#ifndef HALO_SOURCE_FILE_H
#define HALO_SOURCE_FILE_H

#include <libavformat/avformat.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/source.h"

struct halo_damage;
struct halo_source;

/* Limits that end a blocking call; any thread may set them. */
struct halo_source_limits {
    const atomic_int *stop; /* nonzero: end at once, for good */
    atomic_llong deadline;  /* end at this time, in ns of CLOCK_MONOTONIC; 0: none */
};

/* Opens settings->input and seeks to the beginning of the part (NULL: the whole input). 0 or -errno
 * with err filled. settings, damage and limits must outlive the source; the caller owns *ret. */
int halo_source_open(struct halo_source **ret, const struct halo_source_settings *settings,
                     const struct halo_source_part *part, struct halo_damage *damage,
                     const struct halo_source_limits *limits, struct halo_error *err);
void halo_source_close(struct halo_source *s); /* accepts NULL */

AVFormatContext *halo_source_format(const struct halo_source *s);

/* Reads the next packet into pkt (whose references are dropped first), with times corrected for
 * jumps of the clock. 1: a packet; 0: the end, a stop or the deadline; -errno with err filled: a
 * read error, or damage with its time. */
int halo_source_read(struct halo_source *s, AVPacket *pkt, struct halo_error *err);

/* Reads ahead and returns the packet that halo_source_read will return after `index` others. The
 * source keeps owning it. 1, 0 (the end is reached before it) or -errno with err filled. Only
 * before the first read. */
int halo_source_peek(struct halo_source *s, int index, const AVPacket **ret,
                     struct halo_error *err);

/* Call after the end: goes back to the beginning, to read the same packets again. -errno: the
 * format or input does not support that; the source can only be closed then. */
int halo_source_rewind(struct halo_source *s);

/* Call after the end: -EBADMSG with err filled if something is missing that the file declares, else
 * 0. */
int halo_source_check_whole(const struct halo_source *s, struct halo_error *err);

/* Subtracts offset (AV_TIME_BASE) from all times. Call before the first packet is read. */
void halo_source_move(struct halo_source *s, int64_t offset);

/* Converts a time of the input to the output's timeline, on which -ss is 0. ts is in tb;
 * AV_NOPTS_VALUE is unchanged. */
int64_t halo_source_shift(const struct halo_source *s, int64_t ts, AVRational tb);

/* Compares a time on the output's timeline with the range of -ss and -t: -1 before -ss, 1 at or
 * after the end set by -t, else 0. */
int halo_source_window(const struct halo_source *s, int64_t shifted, AVRational tb);

/* The range of -ss and -t in times of the input, in tb: *ret_from <= ts < *ret_until; INT64_MIN and
 * INT64_MAX without -ss and -t. Call after halo_source_move. */
void halo_source_bounds(const struct halo_source *s, AVRational tb, int64_t *ret_from,
                        int64_t *ret_until);

/* The end set by -t on the output's timeline, in AV_TIME_BASE; INT64_MAX without -t. */
int64_t halo_source_end(const struct halo_source *s);

/* Duration of the part that will be read, in seconds; negative if unknown. */
double halo_source_duration(const struct halo_source *s);

/* Whether the input declares its duration: if so, missing data was lost, not left out. */
bool halo_source_declares(const struct halo_source *s);

#endif
