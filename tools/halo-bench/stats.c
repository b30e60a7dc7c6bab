/* SPDX-License-Identifier: BSD-2-Clause
 * Medians, and the ratio of reuse. */
#include "tools/halo-bench/stats.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct halo_bench_stats halo_bench_stats_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return (struct halo_bench_stats){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .min = values[0],
        .max = values[count - 1],
    };
}

double halo_bench_reuse_1d(int tile, int mask)
{
    return (double)tile * mask / (tile + mask - 1);
}

double halo_bench_reuse_2d(int tile, int mask)
{
    return halo_bench_reuse_1d(tile, mask) * halo_bench_reuse_1d(tile, mask);
}
