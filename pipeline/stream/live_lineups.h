/* SPDX-License-Identifier: BSD-2-Clause
 * The lineups of a live stream. Before the format of the frames is known, only one exists: the
 * wanted lineup, which has no gates. Afterwards, a list contains the lineups that frames have
 * entered, oldest first; at most one further lineup becomes active with the next frame. Each lineup
 * has a number, its epoch.
 *
 * The extra thread adds new lineups; the filter thread switches to them and counts the frames that
 * enter; the collect thread counts the frames that leave and frees old lineups. The thread that
 * starts the stages (source or card thread) sets whether a format exists. One lock, which only
 * live_lineups.c uses, guards all of this. It may be acquired under the locks of the cards and of
 * the snapshots; no other lock is acquired under it. */
#ifndef HALO_LIVE_LINEUPS_H
#define HALO_LIVE_LINEUPS_H

#include "pipeline/stream/live_lineup.h"
#include "pipeline/stream/live_format.h"

struct halo_live_lineups;

int halo_live_lineups_create(struct halo_live_lineups **ret);  /* 0 or -ENOMEM */
void halo_live_lineups_destroy(struct halo_live_lineups *all); /* NULL: does nothing */

/* ---- the format ---- */

enum halo_live_forming {
    HALO_LIVE_UNFORMED,
    /* the format is being replaced, and nothing new starts with the old format */
    HALO_LIVE_TURNING,
    HALO_LIVE_FORMED, /* the format is known, but its first lineup is not built yet */
    HALO_LIVE_SHAPED, /* the first lineup is also built, so cards can be made */
};

/* A copy of some properties of live->format, for threads that do not use live->format itself. It is
 * all zero if there is no format. */
struct halo_live_outline {
    enum halo_live_forming forming;
    bool made_up;
    int width, height;
};
struct halo_live_outline halo_live_lineups_outline(const struct halo_live *live); /* any thread */
/* If the format is SHAPED, keeps the format in use until halo_live_lineups_used() is called, and
 * returns true. Otherwise returns false. Any thread. */
bool halo_live_lineups_use(struct halo_live_lineups *all);
/* Works like halo_live_lineups_use(), but always succeeds. Called by a stage's thread when it
 * passes on something that uses the format. */
void halo_live_lineups_lend(struct halo_live_lineups *all);
void halo_live_lineups_used(struct halo_live_lineups *all);

/* ---- called by the thread that starts the stages ---- */

/* Sets the lineup with which the stages will begin, and takes ownership of it. */
void halo_live_lineups_want(struct halo_live_lineups *all, struct halo_lineup *lineup);
/* Declares that a format exists. Returns the format's first lineup, which has the wanted chains.
 * The caller must build this lineup but does not own it. */
struct halo_lineup *halo_live_lineups_make(struct halo_live_lineups *all);
/* Records that the format's first lineup has been built. */
void halo_live_lineups_formatted(struct halo_live_lineups *all);
/* To change the format, these three functions are called in this order. After
 * halo_live_lineups_turn(), nothing new starts with the old format. halo_live_lineups_keep() must
 * be called after all threads of the stages have ended. halo_live_lineups_keep() waits until the
 * format has no users, and keeps the newest chains as the wanted ones. halo_live_lineups_turned()
 * records that the format was removed. */
void halo_live_lineups_turn(struct halo_live_lineups *all);
void halo_live_lineups_keep(struct halo_live_lineups *all);
void halo_live_lineups_turned(struct halo_live_lineups *all);

/* ---- frames ---- */

/* Returns the lineup for a frame that is about to enter the gates, and counts the frame as being
 * inside each of the lineup's gates. previous: the previous frame's lineup, or NULL for the first
 * frame. Filter thread. */
struct halo_lineup *halo_live_lineups_enter(struct halo_live_lineups *all,
                                            struct halo_lineup *previous);
/* Sets *ret to what detectors have to find for the lineup that the next frame enters. Filter
 * thread. */
void halo_live_lineups_needs(struct halo_live_lineups *all, struct halo_chain_needs *ret);
/* Records that a frame has left a gate, or will not enter it. whole: this was the frame's last
 * gate, and all of its gates have filtered it. Called by the filter and collect threads. */
void halo_live_lineups_leave(struct halo_live_lineups *all, struct halo_lineup *lineup, bool whole);
/* Frees the lineups that are older than this one; none of their frames may be in a gate any more.
 * Collect thread. */
void halo_live_lineups_forget_older(struct halo_live_lineups *all,
                                    const struct halo_lineup *lineup);

/* ---- extra thread ---- */

/* Returns the oldest epoch of the frames that are inside the gates, or INT64_MAX if the gates are
 * empty. */
int64_t halo_live_lineups_oldest(struct halo_live_lineups *all);
/* Returns the newest epoch of the frames that have passed all gates. */
int64_t halo_live_lineups_passed(struct halo_live_lineups *all);
/* Assigns an epoch to a requested lineup. If the result is UNFORMED, the stages will begin with
 * this lineup, and `all` now owns it. If the result is TURNING, nothing was done: try again later.
 * If the result is FORMED or SHAPED, the caller must build the lineup, and the format remains in
 * use until halo_live_lineups_used() is called. */
enum halo_live_forming halo_live_lineups_take_up(struct halo_live_lineups *all,
                                                 struct halo_lineup *lineup);
/* Takes ownership of a lineup that was built, and makes it active from the next frame on. */
void halo_live_lineups_put(struct halo_live_lineups *all, struct halo_lineup *lineup);

#endif
