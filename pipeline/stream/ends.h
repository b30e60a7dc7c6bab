/* SPDX-License-Identifier: BSD-2-Clause
 * The two ends of a stream of files: where its packets come from, and where they go. The stages
 * between them are the same for all kinds of stream (segments.h explains runs in segments):
 *
 *   whole     the input                      ─►  the output
 *   segment   the segment's video            ─►  its part
 *   detect    the segment's video            ─►  what detectors answered: NUMBER.detections
 *   take      the segment's video            ─►  what is shown in place of objects (frozen.h)
 *   join      the parts' video, and the      ─►  the output
 *             input's sound and the rest
 *
 * A stream that joins opens an encoder like the others, to describe the output, and never uses
 * it. */
#ifndef HALO_ENDS_H
#define HALO_ENDS_H

#include <libavcodec/packet.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/gate/frozen.h"
#include "pipeline/segment/segments.h"

struct halo_stream;

/* A kind of stream. The functions return 0 or -errno with err filled, unless they say otherwise,
 * and may block on disk. Source thread, except for `write`: encode thread. */
struct halo_ends {
    bool in_segments; /* the encoder's output must not depend on the machine */
    bool joins;       /* the filtered track has the role JOIN */
    /* Only the filtered stream of the input is read, and another stream says what there is to say
     * about the input. */
    bool alone;
    /* The tracks are open: prepares reading and writing. Returns a usage error if this input or
     * output cannot be encoded in segments. NULL: there is nothing to do. */
    int (*begin)(struct halo_stream *s, struct halo_error *err);
    /* Opens the output. NULL: there is nothing to do. */
    int (*start)(struct halo_stream *s, struct halo_error *err);
    /* Reads the next packet: 1; or 0 at the end. */
    int (*read)(struct halo_stream *s, AVPacket *ret, struct halo_error *err);
    /* Everything was read: checks that nothing is missing. */
    int (*check)(struct halo_stream *s, struct halo_error *err);
    /* Writes a packet of the track with this index, with times in units of tb. Takes its
     * reference. NULL: nothing is encoded. */
    int (*write)(struct halo_stream *s, AVPacket *pkt, int index, AVRational tb,
                 struct halo_error *err);
    /* All stages have ended without an error: completes the output. */
    int (*finish)(struct halo_stream *s, struct halo_error *err);
};

extern const struct halo_ends halo_ends_whole;

/* What a stream of a run in segments knows. All zero: it is a whole run. */
struct halo_segment_ends {
    struct halo_segments *segments;
    int track; /* index of the filtered track */
    /* The stream of a segment: */
    struct halo_segment segment;
    struct halo_part_writer *writer; /* used by the encode thread */
    struct AVMurMur3 *hash;
    int64_t packets;                /* read so far */
    struct halo_detections *record; /* what detectors answer; NULL: they are not asked */
    struct halo_replay *replay;     /* what they answered; NULL: there are none */
    struct halo_frozen *frozen;     /* what is shown in place of objects; NULL: the gate takes it */
    atomic_bool stored;             /* the part is being stored, or is */
    /* The stream that joins; used by the source thread: */
    struct halo_part_reader *reader; /* NULL: the next part is not open yet */
    int next;                        /* number of the segment whose part follows */
    AVPacket *pkt;                   /* read from the part, not passed on yet; NULL: none */
    int64_t until;                   /* how far the input's video was read; INT64_MIN: not yet */
    bool over;                       /* there are no further parts */
    int64_t joined, first, last;     /* packets passed on, and their times */
    struct halo_part_order order;
};

void halo_segment_ends_close(struct halo_segment_ends *p); /* removes a part that is not complete */

#endif
