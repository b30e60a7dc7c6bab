/* SPDX-License-Identifier: BSD-2-Clause
 * A region feed that is told, by chance, what a detector might tell of frames that pass a gate:
 * things that move, grow, turn up again and stay away, late words and too early ones, silence, and
 * new sessions; beside it expected.h, which is told the same. One thread. */
#ifndef HALO_PROOF_MOVES_H
#define HALO_PROOF_MOVES_H

#include "tests/proof/judge.h"

enum { PROOF_MOVES_LATE = 4 }; /* frames that may be in the gate at a time */

struct proof_moves_counts {
    long known, moving, held; /* frames for which shapes were told; things moved; were held */
    long updates, refused;    /* words that were taken; that were not, as they must not be */
};

struct proof_moves;

/* number: of the case. */
struct proof_moves *proof_moves_open(unsigned number, int width, int height);
void proof_moves_close(struct proof_moves *moves); /* NULL: nothing */

struct halo_region_feed *proof_moves_feed(struct proof_moves *moves);

/* Before frame i, each after the one before, enters the gate: tells, and gives its time, us.
 * False: the feed took a word that it must not take, or did not take one; ret_words says which. */
bool proof_moves_enter(struct proof_moves *moves, int i, int64_t *ret_time, char ret_words[200]);

/* For frame i, of the last few that entered: as proof_judge_expect(). */
bool proof_moves_judge(const struct proof_moves *moves, int i, struct proof_judge *judge);

struct proof_moves_counts proof_moves_counts(const struct proof_moves *moves);

#endif
