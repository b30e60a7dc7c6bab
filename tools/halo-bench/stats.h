/* SPDX-License-Identifier: BSD-2-Clause
 * Statistics of repeated timings of one candidate. All functions are pure. */
#ifndef HALO_BENCH_STATS_H
#define HALO_BENCH_STATS_H

struct halo_bench_stats {
    double median, min, max;
};

/* Sorts `count` values (at least one), which may be in any order, and returns their statistics. The
 * median of an even number of values is the mean of the two middle values. */
struct halo_bench_stats halo_bench_stats_of(double *values, int count);

/* Return how often tiling (docs/performance.md) reuses a loaded cell, for tiles with T = tile
 * outputs per side and masks with M = mask cells per side: T M / (T + M - 1) in one dimension, and
 * the square of this in two dimensions. */
double halo_bench_reuse_1d(int tile, int mask);
double halo_bench_reuse_2d(int tile, int mask);

#endif
