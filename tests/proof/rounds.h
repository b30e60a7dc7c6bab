/* SPDX-License-Identifier: BSD-2-Clause
 * The mass of a proof: processes with streams of painted frames, in which faults happen by
 * chance, until so many frames have been examined under so many faults. */
#ifndef HALO_PROOF_ROUNDS_H
#define HALO_PROOF_ROUNDS_H

#include "tests/proof/tally.h"

struct proof_rounds {
    long frames, faults, points; /* at least */
    double seconds;              /* at most; 0: no limit */
    double round;                /* seconds that a process lasts */
    int workers, streams;        /* processes at a time; streams of each */
    unsigned seed;
    int backend;      /* index into halo_run_backends */
    const char *wish; /* HALOD_FAULT of every engine; NULL: one of many plans by chance */
    bool feed;        /* all streams have regions that a feed tells */
    bool leak;        /* frames leak on purpose, and nothing else happens */
    const char *folder;
};

/* False: it could not be done at all, which has been said. */
bool proof_rounds_run(const struct proof_rounds *rounds, struct proof_tally *tally);

#endif
