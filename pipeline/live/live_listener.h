/* SPDX-License-Identifier: BSD-2-Clause
 * The listener of a live stream: the callbacks for its events, which all of its threads call until
 * the stream is abandoned.
 *
 * Owner: none; every thread calls, the loop abandons. The lock guards the count of running
 * callbacks. It is never held during a callback, may be taken under any other lock, and no lock is
 * taken under it. */
#ifndef HALO_LIVE_LISTENER_H
#define HALO_LIVE_LISTENER_H

#include <pthread.h>

#include "pipeline/live/live.h"

struct halo_live_listener {
    const struct halo_live_events *events; /* these two const */
    void *arg;
    pthread_mutex_t lock; /* of what follows; for live_listener.c alone */
    int in_event;         /* threads that are in an event now */
    bool abandoned;       /* no event is begun any more */
};

/* events and arg must outlive it; NULL: out of memory. */
struct halo_live_listener *halo_live_listener_create(const struct halo_live_events *events,
                                                     void *arg);
void halo_live_listener_destroy(struct halo_live_listener *to); /* NULL is nothing to do */

/* Calls the callback of that name. All events pass here, so an abandoned stream has none. Any
 * thread. */
#define HALO_LIVE_TELL(to, event, ...)                                                             \
    do {                                                                                           \
        if ((to)->events->event && halo_live_event_begin(to)) {                                    \
            (to)->events->event((to)->arg, __VA_ARGS__);                                           \
            halo_live_event_end(to);                                                               \
        }                                                                                          \
    } while (0)
bool halo_live_event_begin(
    struct halo_live_listener *to); /* false: abandoned, and no end follows */
void halo_live_event_end(struct halo_live_listener *to);

/* No callback begins from now on. *ret_first: this is the first such call. Returns false if a
 * callback is running now. */
bool halo_live_listener_abandon(struct halo_live_listener *to, bool *ret_first);

#endif
