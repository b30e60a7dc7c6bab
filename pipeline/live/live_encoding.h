/* SPDX-License-Identifier: BSD-2-Clause
 * One encoding of a live stream, and its thread: pictures and sound from its queue, packets to the
 * listener. An error here concerns this encoding alone: it is tried again, and the others go on.
 *
 * Owner: its thread. Fields of other owners say so. */
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

/* What the encoding has of pictures; under the lock of live_encodings.c, which alone knows it. */
struct halo_live_passing {
    int waiting;    /* that it has not encoded and told yet */
    bool holds;     /* so does its encoder, of pictures of `epoch` or older ones */
    bool let_go;    /* and is to give them: a change waits for that */
    int64_t epoch;  /* of the picture that its thread took last */
    bool described; /* what viewers need has been told, or cannot be */
};

struct halo_live_encoding {
    struct halo_live *live; /* these six const */
    int number;
    const struct halo_encoding *what;
    struct halo_queue *queue;
    bool pushes;              /* an URL takes it */
    bool bound;               /* viewers of it cannot be told other parameters */
    atomic_bool watched, key; /* any thread: it has a receiver; a keyframe is requested */
    struct halo_live_passing passing;
    pthread_t thread; /* these two: who starts and joins it */
    bool running;     /* the thread is to be joined */

    struct halo_live_codec codec;
    struct halo_live_track sound;
    int64_t epoch;       /* of the picture that was taken last */
    int64_t cards;       /* the number of the last one that it looked at */
    bool after_card;     /* the last picture that it sent was one */
    int64_t last_pts;    /* of a picture encoded */
    int64_t due;         /* us: the next one that its rate has a place for */
    int64_t last_dts[2]; /* the last decoding time of each stream */
    int64_t retry;       /* halo_now_ns() from which on the encoder is tried again */
    double pause;        /* seconds */
};

void *halo_live_encode_main(void *arg); /* a halo_live_encoding */

/* Whether its pictures are computed; any thread. */
static inline bool halo_live_encoding_runs(struct halo_live_encoding *e)
{
    return e->what->writes || atomic_load(&e->watched);
}

/* A packet in microseconds, to who listens; stream 0: pictures, 1: sound. Its thread. */
void halo_live_encoding_send(struct halo_live_encoding *e, AVPacket *pkt, int stream, bool card);

#endif
