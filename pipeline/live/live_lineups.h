/* SPDX-License-Identifier: BSD-2-Clause
 * The lineups of a live stream. Before the format of the frames is known only one exists, without
 * gates: the wanted one. Afterwards there is a list of those that frames have entered, oldest
 * first, and at most one that becomes active with the next frame. Each has a number, its epoch.
 *
 * The extra thread adds new ones; the filter thread switches to them and counts frames in; the
 * collect thread counts them out and frees old lineups. The thread that starts the stages (source
 * or card thread) sets whether a format exists. One lock, which only live_lineups.c knows, guards
 * all of this. It may be acquired under those of the cards and of the snapshots; no other lock is
 * acquired under it. */
#ifndef HALO_LIVE_LINEUPS_H
#define HALO_LIVE_LINEUPS_H

#include "pipeline/live/live_lineup.h"
#include "pipeline/live/live_format.h"

struct halo_live_lineups;

int halo_live_lineups_create(struct halo_live_lineups **ret);  /* 0 or -ENOMEM */
void halo_live_lineups_destroy(struct halo_live_lineups *all); /* NULL: does nothing */

/* ---- the format ---- */

enum halo_live_forming {
    HALO_LIVE_UNFORMED,
    HALO_LIVE_TURNING, /* the format is being replaced: nothing new starts with the old one */
    HALO_LIVE_FORMED,  /* the format is known, but its first lineup is not built */
    HALO_LIVE_SHAPED,  /* the first lineup is built, too: cards can be made */
};

/* What threads that do not use live->format may know of it; all zero if there is none. */
struct halo_live_outline {
    enum halo_live_forming forming;
    bool made_up;
    int width, height;
};
struct halo_live_outline halo_live_lineups_outline(const struct halo_live *live); /* any thread */
/* If the state is SHAPED: returns true, and the format is kept until halo_live_lineups_used(). Any
 * thread. */
bool halo_live_lineups_use(struct halo_live_lineups *all);
/* The same for a thread of the stages that passes on something that uses the format: always
 * succeeds. */
void halo_live_lineups_lend(struct halo_live_lineups *all);
void halo_live_lineups_used(struct halo_live_lineups *all);

/* ---- the thread that starts the stages ---- */

/* Sets the chains to begin with; takes ownership. */
void halo_live_lineups_want(struct halo_live_lineups *all, struct halo_lineup *lineup);
/* Declares that a format exists. Returns its first lineup, with the wanted chains, which the caller
 * must build but does not own. */
struct halo_lineup *halo_live_lineups_make(struct halo_live_lineups *all);
void halo_live_lineups_formatted(struct halo_live_lineups *all); /* the first lineup was built */
/* Change the format, in this order. turn: nothing new starts with the old format. keep, after all
 * threads of the stages have ended: waits until the format has no users, and keeps the newest
 * chains as the wanted ones. turned: the format has been removed. */
void halo_live_lineups_turn(struct halo_live_lineups *all);
void halo_live_lineups_keep(struct halo_live_lineups *all);
void halo_live_lineups_turned(struct halo_live_lineups *all);

/* ---- frames ---- */

/* Returns the lineup for a frame that enters now, and counts the frame as inside, once for each
 * gate. now: the lineup of the frame before; NULL: this is the first frame. Filter thread. */
struct halo_lineup *halo_live_lineups_enter(struct halo_live_lineups *all, struct halo_lineup *now);
/* Counts a frame out of a gate, or as not having entered it. whole: this was the last of its gates,
 * and all of them have filtered it. Filter and collect thread. */
void halo_live_lineups_leave(struct halo_live_lineups *all, struct halo_lineup *lineup, bool whole);
/* Frees the lineups before this one, because none of their frames is in a gate any more. Collect
 * thread. */
void halo_live_lineups_forget_older(struct halo_live_lineups *all,
                                    const struct halo_lineup *lineup);

/* ---- extra thread ---- */

/* The oldest epoch of which a frame is inside; INT64_MAX: none is. */
int64_t halo_live_lineups_oldest(struct halo_live_lineups *all);
/* The newest epoch of which a frame has passed all gates. */
int64_t halo_live_lineups_passed(struct halo_live_lineups *all);
/* Gives a requested lineup its epoch. UNFORMED: it is the wanted one from now on, and owned by
 * `all`. TURNING: nothing was done, try again later. Otherwise: the caller must build it, and the
 * format is in use until halo_live_lineups_used(). */
enum halo_live_forming halo_live_lineups_take_up(struct halo_live_lineups *all,
                                                 struct halo_lineup *lineup);
/* Makes a lineup that was built active with the next frame; takes ownership. */
void halo_live_lineups_put(struct halo_live_lineups *all, struct halo_lineup *lineup);

#endif
