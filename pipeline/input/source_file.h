/* SPDX-License-Identifier: BSD-2-Clause
 * Source: a file, URL or standard input, through FFmpeg's demuxers.
 *
 * One thread, but for what limits it. Everything may block on disk or network; a stop request ends
 * a blocking call within its next wake-up. */
#ifndef HALO_SOURCE_FILE_H
#define HALO_SOURCE_FILE_H

#include <libavformat/avformat.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/source.h"

struct halo_damage;
struct halo_source;

/* What ends a blocking call; set by any thread. */
struct halo_source_limits {
    const atomic_int *stop; /* not 0: now, and for good */
    atomic_llong deadline;  /* then, in ns of CLOCK_MONOTONIC; 0: none */
};

/* Opens settings->input and seeks to where the part begins (NULL: all of it is read). 0 or -errno
 * with err filled. settings, damage and limits must outlive the source; the caller owns *ret. */
int halo_source_open(struct halo_source **ret, const struct halo_source_settings *settings,
                     const struct halo_source_part *part, struct halo_damage *damage,
                     const struct halo_source_limits *limits, struct halo_error *err);
void halo_source_close(struct halo_source *s); /* NULL is nothing to do */

AVFormatContext *halo_source_format(const struct halo_source *s);

/* Next packet into pkt (its references are dropped first), its times freed of the clock's jumps.
 * 1: a packet; 0: the end, a stop or the deadline; -errno with err filled: a read error or damage,
 * with its time. */
int halo_source_read(struct halo_source *s, AVPacket *pkt, struct halo_error *err);

/* The packet that the index-th next call of halo_source_read will give, read ahead and kept; it
 * stays the source's. 1, 0 (the end comes before it) or -errno with err filled. Only before the
 * first read. */
int halo_source_peek(struct halo_source *s, int index, const AVPacket **ret,
                     struct halo_error *err);

/* After the end: back to the beginning, for the same packets again. -errno: that format or input
 * cannot; the source is only good for closing then. */
int halo_source_rewind(struct halo_source *s);

/* After the end: is all there that the file declares? -EBADMSG with err filled where not. */
int halo_source_check_whole(const struct halo_source *s, struct halo_error *err);

/* Subtracts offset (AV_TIME_BASE) from all times. Before the first packet is read. */
void halo_source_move(struct halo_source *s, int64_t offset);

/* Moves a time of the input onto the output's line: -ss becomes 0. ts in tb, AV_NOPTS_VALUE
 * passes. */
int64_t halo_source_shift(const struct halo_source *s, int64_t ts, AVRational tb);

/* Where a moved time lies: -1 before -ss, 1 at or after the end that -t asks for, else 0. */
int halo_source_window(const struct halo_source *s, int64_t shifted, AVRational tb);

/* The times of the input, in tb, that lie inside: *ret_from <= ts < *ret_until; INT64_MIN and
 * INT64_MAX without -ss and -t. After halo_source_lift. */
void halo_source_bounds(const struct halo_source *s, AVRational tb, int64_t *ret_from,
                        int64_t *ret_until);

/* Where -t ends it on the moved line, in AV_TIME_BASE; INT64_MAX without -t. */
int64_t halo_source_end(const struct halo_source *s);

/* Length of what will be read, in seconds; negative where nobody knows. */
double halo_source_duration(const struct halo_source *s);

/* Whether the input itself says how long it is: then what is missing was lost, not left out. */
bool halo_source_declares(const struct halo_source *s);

#endif
