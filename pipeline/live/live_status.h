/* SPDX-License-Identifier: BSD-2-Clause
 * The state of a live stream, its error and how long it has lasted; and waits that a stop ends.
 *
 * Any thread sets a state. Only live_status.c knows the lock; it is acquired under no other lock
 * except that of the cards. The event of a state is sent under it, so that events arrive in the
 * order of the states. */
#ifndef HALO_LIVE_STATUS_H
#define HALO_LIVE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/live/live.h"

enum { HALO_LIVE_WORDS = 48 }; /* on a card, besides the stream's name */

struct halo_live_status;

/* A copy of the state for the card thread. */
struct halo_live_standing {
    enum halo_live_state state;
    int64_t since;               /* ns: when the state began, or when the format was set */
    char words[HALO_LIVE_WORDS]; /* why no frames arrive, for viewers */
};

int halo_live_status_create(struct halo_live_status **ret);     /* 0 or -ENOMEM */
void halo_live_status_destroy(struct halo_live_status *status); /* NULL: does nothing */

/* Sets the state; err NULL: no error. Sends the event if the state or the error has changed. Any
 * thread. */
void halo_live_report(struct halo_live *live, enum halo_live_state state,
                      const struct halo_error *err);
/* Sets HALO_LIVE_WAITING, with a short text for the card. The text must be written by us: no file
 * names and no host names. */
void halo_live_report_away(struct halo_live *live, const char *words, const struct halo_error *err);
/* Sets HALO_LIVE_RUNNING, unless the frame was decoded (ns) before the stream was last away. */
void halo_live_report_running(struct halo_live *live, int64_t decoded);

struct halo_live_standing halo_live_status_read(struct halo_live_status *status); /* any thread */
/* Text for the card. */
void halo_live_status_say(struct halo_live_status *status, const char *words);
/* Restarts the time of the state, because cards for it can be made only from now on. */
void halo_live_status_restart(struct halo_live_status *status);

/* Waits until this time (ns), or until a stop; returns whether the stream was stopped. Source
 * thread. _wake() makes it check for a stop. */
bool halo_live_wait(const struct halo_live *live, int64_t until);
void halo_live_status_wake(struct halo_live_status *status);

#endif
