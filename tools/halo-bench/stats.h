/* SPDX-License-Identifier: BSD-2-Clause
 * Statistics of repeated timings of one candidate. Pure functions. */
#ifndef HALO_BENCH_STATS_H
#define HALO_BENCH_STATS_H

struct halo_bench_stats {
    double median, min, max;
};

/* Statistics of count >= 1 values, in any order; the median of an even count is the mean of the two
 * middle values. Sorts the values. */
struct halo_bench_stats halo_bench_stats_of(double *values, int count);

/* How often the tiling of the lectures (docs/performance.md) reuses a loaded cell, for tiles of T =
 * tile outputs per side and masks of M = mask cells per side: T M / (T + M - 1) in one dimension,
 * and its square in two. */
double halo_bench_reuse_1d(int tile, int mask);
double halo_bench_reuse_2d(int tile, int mask);

#endif
