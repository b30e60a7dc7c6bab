/* SPDX-License-Identifier: BSD-2-Clause
 * The listener of a live stream: the callbacks for its events, which all threads of the stream call
 * until the stream is abandoned.
 *
 * Owner: none. Every thread calls; the loop abandons. The lock guards the number of running
 * callbacks. It is never held during a callback, may be acquired under any other lock, and no other
 * lock is acquired under it. */
#ifndef HALO_LIVE_LISTENER_H
#define HALO_LIVE_LISTENER_H

#include <pthread.h>

#include "pipeline/live/live.h"

struct halo_live_listener {
    const struct halo_live_events *events; /* this and the next field are constant */
    void *arg;
    pthread_mutex_t lock; /* of the fields below; for live_listener.c alone */
    int in_event;         /* threads that are in a callback now */
    bool abandoned;       /* no more callbacks are started */
};

/* events and arg must outlive it; NULL: out of memory. */
struct halo_live_listener *halo_live_listener_create(const struct halo_live_events *events,
                                                     void *arg);
void halo_live_listener_destroy(struct halo_live_listener *to); /* NULL: does nothing */

/* Calls the callback of that name. All events pass through here, so an abandoned stream sends none.
 * Any thread. */
#define HALO_LIVE_TELL(to, event, ...)                                                             \
    do {                                                                                           \
        if ((to)->events->event && halo_live_event_begin(to)) {                                    \
            (to)->events->event((to)->arg, __VA_ARGS__);                                           \
            halo_live_event_end(to);                                                               \
        }                                                                                          \
    } while (0)
/* False: abandoned; do not call halo_live_event_end. */
bool halo_live_event_begin(struct halo_live_listener *to);
void halo_live_event_end(struct halo_live_listener *to);

/* Allows no more callbacks. *ret_first: whether this is the first such call. Returns false if a
 * callback is running now. */
bool halo_live_listener_abandon(struct halo_live_listener *to, bool *ret_first);

#endif
