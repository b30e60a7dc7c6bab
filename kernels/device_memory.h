/* SPDX-License-Identifier: BSD-2-Clause
 * The used memory of one GPU, and the free memory of each. */
#ifndef HALO_DEVICE_MEMORY_H
#define HALO_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct halo_device_memory {
    int64_t used, size; /* in bytes; `used` includes the memory of all processes */
};

/* Fills *ret with the memory use of a CUDA device on which this process has opened a backend.
 * Returns 0, -ENODEV (the device does not exist or is lost, or this is a build without CUDA) or
 * -EIO. Any thread. Waits for the driver, perhaps forever if the device hangs. */
int halo_device_memory(int device, struct halo_device_memory *ret);

struct halo_device_load {
    int64_t free; /* bytes; 0: unknown */
    int busy;     /* percentage of the recent past in which the device was busy */
};

/* Returns whether the free bytes of two devices are so close that other criteria decide (the limit
 * is a guess). */
static inline bool halo_device_is_near(int64_t free, int64_t other)
{
    const int64_t near = 256 << 20;
    return free < other + near && other < free + near;
}

/* Fills ret with the loads of the CUDA devices 0 to most - 1, and returns how many of them exist.
 * Starts the driver, but no device. May be called from any thread; may take as long as
 * halo_device_memory(). */
int halo_device_loads(struct halo_device_load *ret, int most);

#endif
