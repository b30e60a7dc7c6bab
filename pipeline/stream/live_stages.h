/* SPDX-License-Identifier: BSD-2-Clause
 * The stages of a live stream: the threads between its source and its packets. They are started
 * once the format of the frames is known. If that format was assumed, they are restarted when the
 * source reports its own format.
 *
 * Both the source thread and the card thread may start them: the lock `forming` admits one at a
 * time, and is acquired before all other locks. `lock` guards the pointers to the queues, because
 * an abort may happen while the source thread ends the stream; only the locks of queues are
 * acquired under it. */
#ifndef HALO_LIVE_STAGES_H
#define HALO_LIVE_STAGES_H

#include <stdbool.h>

#include "config/error.h"
#include "pipeline/base/thread.h"

struct halo_item;
struct halo_live;
struct halo_live_input;
struct halo_queue;

/* Only live_stages.c and live_filter.c use these fields. */
struct halo_live_stages {
    struct halo_mutex forming;
    struct halo_thread filter_thread, collect_thread;
    /* true from the start of filter_thread and collect_thread until they have been joined. Until
     * the card thread has ended, this field is guarded by `forming`; from then on, only the source
     * thread uses it. */
    bool running;
    struct halo_mutex lock; /* guards the next two pointers */
    struct halo_queue *to_filter, *in_gate;
};

int halo_live_stages_create(struct halo_live_stages **ret);     /* 0 or -ENOMEM */
void halo_live_stages_destroy(struct halo_live_stages *stages); /* NULL: does nothing */

/* If there is no format yet, or the format was assumed and can be replaced, sets the format and
 * starts the threads. If nothing is known about the source, `in` is NULL. Sets *ret_fatal if the
 * failure occurred after a format had been set, because a retry would then fail again. Called by
 * the source and card threads. */
int halo_live_begin_stages(struct halo_live *live, const struct halo_live_input *in,
                           bool *ret_fatal, struct halo_error *err);
/* Makes the threads end. Any thread. */
void halo_live_stages_abort(struct halo_live_stages *stages);

/* ---- source thread ---- */

/* Waits, for at most a few seconds, until cards have been reported to the listener. Called before
 * the first frame enters a filter, so that viewers get cards even if that frame crashes the
 * process. */
void halo_live_wait_described(struct halo_live *live);
/* Queues a decoded frame and takes ownership of it. In streams that drop late frames (see
 * halo_live.live), works like halo_queue_put_newest(). */
int halo_live_stages_give(struct halo_live *live, const struct halo_item *item);
void halo_live_end_stages(struct halo_live *live); /* outputs all frames, then joins the threads */
/* Ends the stages permanently. Waits for the frames that are in a gate; meanwhile, the event loop
 * still watches the device. */
void halo_live_stages_close(struct halo_live_stages *stages);

/* ---- thread functions (live_filter.c); arg is a struct halo_live ---- */

void *halo_live_filter_main(void *arg);  /* lets frames enter the current gates */
void *halo_live_collect_main(void *arg); /* passes frames on to running encodings */

#endif
