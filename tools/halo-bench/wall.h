/* SPDX-License-Identifier: BSD-2-Clause
 * The wall of whole frames on a GPU: what plain copies to the device and back take, of the same
 * page-locked buffers, one copy for each frame, and nothing else. One thread. */
#ifndef HALO_BENCH_WALL_H
#define HALO_BENCH_WALL_H

#include <stddef.h>

struct halo_bench_wall;

/* The copies to be timed. */
struct halo_bench_copies {
    void *const *up;   /* page-locked memory, in turns; NULL: nothing is copied to the device */
    void *const *down; /* the same, from the device */
    int buffers;
    size_t bytes; /* of each copy */
    int count;    /* copies each way */
};

/* 0, -ENODEV (built without CUDA), -ENOMEM, -EIO. The caller owns *ret. */
int halo_bench_wall_open(struct halo_bench_wall **ret, int device, size_t bytes);
void halo_bench_wall_close(struct halo_bench_wall *wall); /* NULL is nothing to do */

/* From the first copy's start to the last one's end. 0 or -EIO. Blocks. */
int halo_bench_wall_time(struct halo_bench_wall *wall, const struct halo_bench_copies *copies,
                         double *ret_seconds);

#endif
