/* SPDX-License-Identifier: BSD-2-Clause
 * One encoding of a live stream, and its thread: takes frames and audio from its queue and passes
 * packets to the listener. An error here affects only this encoding: it is retried, and the others
 * go on.
 *
 * Owner: its thread. Fields with another owner say so. */
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

/* The frames that this encoding still holds; under the lock of live_encodings.c, which alone knows
 * it. */
struct halo_live_passing {
    int waiting;    /* frames that the encoding has not finished yet */
    bool holds;     /* its encoder holds frames of `epoch` or older */
    bool let_go;    /* its encoder must output them, because a change waits for that */
    int64_t epoch;  /* of the frame that its thread took last */
    bool described; /* `begin` has been reported, or failed */
};

struct halo_live_encoding {
    struct halo_live *live; /* this and the next five fields are constant */
    int number;
    const struct halo_encoding *what;
    struct halo_queue *queue;
    bool pushes;              /* it is sent to a URL */
    bool bound;               /* its viewers' container cannot announce new parameters */
    atomic_bool watched, key; /* any thread: has a receiver; a keyframe is requested */
    struct halo_live_passing passing;
    pthread_t thread; /* this and `running`: set by the thread that starts and joins it */
    bool running;     /* the thread is to be joined */

    struct halo_live_codec codec;
    struct halo_live_track sound;
    int64_t epoch;       /* of the frame that was taken last */
    int64_t cards;       /* number of the last card that it has checked */
    bool after_card;     /* the last frame that it sent was a card */
    int64_t last_pts;    /* of the last encoded frame */
    int64_t due;         /* us: when its frame rate allows the next frame */
    int64_t last_dts[2]; /* last decoding timestamp of each stream */
    int64_t retry;       /* halo_now_ns() from which the encoder may be retried */
    double pause;        /* seconds */
};

void *halo_live_encode_main(void *arg); /* arg: a halo_live_encoding */

/* Whether its frames are encoded at present; any thread. */
static inline bool halo_live_encoding_runs(struct halo_live_encoding *e)
{
    return e->what->writes || atomic_load(&e->watched);
}

/* Passes a packet, in microseconds, to the listener; stream 0: video, 1: audio. Encoding's
 * thread. */
void halo_live_encoding_send(struct halo_live_encoding *e, AVPacket *pkt, int stream, bool card);

#endif
