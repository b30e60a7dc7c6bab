/* SPDX-License-Identifier: BSD-2-Clause
 * Builds without CUDA have nothing to copy to. */
#include <errno.h>

#include "tools/halo-bench/wall.h"

int halo_bench_wall_open(struct halo_bench_wall **ret, int device, size_t bytes)
{
    (void)ret;
    (void)device;
    (void)bytes;
    return -ENODEV;
}

void halo_bench_wall_close(struct halo_bench_wall *wall)
{
    (void)wall;
}

int halo_bench_wall_time(struct halo_bench_wall *wall, const struct halo_bench_copies *copies,
                         double *ret_seconds)
{
    (void)wall;
    (void)copies;
    (void)ret_seconds;
    return -ENODEV;
}
