/* SPDX-License-Identifier: BSD-2-Clause
 * A stream as a piece of a run in segments: it encodes one segment into a part, or joins the parts
 * into the output (segments.h).
 *
 *   segment:  packets of the segment ─► decode ─► gate ─► encode ─► part
 *   detect:   packets of the segment ─► decode ─► detectors ─► NUMBER.detections
 *   join:     parts ─► video packets ───────────────────────────┐
 *             input ─► sound, subtitles, everything else ───────┴─► mux ─► OUT
 *
 * A stream that joins opens its encoder like the others, to describe the output, and never uses it.
 * The functions are called by the thread named in each comment, and may block on disk. */
#ifndef HALO_PIECE_H
#define HALO_PIECE_H

#include <libavcodec/packet.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/gate/frozen.h"
#include "pipeline/segment/segments.h"

struct halo_stream;

struct halo_piece {
    struct halo_segments *segments; /* NULL: the stream is a whole run */
    bool joins;
    int track; /* index of the filtered track */
    /* The stream of a segment: */
    struct halo_segment segment;
    struct halo_part_writer *writer; /* used by the encode thread */
    struct AVMurMur3 *hash;
    int64_t packets;                /* read so far */
    struct halo_detections *record; /* what detectors answer; NULL: the segment is encoded */
    struct halo_replay *replay;     /* what they answered; NULL: there are none */
    atomic_bool stored;             /* the part is being stored, or is */
    struct halo_frozen *frozen;     /* what is shown in place of objects; NULL: the gate takes it */
    /* The stream that joins; used by the source thread: */
    struct halo_part_reader *reader; /* NULL: the next part is not open yet */
    int next;                        /* number of the segment whose part follows */
    AVPacket *pkt;                   /* read from the part, not passed on yet; NULL: none */
    bool over;                       /* there are no further parts */
    int64_t joined, first, last;     /* packets passed on, and their times */
    struct halo_part_order order;
};

static inline bool halo_piece_is_segment(const struct halo_piece *p)
{
    return p->segments && !p->joins;
}

/* Whether only detectors look at the segment's frames. */
static inline bool halo_piece_detects(const struct halo_piece *p)
{
    return p->record != NULL;
}

/* Whether only values of objects are taken from the segment's frames. */
static inline bool halo_piece_takes(const struct halo_piece *p)
{
    return p->frozen && p->frozen->mode == HALO_FROZEN_TAKE;
}

/* Whether frames are encoded. */
static inline bool halo_piece_encodes(const struct halo_piece *p)
{
    return !(p->segments && p->joins) && !halo_piece_detects(p) && !halo_piece_takes(p);
}

static inline bool halo_piece_joins(const struct halo_piece *p)
{
    return p->segments && p->joins;
}

/* Prepares reading and writing, after the tracks were opened. Returns 0; a usage error if this
 * input or output cannot be encoded in segments; or -errno, with err filled. Source thread. */
int halo_piece_begin(struct halo_stream *s, struct halo_error *err);

/* Checks a packet that was read for a segment. Returns 1 if it belongs to the segment (or to
 * another stream), or 0 if the segment ended before it. Source thread. */
int halo_piece_take(struct halo_stream *s, const AVPacket *pkt);

/* Passes on the packets of the parts up to the time at which the input has this packet of video;
 * NULL: all that remain. Waits for segments that are being encoded. Returns 0 or -errno with err
 * filled. Source thread. */
int halo_piece_join(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err);

/* Completes the part of a segment. Returns 0, or -errno with err filled: -ESTALE if other packets
 * were read than those in the cut list. Source thread, when the other stages have ended. */
int halo_piece_finish(struct halo_stream *s, struct halo_error *err);
void halo_piece_close(struct halo_piece *p); /* removes a part that is not complete */

#endif
