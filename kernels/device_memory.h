/* SPDX-License-Identifier: BSD-2-Clause
 * How full a GPU is, and what all of them have to spare. */
#ifndef HALO_DEVICE_MEMORY_H
#define HALO_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct halo_device_memory {
    int64_t used, size; /* bytes, of all processes */
};

/* Of a CUDA device on which this process has opened a backend. 0, -ENODEV (none, a build without
 * CUDA, or it is lost), -EIO. Any thread; waits for the driver, which may take for ever where the
 * device hangs. */
int halo_device_memory(int device, struct halo_device_memory *ret);

struct halo_device_load {
    int64_t free; /* bytes; 0: nobody knows */
    int busy;     /* percent of the last moments */
};

/* Whether so many free bytes of two are as good as the same (guessed): something else decides. */
static inline bool halo_device_is_near(int64_t free, int64_t other)
{
    const int64_t near = 256 << 20;
    return free < other + near && other < free + near;
}

/* Of the first `most` CUDA devices, by number: how many there are of these. Starts none of them,
 * but the driver. Any thread; may take as long as above. */
int halo_device_loads(struct halo_device_load *ret, int most);

#endif
