/* SPDX-License-Identifier: BSD-2-Clause
 * A source that is a file, a URL or standard input, read through FFmpeg's demuxers.
 *
 * It is used by one thread; only the limits may be set by other threads. Every call may block on
 * disk or network. A stop request ends a blocking call the next time that call wakes up. */
#ifndef HALO_SOURCE_FILE_H
#define HALO_SOURCE_FILE_H

#include <libavformat/avformat.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/source.h"
#include "pipeline/input/source_open.h"

struct halo_damage;
struct halo_source;

/* Conditions that end a blocking call; any thread may set them. */
struct halo_source_limits {
    const atomic_int *stop; /* nonzero: end the blocking call and all later calls at once */
    atomic_llong deadline;  /* end at this time, in ns of CLOCK_MONOTONIC; 0: no deadline */
    struct halo_source_header header;
};

/* Opens settings->input and seeks to the beginning of `part`; if `part` is NULL, the whole input is
 * read. Returns 0, or -errno with err filled. settings, damage and limits must outlive the source;
 * the caller owns *ret. */
int halo_source_open(struct halo_source **ret, const struct halo_source_settings *settings,
                     const struct halo_source_part *part, struct halo_damage *damage,
                     const struct halo_source_limits *limits, struct halo_error *err);
void halo_source_close(struct halo_source *s); /* accepts NULL */

AVFormatContext *halo_source_format(const struct halo_source *s);

/* Reads the next packet into pkt, whose old references are dropped first, and corrects its times
 * for jumps of the clock. Returns 1 with a packet; 0 at the end, after a stop request or at the
 * deadline; or -errno with err filled, after a read error or if the input is damaged (err then
 * contains the time of the damage). */
int halo_source_read(struct halo_source *s, AVPacket *pkt, struct halo_error *err);

/* Reads ahead and returns in *ret the packet that halo_source_read will return after `index`
 * others. The packet still belongs to the source. Call this only before the first read. Returns 1
 * on success, 0 if the input ends before that packet, or -errno with err filled. */
int halo_source_peek(struct halo_source *s, int index, const AVPacket **ret,
                     struct halo_error *err);

/* Allows the demuxer to skip the other streams, if that does not change the times of this one: how
 * far a clock jumps follows from the packets of all streams. */
void halo_source_read_only(struct halo_source *s, const AVStream *stream);

/* A packet of a stream. */
struct halo_packet_place {
    int64_t pts; /* in the stream's time base */
    int size;    /* bytes */
};

/* Continues reading with this packet of the stream with this index: seeks there or, if that does
 * not find it, reads from the beginning. Packets that were read ahead are forgotten. Returns 0, or
 * -errno with err filled: -ESTALE if the input does not contain this packet. */
int halo_source_go_to(struct halo_source *s, int index, const struct halo_packet_place *place,
                      struct halo_error *err);

/* Goes back to the beginning, to read the same packets again. Call this after halo_source_read()
 * has reached the end. Returns 0, or -errno if the format or the input does not support rewinding;
 * the source can then only be closed. */
int halo_source_rewind(struct halo_source *s);

/* Checks that the file is complete. Returns 0, or -EBADMSG with err filled if something that the
 * file declares is missing. Call this after halo_source_read() has reached the end. */
int halo_source_check_whole(const struct halo_source *s, struct halo_error *err);

/* Subtracts offset (in units of AV_TIME_BASE) from all times. Call this before the first packet is
 * read. */
void halo_source_move(struct halo_source *s, int64_t offset);

/* Converts ts, a time of the input in units of tb, to the output's timeline, on which the time that
 * -ss sets is 0. AV_NOPTS_VALUE is returned unchanged. */
int64_t halo_source_shift(const struct halo_source *s, int64_t ts, AVRational tb);

/* Compares a time on the output's timeline with the range that -ss and -t select. Returns -1 if the
 * time is before -ss, 1 if it is at or after the end that -t sets, otherwise 0. */
int halo_source_window(const struct halo_source *s, int64_t shifted, AVRational tb);

/* Returns the range of input times that -ss and -t select, in units of tb: *ret_from <= ts <
 * *ret_until. Without -ss, *ret_from is INT64_MIN; without -t, *ret_until is INT64_MAX. Call this
 * after halo_source_move(). */
void halo_source_bounds(const struct halo_source *s, AVRational tb, int64_t *ret_from,
                        int64_t *ret_until);

/* Returns the end that -t sets, on the output's timeline and in units of AV_TIME_BASE; INT64_MAX
 * without -t. */
int64_t halo_source_end(const struct halo_source *s);

/* Returns the duration of the part that will be read, in seconds; negative if unknown. */
double halo_source_duration(const struct halo_source *s);

/* Returns whether the input declares its duration. If the duration is declared, any missing data
 * was once recorded and has since been lost. */
bool halo_source_declares(const struct halo_source *s);

#endif
