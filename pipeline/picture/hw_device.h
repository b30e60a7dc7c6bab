/* SPDX-License-Identifier: BSD-2-Clause
 * The GPU as FFmpeg knows it, for decoders and encoders in hardware. */
#ifndef HALO_HW_DEVICE_H
#define HALO_HW_DEVICE_H

#include <libavutil/hwcontext.h>

#include "config/error.h"

/* An AVHWDeviceContext of type CUDA on the primary context of GPU number `gpu`: the one that the
 * kernels of the cuda backend run in, whatever its flags, so that frames pass between the two
 * without a copy. Its stream is the default one. The driver is found when this is called: builds
 * without CUDA have it too. The caller owns a reference to it. NULL with err filled: -ENODEV (no
 * driver, no such GPU), -ENOMEM, -EIO. Any thread; blocks while the driver starts. */
AVBufferRef *halo_hw_device_get(int gpu, struct halo_error *err);

/* Copies size bytes of its memory to the host, after all work on its default stream; blocks. 0 or
 * -EIO with err filled in the driver's words. device is from halo_hw_device_get(); any thread. */
int halo_hw_device_read(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err);

/* Whether it is lost: a failure on it fails all that comes after. Waits for its work. 0 or -EIO as
 * above. */
int halo_hw_device_check(const AVHWDeviceContext *device, struct halo_error *err);

/* The cudaStream_t on which its decoders write pictures. */
void *halo_hw_device_stream(const AVHWDeviceContext *device);

#endif
