/* SPDX-License-Identifier: BSD-2-Clause
 * What is said of many timings of one thing. Pure. */
#ifndef HALO_BENCH_STATS_H
#define HALO_BENCH_STATS_H

struct halo_bench_stats {
    double median, min, max;
};

/* Of count >= 1 values, in any order; the median of an even count is the mean of the two in the
 * middle. Sorts the values. */
struct halo_bench_stats halo_bench_stats_of(double *values, int count);

/* How often the lectures' tiling uses a loaded cell again, for tiles of tile outputs a side and
 * masks of mask cells a side: T M / (T + M - 1), and the square of it in two dimensions. */
double halo_bench_reuse_1d(int tile, int mask);
double halo_bench_reuse_2d(int tile, int mask);

#endif
