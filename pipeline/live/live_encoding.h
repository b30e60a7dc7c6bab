/* SPDX-License-Identifier: BSD-2-Clause
 * One encoding of a live stream. Its thread takes frames and audio from its queue and passes
 * packets to the listener. An error affects only this encoding: it is retried, and the others
 * continue.
 *
 * Owner: its thread, except for fields whose comments name another owner. */
#ifndef HALO_LIVE_ENCODING_H
#define HALO_LIVE_ENCODING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/encoding.h"
#include "pipeline/live/live_codec.h"
#include "pipeline/live/live_sound.h"

struct halo_live;
struct halo_queue;

/* The frames that this encoding still holds; guarded by the lock of live_encodings.c, which no
 * other file uses. */
struct halo_live_passing {
    int waiting;    /* number of frames that the encoding has not finished yet */
    bool holds;     /* its encoder holds frames of `epoch` or older */
    bool let_go;    /* its encoder must output these frames because a change is waiting for that */
    int64_t epoch;  /* epoch of the frame that its thread took last */
    bool described; /* `begin` has been reported, or failed */
};

struct halo_live_encoding {
    struct halo_live *live; /* this and the next five fields are constant */
    int number;
    const struct halo_encoding *what;
    struct halo_queue *queue;
    bool pushes; /* its packets are sent to a URL */
    bool bound;  /* its viewers' container cannot announce new parameters */
    /* any thread; watched: it has a receiver; key: a keyframe is requested */
    atomic_bool watched, key;
    struct halo_live_passing passing;
    pthread_t thread; /* this and `running`: set by the thread that starts and joins it */
    bool running;     /* the thread is to be joined */

    struct halo_live_codec codec;
    struct halo_live_track sound;
    int64_t epoch;    /* epoch of the frame that was taken last */
    int64_t cards;    /* number of the last card that this thread has seen */
    bool after_card;  /* the last frame that it sent was a card */
    int64_t last_pts; /* timestamp of the last encoded frame */
    int64_t due; /* us; earliest time of the next frame, so that the frame rate is not exceeded */
    int64_t last_dts[2]; /* last decoding timestamp of each stream */
    int64_t retry;       /* halo_now_ns() from which the encoder may be retried */
    double pause;        /* seconds */
};

void *halo_live_encode_main(void *arg); /* arg: a halo_live_encoding */

/* Returns whether its frames are being encoded now. Any thread. */
static inline bool halo_live_encoding_runs(struct halo_live_encoding *e)
{
    return e->what->writes || atomic_load(&e->watched);
}

/* Passes a packet with times in microseconds to the listener; stream is 0 for video and 1 for
 * audio. Called by the encoding's thread. */
void halo_live_encoding_send(struct halo_live_encoding *e, AVPacket *pkt, int stream, bool card);

#endif
