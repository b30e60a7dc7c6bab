/* SPDX-License-Identifier: BSD-2-Clause
 * What a proof has counted, in memory that its processes share: what is counted there stays when
 * one of them is killed. All calls from any thread of any of them. */
#ifndef HALO_PROOF_TALLY_H
#define HALO_PROOF_TALLY_H

#include <libavutil/frame.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "pipeline/base/canary.h"

enum proof_seen {
    PROOF_RAW,      /* a frame as bytes */
    PROOF_ENCODED,  /* decoded again */
    PROOF_JPEG,     /* likewise, from a stream of such */
    PROOF_SNAPSHOT, /* likewise, a file */
    PROOF_CARD,     /* shown while nothing else can be, or told in advance */
    PROOF_FILE,     /* of a file or an address that was given */
    PROOF_KINDS,
};

enum { PROOF_POINTS = 4096 };

/* A place where faults were injected; key 0: free. */
struct proof_point {
    atomic_ullong key;
    char name[120];
    atomic_long count;
};

struct proof_tally {
    const char *folder; /* for frames that leak; NULL: they are not saved */
    int64_t begin;      /* ns */
    atomic_long seen[PROOF_KINDS], plain, broken, leaks, saved;
    atomic_long blank;      /* of those seen: of one shade where a filtered one belongs */
    atomic_long only_blank; /* eyes (eye.h) that saw nothing else */
    atomic_int cell, block; /* the strongest of frames that did not leak, in thousandths */
    atomic_long by_feed;    /* of those judged: by what a feed was told */
    atomic_long judged, hidden, shown, soft; /* frames sample by sample; of those the samples */
    atomic_long streams, rounds, killed, gave_up, failed;
    atomic_int most_points; /* of the source, passed by one process */
    struct proof_point point[PROOF_POINTS];
};

/* NULL: no memory. Lasts as long as the program. */
struct proof_tally *proof_tally_create(const char *folder);

/* Frames that were looked at and show something: all kinds but cards, without blank ones. */
long proof_tally_frames(const struct proof_tally *t);

/* A frame has been looked at; what leaks is saved. */
void proof_tally_see(struct proof_tally *t, enum proof_seen kind, const AVFrame *frame,
                     const struct halo_canary_finding *finding, bool blank);

/* A frame was judged sample by sample, or is blank; what is wrong is a leak. */
struct proof_verdict;
void proof_tally_judge(struct proof_tally *t, enum proof_seen kind,
                       const struct proof_verdict *verdict);

/* Frames that hide too little, had a feed not forgotten what it was told: each a leak. */
void proof_tally_forgotten(struct proof_tally *t, long frames);

/* A fault, or what stands for one; name: "KIND" or "KIND PLACE". */
void proof_tally_fault(struct proof_tally *t, const char *name);
long proof_tally_faults(const struct proof_tally *t, int *ret_points);

void proof_tally_print(const struct proof_tally *t, bool points);

#endif
