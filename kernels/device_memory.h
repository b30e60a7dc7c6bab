/* SPDX-License-Identifier: BSD-2-Clause
 * How much memory of a GPU is used, and how much each GPU has free. */
#ifndef HALO_DEVICE_MEMORY_H
#define HALO_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct halo_device_memory {
    int64_t used, size; /* bytes, of all processes */
};

/* The memory of a CUDA device on which this process has opened a backend. Returns 0, -ENODEV (no
 * such device, a build without CUDA, or the device is lost) or -EIO. Any thread; waits for the
 * driver, which may take forever if the device hangs. */
int halo_device_memory(int device, struct halo_device_memory *ret);

struct halo_device_load {
    int64_t free; /* bytes; 0: unknown */
    int busy;     /* percent of the recent past */
};

/* Whether the free bytes of two devices are so close (the limit is a guess) that other criteria
 * decide. */
static inline bool halo_device_is_near(int64_t free, int64_t other)
{
    const int64_t near = 256 << 20;
    return free < other + near && other < free + near;
}

/* Fills ret with the first `most` CUDA devices, by number, and returns how many of them exist.
 * Starts the driver but not the devices. Any thread; may take as long as halo_device_memory(). */
int halo_device_loads(struct halo_device_load *ret, int most);

#endif
