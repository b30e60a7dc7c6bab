/* SPDX-License-Identifier: BSD-2-Clause
 * Several streams at once, in one process, each with its own thread and lanes. */
#ifndef HALO_BENCH_STREAMS_H
#define HALO_BENCH_STREAMS_H

#include "tools/halo-bench/lanes.h"

/* Results of all streams together. */
struct halo_bench_streams {
    int frames;  /* of all streams */
    double rate; /* frames per second; paced: the sum of the rates of the streams */
    double cpu_us, submit_us, kernels_us;
    int late;
};

/* Filters frames in each of count streams, at fps each, or as fast as possible if fps is 0. us:
 * memory for the times of all frames if they are paced, or NULL. 0 or -errno. Blocks. */
int halo_bench_streams_run(struct halo_bench_lanes *streams, int count, double fps, int frames,
                           double *us, struct halo_bench_streams *ret);

#endif
