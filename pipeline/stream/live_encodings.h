/* SPDX-License-Identifier: BSD-2-Clause
 * The encodings of a live stream. Each has a thread, started and joined with the stages, which
 * takes frames and audio from its queue and passes packets to the listener. An error affects only
 * this encoding: it is retried, and the others continue.
 *
 * The lock guards the field `passing` of all encodings. Only live_encodings.c uses it, and only the
 * locks of queues are acquired under it. */
#ifndef HALO_LIVE_ENCODINGS_H
#define HALO_LIVE_ENCODINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/thread.h"
#include "config/encoding.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/live_sound.h"

struct halo_item;
struct halo_live;
struct halo_output_frame;
struct halo_queue;

/* The frames that this encoding still holds; guarded by the lock of all. */
struct halo_live_passing {
    int waiting;    /* number of frames that the encoding has not finished yet */
    bool holds;     /* the encoder holds frames of `epoch` or of older epochs */
    bool let_go;    /* the encoder must output the frames that it holds, because a change of filters
                       is waiting for these frames */
    int64_t epoch;  /* epoch of the frame that the encoding's thread received last */
    bool described; /* `begin` has been reported, or preparing it has failed */
};

/* Owner: its thread, except for fields whose comments name another owner. */
struct halo_live_encoding {
    struct halo_live *live; /* this and the next five fields are constant */
    int number;
    const struct halo_encoding *what;
    struct halo_queue *queue;
    bool pushes; /* a URL or a live playlist gets the encoding's packets, and so cards */
    /* the encoder of the audio, "copy", or NULL (no audio); constant while the thread runs */
    const char *audio;
    bool bound; /* the container for the encoding's viewers cannot announce new parameters */
    /* watched: the encoding has a receiver; key: a keyframe is requested; any thread may use both
     * fields */
    atomic_bool watched, key;
    struct halo_live_passing passing;
    struct halo_thread
        thread;   /* this field and `running` are set by the thread that starts and joins the
                         encoding's thread */
    bool running; /* the thread is to be joined */

    struct halo_live_codec codec;
    struct halo_live_track sound;
    int64_t epoch;    /* epoch of the frame that the encoding's thread received last */
    int64_t cards;    /* number of the last card that the encoding's thread has seen */
    bool after_card;  /* the last frame that the encoding sent was a card */
    int64_t last_pts; /* timestamp of the last encoded frame */
    int64_t due; /* earliest time (us) at which the next frame may be encoded without exceeding the
                    frame rate */
    int64_t last_dts[2]; /* last decoding timestamp of the video (0) and of the audio (1) */
    int64_t retry;       /* time from which the encoder may be retried (as from halo_now_ns()) */
    double pause;        /* seconds */
};

/* Returns whether frames are being encoded for this encoding now. Any thread. */
static inline bool halo_live_encoding_runs(struct halo_live_encoding *e)
{
    return e->what->writes || atomic_load(&e->watched);
}

struct halo_live_encodings {
    int count; /* this and the next two fields are constant */
    struct halo_encoding what[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS]; /* the encoding of each output, see halo_encodings() */
    struct halo_live_encoding at[HALO_MAX_ENCODINGS];
    struct halo_mutex lock; /* guards the field `passing` of all encodings */
    struct halo_cond changed;
};

/* Creates the encodings that live->settings specify. Returns 0 or -ENOMEM.
 * halo_live_encodings_destroy() accepts NULL. */
int halo_live_encodings_create(struct halo_live_encodings **ret, struct halo_live *live);
void halo_live_encodings_destroy(struct halo_live_encodings *all);

/* ---- called by the thread that starts and ends the stages ---- */

int halo_live_encodings_start(struct halo_live_encodings *all, struct halo_error *err);
/* Makes the encodings output all of their frames, then joins their threads. */
void halo_live_encodings_end(struct halo_live_encodings *all);
/* Resets all encodings to the state in which they were before they were started. cards is the
 * number of cards made so far. */
void halo_live_encodings_reset(struct halo_live_encodings *all, int64_t cards);
/* Returns whether a viewer would lose the stream if parameters changed, because the viewer's
 * container cannot announce new parameters. */
bool halo_live_encodings_are_bound(struct halo_live_encodings *all);
/* Waits until all encodings have reported `begin`, the stream is stopped, or the given time (ns) is
 * reached. */
void halo_live_encodings_wait(const struct halo_live *live, int64_t until);

/* ---- called by any thread ---- */

/* Returns whether at least one encoding has a receiver. */
bool halo_live_encodings_run(struct halo_live_encodings *all);
/* Makes the encodings' threads check for cards. */
void halo_live_encodings_wake_for_cards(struct halo_live_encodings *all);
/* Wakes the encodings' threads so that they notice a stop. */
void halo_live_encodings_wake(struct halo_live_encodings *all);
/* Makes the encodings' threads end. */
void halo_live_encodings_abort(struct halo_live_encodings *all);

/* ---- frames ---- */

/* Passes on a frame that has left a gate, to every encoding that wants it and to snapshots. Takes
 * ownership of frame. Collect thread. */
void halo_live_left(struct halo_live *live, const struct halo_item *item,
                    struct halo_output_frame *frame);
/* Returns the oldest epoch from which an encoding still has a frame, or INT64_MAX if no encoding
 * has any. Worker. */
int64_t halo_live_encodings_oldest(struct halo_live_encodings *all);
/* If encoders still hold frames of epochs before this one, makes them output these frames. An
 * encoder is left alone if newer frames have been sent to it or are waiting for it. */
void halo_live_encodings_let_go(struct halo_live_encodings *all, int64_t epoch);

#endif
