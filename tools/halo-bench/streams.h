/* SPDX-License-Identifier: BSD-2-Clause
 * Runs several streams at the same time in one process, each with its own thread and lanes. */
#ifndef HALO_BENCH_STREAMS_H
#define HALO_BENCH_STREAMS_H

#include "tools/halo-bench/lanes.h"

/* The results of all streams together. */
struct halo_bench_streams {
    int frames;  /* total number, over all streams */
    double rate; /* frames per second; if paced, the sum of the streams' rates */
    double cpu_us, submit_us, kernels_us;
    int late;
};

/* Filters `frames` frames in each of `count` streams, at `fps` frames per second each, or as fast
 * as possible if fps is 0. us must be NULL if fps is 0; otherwise, us points to memory for the
 * times of all frames, or is NULL if these times are not needed. Blocks. Returns 0 or -errno. */
int halo_bench_streams_run(struct halo_bench_lanes *streams, int count, double fps, int frames,
                           double *us, struct halo_bench_streams *ret);

#endif
