/* SPDX-License-Identifier: BSD-2-Clause
 * The devices that a virtual camera (virtual_camera.h) can write to. Each kind is one row, which
 * knows how the device is opened and written, and who reads from it; when a frame is written does
 * not depend on the kind. Loop thread only; no function blocks. */
#ifndef HALO_VIRTUAL_DEVICE_H
#define HALO_VIRTUAL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/camera/v4l2.h"

/* What the readers of a device need at the moment. */
struct halo_virtual_need {
    int readers; /* 1: there are readers; 0: there are none; -ENOTSUP: unknown */
    /* the readers' pixel format, as an index into the formats of the device's kind, of which the
     * output has one encoding each (config/encoding.h) */
    int format;
    size_t size; /* bytes of a raw frame in this format; 0: the format is compressed */
    double rate; /* frames per second, more than 0 */
};

struct halo_virtual_device {
    /* Prepares the device of `output`, without opening it. Returns 0 with *ret filled, -ENOMEM, or
     * -EINVAL if no device of this kind supports the format or size. */
    int (*create)(void **ret, const struct halo_output_settings *output);
    void (*destroy)(void *device); /* accepts NULL; closes the device */
    /* Returns whether this is the device of `output`, with the format, size and rate in it. */
    bool (*is_of)(const void *device, const struct halo_output_settings *output);
    /* Returns the path that appears when the device can be opened: it contains a slash. */
    const char *(*path)(const void *device);
    /* Opens the device. Returns 0, or -errno with err and *ret_trouble filled. */
    int (*open)(void *device, enum halo_v4l2_trouble *ret_trouble, struct halo_error *err);
    void (*close)(void *device); /* may be called whether the device is open or not */
    /* Fills *ret; while the device is closed, it has no readers. */
    void (*look)(void *device, struct halo_virtual_need *ret);
    /* Writes a frame of the current format, captured at this time in ns of CLOCK_MONOTONIC. Returns
     * 0, -EAGAIN if the frame was dropped because the device cannot accept it now, or another
     * -errno with err and *ret_trouble filled: the device must then be closed. */
    int (*write)(void *device, const void *data, size_t size, int64_t time,
                 enum halo_v4l2_trouble *ret_trouble, struct halo_error *err);
    /* Returns a descriptor that stays the same until the device is destroyed, and is readable when
     * `turn` has to be called. Called after the device has been opened for the first time. NULL:
     * the device reports nothing by itself. */
    int (*poll)(const void *device);
    /* Handles what the device reports. Returns 0, or -errno with err and *ret_trouble filled if the
     * device was lost and must be closed. */
    int (*turn)(void *device, enum halo_v4l2_trouble *ret_trouble, struct halo_error *err);
};

extern const struct halo_virtual_device halo_virtual_loopback; /* v4l2loopback */
extern const struct halo_virtual_device halo_virtual_pipewire; /* a node of the PipeWire graph */

#endif
