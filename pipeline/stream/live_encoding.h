/* SPDX-License-Identifier: BSD-2-Clause
 * One encoding of a live stream. Its thread takes frames and audio from its queue and passes
 * packets to the listener. An error affects only this encoding: it is retried, and the others
 * continue.
 *
 * Owner: its thread, except for fields whose comments name another owner. */
#ifndef HALO_LIVE_ENCODING_H
#define HALO_LIVE_ENCODING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/thread.h"
#include "config/base/thread.h"
#include "config/encoding.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/live_sound.h"

struct halo_live;
struct halo_queue;

/* The frames that this encoding still holds; guarded by the lock of live_encodings.c, which no
 * other file uses. */
struct halo_live_passing {
    int waiting;    /* number of frames that the encoding has not finished yet */
    bool holds;     /* the encoder holds frames of `epoch` or of older epochs */
    bool let_go;    /* the encoder must output the frames that it holds, because a change of filters
                       is waiting for these frames */
    int64_t epoch;  /* epoch of the frame that the encoding's thread received last */
    bool described; /* `begin` has been reported, or preparing it has failed */
};

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

void *halo_live_encode_main(void *arg); /* thread function; arg is a struct halo_live_encoding */

/* Returns whether frames are being encoded for this encoding now. Any thread. */
static inline bool halo_live_encoding_runs(struct halo_live_encoding *e)
{
    return e->what->writes || atomic_load(&e->watched);
}

#endif
