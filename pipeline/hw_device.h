/* SPDX-License-Identifier: BSD-2-Clause
 * The GPU as FFmpeg knows it, for decoders and encoders in hardware. */
#ifndef HALO_HW_DEVICE_H
#define HALO_HW_DEVICE_H

#include <libavutil/buffer.h>

#include "config/error.h"

/* An AVHWDeviceContext of type CUDA on the primary context of GPU number `gpu`: the one that the
 * kernels of the cuda backend run in, whatever its flags, so that frames pass between the two
 * without a copy. Its stream is the default one. The driver is found when this is called: builds
 * without CUDA have it too. The caller owns a reference to it. NULL with err filled: -ENODEV (no
 * driver, no such GPU), -ENOMEM, -EIO. Any thread; blocks while the driver starts. */
AVBufferRef *halo_hw_device_get(int gpu, struct halo_error *err);

#endif
