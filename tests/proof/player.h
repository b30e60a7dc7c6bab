/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream (live/live.h) of painted frames, with eyes on all that it tells. One thread,
 * but for what the stream's own threads do. */
#ifndef HALO_PROOF_PLAYER_H
#define HALO_PROOF_PLAYER_H

#include "tests/proof/spec.h"
#include "tests/proof/tally.h"

struct proof_player;

enum { PROOF_CLIP = 60000 }; /* number of a clip's first frame */

struct proof_player_settings {
    const char *clip; /* painted frames in a file, played in a loop as fast as can be; or: */
    int number;       /* of the first frame of test: */
    int backend;      /* index into halo_run_backends */
    double gpu_timeout;
    bool region;        /* chains with regions, by chance: judged sample by sample (exam.h) */
    const char *folder; /* for mask images */
    bool feed;          /* all of these are told by a feed */
    bool plain;         /* of one size and format, which leaks on purpose are made for */
    bool sparing;       /* nothing but bytes is encoded */
};

/* Its own outputs are chosen by chance. NULL where it does not start, as under faults it may. */
struct proof_player *proof_player_open(const struct proof_player_settings *settings,
                                       struct proof_tally *tally, struct proof_chance *chance);

/* What a detector finds, for those with a region feed. */
void proof_player_update(struct proof_player *p);

/* Other filters, a snapshot, a viewer more or less. */
void proof_player_act(struct proof_player *p, struct proof_chance *chance);

bool proof_player_done(struct proof_player *p);
bool proof_player_is_stuck(struct proof_player *p); /* the process has to end by _exit() */
void proof_player_stop(struct proof_player *p);     /* comes back at once */
void proof_player_close(struct proof_player *p);    /* blocks; NULL: nothing to do */

#endif
