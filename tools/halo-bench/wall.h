/* SPDX-License-Identifier: BSD-2-Clause
 * The lower bound for whole frames on a GPU ("wall"): the time of plain copies of the same
 * page-locked buffers to the device and back, one copy per frame. One thread. */
#ifndef HALO_BENCH_WALL_H
#define HALO_BENCH_WALL_H

#include <stddef.h>

struct halo_bench_wall;

/* The copies to be timed. */
struct halo_bench_copies {
    void *const *up;   /* page-locked buffers, used in turn; NULL: no copies to the device */
    void *const *down; /* the same, for copies from the device */
    int buffers;
    size_t bytes; /* of each copy */
    int count;    /* copies in each direction */
};

/* 0, -ENODEV (built without CUDA), -ENOMEM, -EIO. The caller owns *ret. */
int halo_bench_wall_open(struct halo_bench_wall **ret, int device, size_t bytes);
void halo_bench_wall_close(struct halo_bench_wall *wall); /* NULL: no-op */

/* Measures from the start of the first copy to the end of the last. 0 or -EIO. Blocks. */
int halo_bench_wall_time(struct halo_bench_wall *wall, const struct halo_bench_copies *copies,
                         double *ret_seconds);

#endif
