/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream (live.h) is made of parts. The header of each part says which thread owns its
 * state and which lock guards it; its functions take that lock themselves:
 *
 *   live_source.h     the source thread: sessions (live_input.h), their loops (live_loop.h), times
 *                     (live_clock.h), sound (live_sound.h) and camera (live_camera.h, with
 *                     live_controls.h)
 *   live_stages.h     the threads behind it; the shape of their pictures (live_format.h)
 *   live_lineups.h    the chains with their gates (live_lineup.h), and what is in them
 *   live_encodings.h  the encodings and their threads (live_encoding.h, live_codec.h)
 *   live_cards.h      the thread that makes cards
 *   live_aside.h      the thread for changes, and for snapshots (live_snapshots.h)
 *   live_status.h     the state; live_figures.h: the counters; live_listener.h: the callbacks
 *   live_stalls.h     calls that do not return
 *
 * Locks, in the order in which they are taken: forming (live_stages.h); cards or snapshots;
 * status, lineups or encodings; then the leaves: listener, figures, controls, aside, queues. */
#ifndef HALO_LIVE_STREAM_H
#define HALO_LIVE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/daemon.h"

struct halo_live {
    /* Constant after halo_live_create(): */
    struct halo_stream_settings
        settings;                       /* a copy; but for controls of a camera, live_controls.h */
    struct halo_source_settings source; /* of them, its input called by that name: */
    char *name;       /* of the input, for messages: without what is secret in an URL */
    bool live;        /* bounded delay: late pictures are dropped */
    bool paced;       /* a picture waits for its time */
    bool local;       /* a file, test: or a camera: no time limit of URLs holds */
    bool may_make_up; /* a shape, where the source is away at first */

    atomic_int stop;         /* 1: asked for, 2: failed */
    atomic_bool done, ready; /* all threads have ended; the ring is there */
    struct halo_ring
        *ring; /* the source thread's, before it begins others; the loop's once ready */
    struct halo_region_feed *region_feed; /* NULL: it has none; all gates ask it */
    struct halo_live_format *format;      /* live_format.h says when it is there */

    struct halo_live_listener *listener;
    struct halo_live_status *status;
    struct halo_live_figures *figures;
    struct halo_live_stalls *stalls;
    struct halo_live_reader *reader;   /* live_source.h */
    const struct halo_source_ops *ops; /* of the source's kind (source_ops.h) */
    struct halo_live_camera *camera;   /* NULL: the input is none */
    struct halo_live_controls *controls;
    struct halo_live_stages *stages;
    struct halo_live_lineups *lineups;
    struct halo_live_encodings *encodings;
    struct halo_live_cards *cards;
    struct halo_live_aside *aside;
    struct halo_live_snapshots *snapshots;
};

static inline bool halo_live_stopped(const struct halo_live *live)
{
    return atomic_load(&live->stop) != 0;
}

/* The end: the state is FAILED and every thread ends. Any thread. */
void halo_live_fail(struct halo_live *live, const struct halo_error *err);

#endif
