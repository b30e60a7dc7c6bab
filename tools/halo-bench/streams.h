/* SPDX-License-Identifier: BSD-2-Clause
 * Several streams at once: a thread and lanes for each, in one process. */
#ifndef HALO_BENCH_STREAMS_H
#define HALO_BENCH_STREAMS_H

#include "tools/halo-bench/lanes.h"

/* What the streams did together. */
struct halo_bench_streams {
    int frames;  /* of all streams */
    double rate; /* frames a second: where they are paced, the sum of the streams' own rates */
    double cpu_us, submit_us, kernels_us;
    int late;
};

/* frames through each of count streams, fps of each, or 0: as fast as they can. us: room for the
 * times of all frames where they are paced, or NULL. 0 or -errno. Blocks. */
int halo_bench_streams_run(struct halo_bench_lanes *streams, int count, double fps, int frames,
                           double *us, struct halo_bench_streams *ret);

#endif
