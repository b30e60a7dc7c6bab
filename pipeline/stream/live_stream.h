/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream (live.h) is made of parts. The header of each part names the thread that owns its
 * state and the lock that guards it; the part's functions acquire that lock themselves:
 *
 *   live_source.h     the source thread: sessions (live_input.h), their loops (live_loop.h),
 *                     timestamps (live_clock.h), audio (live_sound.h), camera (live_camera.h,
 *                     live_camera.h)
 *   stages.h          the threads after it, and the format of their frames (live_format.h)
 *   live_detect.h     what detectors find in frames, before the gates
 *   graph.h           the chains with their gates, and the frames in them
 *   live_encodings.h  the encodings and their threads (live_encodings.h, live_codec.h)
 *   live_cards.h      the thread that makes cards
 *   live_worker.h      the worker for changes and snapshots (live_snapshots.h)
 *   live_status.h     the state; live_counters.h: the counters; live_listener.h: the callbacks
 *   live_stalls.h     calls that do not return
 *
 * Locks, in the order in which they are acquired: forming; cards or snapshots;
 * status, graphs or encodings; then those under which no other is acquired: listener, counters,
 * controls, worker, queues. */
#ifndef HALO_LIVE_STREAM_H
#define HALO_LIVE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/thread.h"
#include "config/daemon.h"

/* What parts post: the stream alone knows whom it concerns. Any thread, under no lock of a part. */
enum halo_live_news {
    HALO_LIVE_FORM,    /* the format was set, or removed */
    HALO_LIVE_LEFT,    /* a frame of the base chain has left its gate; with its timestamp (us) */
    HALO_LIVE_WENT_ON, /* a frame has left a stage: a change may be in force now */
    HALO_LIVE_CARD,    /* there is a new card */
    HALO_LIVE_WATCHED, /* an encoding has got a receiver, */
    HALO_LIVE_ALONE,   /* or lost one */
    HALO_LIVE_ASKED,   /* a snapshot or a camera control waits, or a snapshot has got its frame */
};

struct halo_live {
    /* The following fields are constant after halo_live_create(). */
    /* a copy; constant except for camera controls, see live_camera.h */
    struct halo_stream_settings settings;
    struct halo_source_settings source; /* copied from the settings, but with `name` as its input */
    /* name of the input for messages; secrets in a URL are removed */
    char *name;
    bool live;        /* the delay is bounded: late frames are dropped */
    bool paced;       /* frames wait until they are due */
    bool local;       /* the input is a file, `test:` or a camera, so the time limits of URLs do not
                         apply */
    bool may_make_up; /* the stream may assume a format if the source is unavailable at startup */
    void (*post)(struct halo_live *live, enum halo_live_news what, int64_t pts);
    /* ends the stream: sets its state to FAILED and makes every thread end. Any thread. */
    void (*fail)(struct halo_live *live, const struct halo_error *err);
    /* whether somebody waits for its frames. Any thread. */
    bool (*needed)(struct halo_live *live);

    atomic_int stop;         /* 1: a stop was requested; 2: the stream has failed */
    atomic_bool done, ready; /* done: all threads have ended; ready: the ring exists */
    /* Owned by the source thread until this thread starts other threads. The event loop may use the
     * ring once `ready` is set. */
    struct halo_ring *ring;
    struct halo_region_feed *region_feed; /* NULL: no region feed; shared by all gates */
    struct halo_live_format *format;      /* live_format.h describes when this pointer is set */

    struct halo_live_listener *listener;
    struct halo_live_status *status;
    struct halo_live_counters *counters;
    struct halo_live_stalls *stalls;
    struct halo_live_reader *reader;   /* live_source.h */
    const struct halo_source_ops *ops; /* the functions for this kind of source (source_ops.h) */
    struct halo_live_camera *camera;   /* NULL: the input is not a camera */
    struct halo_live_controls *controls;
    struct halo_stages *stages;
    /* admits one of the source and the card thread at a time, to start the stages and end them */
    struct halo_mutex forming;
    struct halo_live_detect *detect;
    struct halo_graphs *graphs;
    struct halo_live_encodings *encodings;
    struct halo_live_cards *cards;
    struct halo_live_worker *worker;
    struct halo_live_snapshots *snapshots;
};

static inline bool halo_live_stopped(const struct halo_live *live)
{
    return atomic_load(&live->stop) != 0;
}

#endif
