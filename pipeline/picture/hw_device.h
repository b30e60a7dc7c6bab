/* SPDX-License-Identifier: BSD-2-Clause
 * The GPU as an FFmpeg device, for hardware decoders and encoders. */
#ifndef HALO_HW_DEVICE_H
#define HALO_HW_DEVICE_H

#include <libavutil/hwcontext.h>

#include "config/error.h"

/* Returns an AVHWDeviceContext of type CUDA on the primary context of GPU number `gpu`, whatever
 * the context's flags. The kernels of the cuda backend run in the same context, so frames pass
 * between both without a copy. Its stream is the default one. The driver is loaded at run time, so
 * this works in builds without CUDA, too. The caller owns the reference. NULL with err filled:
 * -ENODEV (no driver, no such GPU), -ENOMEM, -EIO. Any thread; blocks while the driver starts. */
AVBufferRef *halo_hw_device_get(int gpu, struct halo_error *err);

/* Copies size bytes of the device's memory to the host, after all work on its default stream has
 * ended; blocks. device is from halo_hw_device_get(). 0, or -EIO with the driver's message in err.
 * Any thread. */
int halo_hw_device_read(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err);

/* Checks whether the device is lost (an earlier failure makes all later calls fail). Waits for its
 * work to end. 0, or -EIO as above. */
int halo_hw_device_check(const AVHWDeviceContext *device, struct halo_error *err);

/* The cudaStream_t on which its decoders write frames. */
void *halo_hw_device_stream(const AVHWDeviceContext *device);

#endif
