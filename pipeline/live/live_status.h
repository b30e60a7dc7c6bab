/* SPDX-License-Identifier: BSD-2-Clause
 * The state of a live stream, its error and its age; and the wait that a stop ends.
 *
 * Any thread sets a state. The lock is known to live_status.c alone, and is taken under no other
 * lock but that of the cards. The event of a state is sent under it, so that events come in the
 * order of the states. */
#ifndef HALO_LIVE_STATUS_H
#define HALO_LIVE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/live/live.h"

enum { HALO_LIVE_WORDS = 48 }; /* on a card, beside the name */

struct halo_live_status;

/* A copy of what the card thread has to know. */
struct halo_live_standing {
    enum halo_live_state state;
    int64_t since;               /* when the state began, or the shape was there: ns */
    char words[HALO_LIVE_WORDS]; /* why nothing comes, for people who look at the picture */
};

int halo_live_status_create(struct halo_live_status **ret);     /* 0 or -ENOMEM */
void halo_live_status_destroy(struct halo_live_status *status); /* NULL is nothing to do */

/* A state; err NULL: all is well. The event comes where something is new. Any thread. */
void halo_live_report(struct halo_live *live, enum halo_live_state state,
                      const struct halo_error *err);
/* HALO_LIVE_WAITING, with words for the card: few, and of what we have written ourselves alone: no
 * names of files or hosts. */
void halo_live_report_away(struct halo_live *live, const char *words, const struct halo_error *err);
/* HALO_LIVE_RUNNING, unless the picture was decoded (ns) before the stream was last away. */
void halo_live_report_running(struct halo_live *live, int64_t decoded);

struct halo_live_standing halo_live_status_read(struct halo_live_status *status); /* any thread */
void halo_live_status_say(struct halo_live_status *status, const char *words);    /* for the card */
/* The state counts from now: only now its cards can be made. */
void halo_live_status_restart(struct halo_live_status *status);

/* Waits until then (ns), or a stop: true. Source thread; wake: it looks for that. */
bool halo_live_wait(const struct halo_live *live, int64_t until);
void halo_live_status_wake(struct halo_live_status *status);

#endif
