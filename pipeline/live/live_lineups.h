/* SPDX-License-Identifier: BSD-2-Clause
 * The lineups of a live stream. Before the shape of the pictures is known there is one, without
 * gates: the wanted one. Afterwards there is a list of those that pictures have entered, oldest
 * first, and at most one that takes over with the next picture. Each has a number, its epoch.
 *
 * The thread aside adds new ones, the filter thread switches to them and counts pictures in, the
 * collect thread counts them out and frees the old. The thread that forms the stages (source or
 * card thread) sets whether there is a shape. One lock, known to live_lineups.c alone, guards all
 * of this; it may be taken under those of the cards and of the snapshots, and no lock is taken
 * under it. */
#ifndef HALO_LIVE_LINEUPS_H
#define HALO_LIVE_LINEUPS_H

#include "pipeline/live/live_lineup.h"
#include "pipeline/live/live_format.h"

struct halo_live_lineups;

int halo_live_lineups_create(struct halo_live_lineups **ret);  /* 0 or -ENOMEM */
void halo_live_lineups_destroy(struct halo_live_lineups *all); /* NULL is nothing to do */

/* ---- the shape ---- */

enum halo_live_forming {
    HALO_LIVE_UNFORMED,
    HALO_LIVE_TURNING, /* into another shape: nothing is begun with the old one */
    HALO_LIVE_FORMED,  /* there is a shape */
    HALO_LIVE_SHAPED,  /* and the first lineup is built for it: cards can be made */
};

/* What of live->shape others than its users may know; all zero where there is none. */
struct halo_live_outline {
    enum halo_live_forming forming;
    bool made_up;
    int width, height;
};
struct halo_live_outline halo_live_lineups_outline(const struct halo_live *live); /* any thread */
/* Where the stream is SHAPED: true, and it stays so until halo_live_lineups_used(). Any thread. */
bool halo_live_lineups_use(struct halo_live_lineups *all);
/* The same for a thread of the stages, which hands something on that uses it: always. */
void halo_live_lineups_lend(struct halo_live_lineups *all);
void halo_live_lineups_used(struct halo_live_lineups *all);

/* ---- who forms the stages ---- */

/* The chains to begin with; takes them over. */
void halo_live_lineups_want(struct halo_live_lineups *all, struct halo_lineup *lineup);
/* There is a shape; its first lineup, of the wanted chains, which is to be built. Not owned. */
struct halo_lineup *halo_live_lineups_make(struct halo_live_lineups *all);
void halo_live_lineups_formatted(struct halo_live_lineups *all); /* it was built */
/* Nothing is begun with the shape any more; then, when all threads of the stages have ended: waits
 * until nobody uses it, and keeps the newest chains as the wanted ones; then: it is gone. */
void halo_live_lineups_turn(struct halo_live_lineups *all);
void halo_live_lineups_keep(struct halo_live_lineups *all);
void halo_live_lineups_turned(struct halo_live_lineups *all);

/* ---- pictures ---- */

/* The lineup for a picture that enters now, which is inside from here on, once for each gate. now:
 * that of the picture before; NULL: there was none. Filter thread. */
struct halo_lineup *halo_live_lineups_enter(struct halo_live_lineups *all, struct halo_lineup *now);
/* A picture is out of a gate, or has not come in. whole: it is the last of its gates, and all of
 * them have filtered it. Filter and collect thread. */
void halo_live_lineups_leave(struct halo_live_lineups *all, struct halo_lineup *lineup, bool whole);
/* No picture of a lineup before this one is in a gate any more. Collect thread. */
void halo_live_lineups_forget_older(struct halo_live_lineups *all,
                                    const struct halo_lineup *lineup);

/* ---- thread aside ---- */

/* The oldest epoch of which a picture is inside; INT64_MAX: none is. */
int64_t halo_live_lineups_oldest(struct halo_live_lineups *all);
/* The newest epoch of which a picture has left the gates whole. */
int64_t halo_live_lineups_passed(struct halo_live_lineups *all);
/* Takes up a lineup that was asked for, which gets its epoch. UNFORMED: it is the wanted one now,
 * and all's; TURNING: not now; else: it is to be built, and the shape is in use until
 * halo_live_lineups_used(). */
enum halo_live_forming halo_live_lineups_take_up(struct halo_live_lineups *all,
                                                 struct halo_lineup *lineup);
/* It is built: takes over at the next picture, and is all's. */
void halo_live_lineups_put(struct halo_live_lineups *all, struct halo_lineup *lineup);

#endif
