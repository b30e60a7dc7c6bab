/* SPDX-License-Identifier: BSD-2-Clause
 * Times several candidates in one run, over the same planes and with interleaved rounds. */
#ifndef HALO_BENCH_MEASURE_H
#define HALO_BENCH_MEASURE_H

#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/stats.h"

struct halo_bench_npp; /* npp.h */

/* A strategy or a peer to be timed. The caller fills the fields up to and including `mask`, and
 * owns the memory that they point to; halo_bench_measure() fills the others. */
struct halo_bench_candidate {
    const char *name;                     /* name of the strategy or the peer */
    const struct halo_conv *conv;         /* for halod */
    const struct halo_strategy *strategy; /* for halod; NULL: the backend chooses */
    struct halo_bench_npp *npp;           /* if not NULL, this peer is timed instead of halod */
    const struct halo_bench_mask *mask;   /* for the peer */

    int rounds, planes;         /* the numbers of rounds and planes that were timed; 0: not timed */
    struct halo_bench_stats us; /* microseconds per plane, if rounds > 0 */
    char note[160];             /* why fewer rounds or none were timed; otherwise "" */
    bool failed;                /* the device failed, or memory ran out */
};

struct halo_bench_job {
    struct halo_backend *backend;
    struct halo_plane like;
    bool yuv420; /* time whole frames instead of single planes */
    int rounds, planes, launch;
    double limit;                     /* approximate maximum time for one candidate, in seconds */
    const struct halo_region *region; /* the region that halod's candidates filter, or NULL */
};

/* Times all candidates with interleaved rounds: some rounds of each, then some more of each. A slow
 * candidate gets fewer rounds, then fewer planes, and is left out if a single plane would exceed
 * the limit; its note gives the reason. Blocks. Returns 0, -ENOMEM, or -EIO (in this case, `failed`
 * is true for one of the candidates). */
int halo_bench_measure(const struct halo_bench_job *plan, struct halo_bench_candidate *candidates,
                       int count);

#endif
