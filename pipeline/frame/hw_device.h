/* SPDX-License-Identifier: BSD-2-Clause
 * The GPU as an FFmpeg device, for hardware decoders and encoders. */
#ifndef HALO_HW_DEVICE_H
#define HALO_HW_DEVICE_H

#include <libavutil/hwcontext.h>
#include <stdbool.h>

#include "config/base/error.h"

/* Returns an AVHWDeviceContext of type CUDA on the primary context of GPU number `gpu`, whatever
 * the context's flags. The kernels of the cuda backend run in the same context, so FFmpeg and the
 * kernels can use the same frames without a copy. The CUDA stream of the AVHWDeviceContext is the
 * default stream or, with own_stream, a new one, so that its work does not wait for that of others.
 * The driver is loaded at run time, so the function also works in builds without
 * CUDA. The caller owns the returned reference. On failure, returns NULL, with the error in err:
 * -ENODEV (no driver, or no such GPU), -ENOMEM or -EIO. Any thread may call this function, which
 * blocks while the driver starts. */
AVBufferRef *halo_hw_device_get(int gpu, bool own_stream, struct halo_error *err);

/* Waits until all work on the device's stream has ended, and then copies size bytes of the
 * device's memory to the host. `device` is from halo_hw_device_get(). Returns 0, or -EIO with the
 * driver's message in err. Any thread. */
int halo_hw_device_read(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err);

/* Waits until all work on the device's stream has ended, copies size bytes within the
 * device's memory, and waits for the copy. Returns and threads as halo_hw_device_read(). */
int halo_hw_device_copy(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err);

/* Returns a pool of buffers of size bytes in the device's memory, which may outlive it; NULL if
 * memory runs out. av_buffer_pool_get() returns NULL if the device's memory runs out. */
AVBufferPool *halo_hw_device_pool(AVBufferRef *device, size_t size);

/* Waits until the device's work has ended, and checks whether the device is lost (that is, an
 * earlier failure makes all later calls fail). Returns 0, or -EIO with the driver's message in
 * err. */
int halo_hw_device_check(const AVHWDeviceContext *device, struct halo_error *err);

/* Returns the cudaStream_t on which the device's decoders write frames. */
void *halo_hw_device_stream(const AVHWDeviceContext *device);

#endif
