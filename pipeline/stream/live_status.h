/* SPDX-License-Identifier: BSD-2-Clause
 * The state of a live stream, its error and the time since it began. Also functions that wait until
 * a time or until the stream is stopped.
 *
 * Any thread may set a state. Only live_status.c uses the lock; it is acquired under no other lock
 * except that of the cards. The event that reports a state is sent under the lock, so that events
 * arrive in the order of the states. */
#ifndef HALO_LIVE_STATUS_H
#define HALO_LIVE_STATUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/stream/live_listener.h"

enum { HALO_LIVE_WORDS = 48 }; /* size in bytes of the text on a card, without the stream's name */

struct halo_live_status;

/* A copy of the state for the card thread. */
struct halo_live_standing {
    enum halo_live_state state;
    /* time in ns when the state began or, if later, when the format was set */
    int64_t since;
    char words[HALO_LIVE_WORDS]; /* why no frames arrive; shown to viewers */
};

/* listener is told of each state; then changed(arg) is called, under no lock, by the thread that
 * set it. *stop is not 0 once the stream is stopped. Returns 0 or -ENOMEM. */
int halo_live_status_create(struct halo_live_status **ret, struct halo_live_listener *listener,
                            const atomic_int *stop, void (*changed)(void *arg), void *arg);
void halo_live_status_destroy(struct halo_live_status *status); /* NULL: does nothing */

/* Sets the state; err is NULL if there is no error. Calls the callback `state` if the state or the
 * error has changed. Any thread. */
void halo_live_report(struct halo_live_status *status, enum halo_live_state state,
                      const struct halo_error *err);
/* Sets the state HALO_LIVE_WAITING, with a short text for the card. The text must be one of halod's
 * own and must not contain names of files or hosts. */
void halo_live_report_away(struct halo_live_status *status, const char *words,
                           const struct halo_error *err);
/* Sets the state HALO_LIVE_RUNNING, unless the frame was decoded before the source last became
 * unavailable. decoded is in ns. */
void halo_live_report_running(struct halo_live_status *status, int64_t decoded);

struct halo_live_standing halo_live_status_read(struct halo_live_status *status); /* any thread */
/* Sets the text for the card. */
void halo_live_status_say(struct halo_live_status *status, const char *words);
/* Restarts the measurement of how long the current state has lasted, because cards for this state
 * can be made only from now on. */
void halo_live_status_restart(struct halo_live_status *status);

/* Waits until the given time (ns) or until the stream is stopped. Returns whether the stream was
 * stopped. Called by the source thread. halo_live_status_wake() makes halo_live_wait() check
 * whether the stream was stopped. */
bool halo_live_wait(struct halo_live_status *status, int64_t until);
void halo_live_status_wake(struct halo_live_status *status);

#endif
