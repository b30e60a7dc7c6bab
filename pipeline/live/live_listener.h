/* SPDX-License-Identifier: BSD-2-Clause
 * The listener of a live stream holds the callbacks for its events. All threads of the stream call
 * them until the stream is abandoned.
 *
 * It has no single owner: every thread calls the callbacks, and the loop stops that when it
 * abandons the stream. The lock guards the number of running callbacks. It is never held during a
 * callback. It may be acquired under any other lock; no other lock is acquired under it. */
#ifndef HALO_LIVE_LISTENER_H
#define HALO_LIVE_LISTENER_H

#include "pipeline/base/thread.h"
#include "pipeline/live/live.h"

struct halo_live_listener {
    const struct halo_live_events *events; /* this and the next field are constant */
    void *arg;
    struct halo_mutex lock; /* guards the fields below; only live_listener.c uses it */
    int in_event;           /* number of threads that are in a callback now */
    bool abandoned;         /* no more callbacks are started */
};

/* Creates a listener; events and arg must outlive it. Returns NULL if out of memory. */
struct halo_live_listener *halo_live_listener_create(const struct halo_live_events *events,
                                                     void *arg);
void halo_live_listener_destroy(struct halo_live_listener *to); /* NULL: does nothing */

/* Calls the callback with this name. All events pass through here, so an abandoned stream sends no
 * events. Any thread. */
#define HALO_LIVE_TELL(to, event, ...)                                                             \
    do {                                                                                           \
        if ((to)->events->event && halo_live_event_begin(to)) {                                    \
            (to)->events->event((to)->arg, __VA_ARGS__);                                           \
            halo_live_event_end(to);                                                               \
        }                                                                                          \
    } while (0)
/* Returns false if the stream was abandoned; halo_live_event_end() must then not be called. */
bool halo_live_event_begin(struct halo_live_listener *to);
void halo_live_event_end(struct halo_live_listener *to);

/* Prevents all further callbacks. Sets *ret_first to whether this is the first call of this
 * function. Returns false if a callback is running now. */
bool halo_live_listener_abandon(struct halo_live_listener *to, bool *ret_first);

#endif
