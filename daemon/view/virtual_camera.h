/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera on the event loop: a device (virtual_device.h) that is written at a fixed rate,
 * regardless of the input. Without input it shows gray, or the card if its format is compressed. If
 * the device is missing or disappears, opening it is tried again.
 *
 * Its input has passed a gate; unfiltered frames never get here. Loop thread only; none of these
 * functions blocks. */
#ifndef HALO_VIRTUAL_CAMERA_H
#define HALO_VIRTUAL_CAMERA_H

#include <jansson.h>
#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/base/histogram.h"
#include "pipeline/camera/v4l2.h"

struct halo_virtual;

/* Callbacks, which are never called by halo_virtual_create() or halo_virtual_destroy(). */
struct halo_virtual_events {
    /* Reports a new state: "writing" or a name from halo_v4l2_states. `why` is one readable line
     * ("" while frames are being written). Both strings are borrowed. Not called if writing works
     * from the start. */
    void (*reported)(void *arg, const char *state, const char *why);
    /* Reports the format that readers want (halo_virtual_wanted()). Called after each check, at
     * least once per frame. Also called with -1 when the device is lost; the last frame has then
     * been discarded. May be NULL. */
    void (*watched)(void *arg, int format);
};

/* Creates the virtual camera of `output`, which must be of a kind that has one and is copied.
 * events and arg must outlive the camera. The loop opens the device soon afterwards; a missing
 * device is not an error. Returns 0, or -errno with err filled if there is not enough memory or no
 * free descriptor, or if no device supports the format or size. */
int halo_virtual_create(struct halo_virtual **ret, uv_loop_t *loop,
                        const struct halo_output_settings *output,
                        const struct halo_virtual_events *events, void *arg,
                        struct halo_error *err);
/* Closes the device; the memory is freed when the loop has closed the handles. NULL is ignored. */
void halo_virtual_destroy(struct halo_virtual *v);

/* Returns whether the camera has the device, format, size and rate of this output. */
bool halo_virtual_is_of(const struct halo_virtual *v, const struct halo_output_settings *output);

/* Sets the frame to show from now on, in the device's pixel format or as an image in its compressed
 * format, and keeps a reference to it. taken is the frame's timestamp in us of CLOCK_MONOTONIC; if
 * it is 0, the frame is not included in the measured delay. */
void halo_virtual_put(struct halo_virtual *v, const AVPacket *frame, int64_t taken);
/* For compressed formats: sets the image to write while there is no frame. If card is NULL, nothing
 * is written while there is no frame. */
void halo_virtual_card(struct halo_virtual *v, const AVPacket *card);
/* Forgets the frame: from the next write on, gray or the card is shown. */
void halo_virtual_clear(struct halo_virtual *v);
/* Called after the filters have changed: frames made with the old filters are not written again. */
void halo_virtual_forget(struct halo_virtual *v);

/* Returns the index of the format that readers want (struct halo_virtual_need), or -1 if there are
 * none. If the device is open and its readers are unknown, there may be some. */
int halo_virtual_wanted(struct halo_virtual *v);
bool halo_virtual_is_open(const struct halo_virtual *v);
/* Returns the reason why nothing is being written to the device; FINE while frames are being
 * written, and before the first attempt. */
enum halo_v4l2_trouble halo_virtual_trouble(const struct halo_virtual *v);

/* Returns the delays from a frame's timestamp to its first write, in ns; repeats are not
 * counted. */
const struct halo_histogram *halo_virtual_delay(const struct halo_virtual *v);

/* Returns a new reference to an object, or NULL if out of memory. The object's fields are "state",
 * "why", "frames" (the number of frames written), "repeated" (how many of these were written
 * because no new frame had arrived), "dropped_packets" (frames replaced by newer ones or not
 * accepted by the device), "opened", "failures", "delay_ms" ({"p50", "p99"}), and "readers" (true,
 * false, or null if unknown). */
json_t *halo_virtual_status(const struct halo_virtual *v);

#endif
