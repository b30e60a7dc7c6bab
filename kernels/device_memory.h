/* SPDX-License-Identifier: BSD-2-Clause
 * How full a GPU is. */
#ifndef HALO_DEVICE_MEMORY_H
#define HALO_DEVICE_MEMORY_H

#include <stdint.h>

struct halo_device_memory {
    int64_t used, size; /* bytes, of all processes */
};

/* Of a CUDA device on which this process has opened a backend. 0, -ENODEV (none, a build without
 * CUDA, or it is lost), -EIO. Any thread; waits for the driver, which may take for ever where the
 * device hangs. */
int halo_device_memory(int device, struct halo_device_memory *ret);

#endif
