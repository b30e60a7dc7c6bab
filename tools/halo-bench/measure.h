/* SPDX-License-Identifier: BSD-2-Clause
 * Times several candidates in turns, in one run and over the same planes. */
#ifndef HALO_BENCH_MEASURE_H
#define HALO_BENCH_MEASURE_H

#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/stats.h"

struct halo_bench_npp; /* npp.h */

/* One thing to time. The caller fills the first part, and keeps ownership of the memory that it
 * points to. */
struct halo_bench_candidate {
    const char *name;                     /* of the strategy or the peer */
    const struct halo_conv *conv;         /* halod's */
    const struct halo_strategy *strategy; /* halod's; NULL: the backend chooses */
    struct halo_bench_npp *npp;           /* not NULL: time this peer, not halod */
    const struct halo_bench_mask *mask;   /* for the peer */

    int rounds, planes;         /* number timed; 0: none */
    struct halo_bench_stats us; /* microseconds per plane, if rounds > 0 */
    char note[160];             /* why there were fewer rounds, or none; otherwise "" */
    bool failed;                /* the device failed, or memory ran out */
};

struct halo_bench_job {
    struct halo_backend *backend;
    struct halo_plane like;
    bool yuv420; /* whole frames */
    int rounds, planes, launch;
    double limit;                     /* approximate seconds for one candidate */
    const struct halo_region *region; /* of all candidates of halod's, or NULL */
};

/* Times all candidates in turns: some rounds of each, then some more of each. A slow candidate gets
 * fewer rounds, then fewer planes, and is left out if a single plane would exceed the limit; its
 * note gives the reason. 0, or -ENOMEM, -EIO (then a candidate has failed = true). Blocks. */
int halo_bench_measure(const struct halo_bench_job *plan, struct halo_bench_candidate *candidates,
                       int count);

#endif
