/* SPDX-License-Identifier: BSD-2-Clause
 * Times of several things in turns, in one run and over the same planes. */
#ifndef HALO_BENCH_MEASURE_H
#define HALO_BENCH_MEASURE_H

#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/stats.h"

struct halo_bench_npp; /* npp.h */

/* One thing to time. The caller fills the first part; what it points to stays the caller's. */
struct halo_bench_candidate {
    const char *name;                     /* of the strategy, or of the peer */
    const struct halo_conv *conv;         /* ours */
    const struct halo_strategy *strategy; /* ours; NULL: the backend chooses */
    struct halo_bench_npp *npp;           /* not NULL: this peer instead of ours */
    const struct halo_bench_mask *mask;   /* the peer's */

    int rounds, planes;         /* that were timed; 0 where nothing was */
    struct halo_bench_stats us; /* microseconds for a plane, where rounds > 0 */
    char note[160];             /* why there are fewer rounds or none; "" where all is well */
    bool failed;                /* the device failed, or memory ran out */
};

struct halo_bench_job {
    struct halo_backend *backend;
    struct halo_plane like;
    bool yuv420; /* whole frames */
    int rounds, planes, launch;
    double limit;                     /* seconds for one candidate, about */
    const struct halo_region *region; /* of every candidate that is ours, or NULL */
};

/* Times all candidates in turns: a part of the rounds of each, then the next part. One that is slow
 * gets fewer rounds, then fewer planes, and is left out where a single plane would exceed the
 * limit; its note says so. 0, or -ENOMEM, -EIO (a candidate has failed = true then). Blocks. */
int halo_bench_measure(const struct halo_bench_job *plan, struct halo_bench_candidate *candidates,
                       int count);

#endif
