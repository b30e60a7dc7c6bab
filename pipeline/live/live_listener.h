/* SPDX-License-Identifier: BSD-2-Clause
 * Who listens to a live stream: the events that all of its threads tell, until the stream is
 * abandoned.
 *
 * Owner: nobody; every thread tells, the loop abandons. The lock guards how many are in an event
 * now; it is taken under other locks and never held around an event, and nothing is taken under
 * it. */
#ifndef HALO_LIVE_LISTENER_H
#define HALO_LIVE_LISTENER_H

#include <pthread.h>

#include "pipeline/live/live.h"

struct halo_live_listener {
    const struct halo_live_events *events; /* these two const */
    void *arg;
    pthread_mutex_t lock; /* of what follows; for live_listener.c alone */
    int told;             /* threads that are in an event now */
    bool abandoned;       /* no event is begun any more */
};

/* events and arg must outlive it; NULL: out of memory. */
struct halo_live_listener *halo_live_listener_create(const struct halo_live_events *events,
                                                     void *arg);
void halo_live_listener_destroy(struct halo_live_listener *to); /* NULL is nothing to do */

/* An event, by its name, to whoever listens; all of them are told by this alone, so none comes
 * from a stream that was abandoned. Any thread. */
#define HALO_LIVE_TELL(to, event, ...)                                                             \
    do {                                                                                           \
        if ((to)->events->event && halo_live_tell_begin(to)) {                                     \
            (to)->events->event((to)->arg, __VA_ARGS__);                                           \
            halo_live_tell_end(to);                                                                \
        }                                                                                          \
    } while (0)
bool halo_live_tell_begin(struct halo_live_listener *to); /* false: abandoned, and no end follows */
void halo_live_tell_end(struct halo_live_listener *to);

/* From now on no event is begun; *ret_first: it is the first such call. False: a thread is in an
 * event now. */
bool halo_live_listener_abandon(struct halo_live_listener *to, bool *ret_first);

#endif
