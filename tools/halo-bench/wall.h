/* SPDX-License-Identifier: BSD-2-Clause
 * The lower bound for the time of whole frames on a GPU, called the wall: the time of plain copies
 * of the same page-locked buffers to the device and back, with one copy per frame and direction.
 * For use by one thread. */
#ifndef HALO_BENCH_WALL_H
#define HALO_BENCH_WALL_H

#include <stddef.h>

struct halo_bench_wall;

/* The copies that are to be timed. */
struct halo_bench_copies {
    void *const *up; /* page-locked buffers, used in rotation; NULL: no copies to the device */
    void *const *
        down; /* likewise the buffers for copies from the device; NULL if no such copies are made */
    int buffers;
    size_t bytes; /* size of each copy */
    int count;    /* number of copies in each direction */
};

/* Prepares for copies of up to this many bytes each. Returns 0, and the caller owns *ret; or
 * -ENODEV (in builds without CUDA), -ENOMEM or -EIO. */
int halo_bench_wall_open(struct halo_bench_wall **ret, int device, size_t bytes);
void halo_bench_wall_close(struct halo_bench_wall *wall); /* NULL: no-op */

/* Measures the time from the start of the first copy to the end of the last. Blocks. Returns 0 or
 * -EIO. */
int halo_bench_wall_time(struct halo_bench_wall *wall, const struct halo_bench_copies *copies,
                         double *ret_seconds);

#endif
