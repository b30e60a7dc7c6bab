/* SPDX-License-Identifier: BSD-2-Clause
 * The stages of a live stream: the threads between its source and its packets. They start once the
 * shape of the pictures is known, and start again if that shape was made up and the source now has
 * its own.
 *
 * The source and the card thread may both form them: `forming` admits one at a time, and is taken
 * before all other locks. `lock` guards the pointers to the queues against an abort while the
 * source thread ends the stream; only locks of queues are taken under it. */
#ifndef HALO_LIVE_STAGES_H
#define HALO_LIVE_STAGES_H

#include <pthread.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_item;
struct halo_live;
struct halo_live_input;
struct halo_queue;

/* For live_stages.c and live_filter.c alone. */
struct halo_live_stages {
    pthread_mutex_t forming;
    pthread_t filter_thread, collect_thread;
    bool running;         /* those two are to be joined; under `forming`, or the source thread's */
    pthread_mutex_t lock; /* of these two pointers */
    struct halo_queue *to_filter, *in_gate;
};

int halo_live_stages_create(struct halo_live_stages **ret);     /* 0 or -ENOMEM */
void halo_live_stages_destroy(struct halo_live_stages *stages); /* NULL is nothing to do */

/* Where there is no shape yet, or one that was made up and may be given up: forms it and starts the
 * threads. in NULL: nothing is known of the source. What fails once there is a shape fails again:
 * *ret_fatal. Source and card thread. */
int halo_live_begin_stages(struct halo_live *live, const struct halo_live_input *in,
                           bool *ret_fatal, struct halo_error *err);
void halo_live_stages_abort(struct halo_live_stages *stages); /* the threads end; any thread */

/* ---- source thread ---- */

/* Cards are told before the first picture enters a filter, and remain when that ends the process.
 * Some seconds at most. */
void halo_live_wait_described(struct halo_live *live);
/* A decoded picture; takes it over. As halo_queue_put_newest(), where the stream is live. */
int halo_live_stages_give(struct halo_live *live, const struct halo_item *item);
void halo_live_end_stages(struct halo_live *live); /* all pictures come out; joins */
/* For good: waits for what is in a gate, while the loop still watches the device. */
void halo_live_stages_close(struct halo_live_stages *stages);

/* ---- live_filter.c: their threads; of a halo_live ---- */

void *halo_live_filter_main(void *arg);  /* pictures into the gates of the present lineup ... */
void *halo_live_collect_main(void *arg); /* ... and out of them to all encodings that run */

#endif
