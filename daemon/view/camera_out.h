/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera of the supervisor: it writes the frames of a feed to a device
 * (virtual_device.h).
 *
 * The device gets frames at its rate from the start, even before the first engine has begun and
 * after an engine has died, so that programs find a camera and never lose it. If no new frame
 * arrives, the last frame is repeated. Before the first frame, a gray frame is written; MJPEG needs
 * an encoder, so with MJPEG nothing is written before the first card. A new frame is written when
 * it arrives, not at the next timer tick: frames are counted, and a frame is repeated only if one
 * is missing.
 *
 * While the device is missing or used by another writer, opening it is tried again: at once when
 * its folder changes, and after growing pauses. While the device is missing, or the driver reports
 * that it has no readers, the camera leaves the feed, so that its encoding costs nothing.
 *
 * Loop thread only; opening the device blocks it for some microseconds. */
#ifndef HALO_CAMERA_OUT_H
#define HALO_CAMERA_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "config/encoding.h"
#include "daemon/view/feed.h"

struct halo_camera_out;

/* Reports a new state: "writing" or a name from halo_v4l2_states. `why` is the reason, as one line
 * of text ("" while frames are being written). Both are borrowed. Never called by
 * halo_camera_out_create() or halo_camera_out_destroy(). */
typedef void halo_camera_report(void *arg, const char *state, const char *why);

/* Creates the virtual camera of `output`, which must be of a kind that has one and is copied. The
 * loop opens the device soon afterwards; a missing device is not an error. Returns 0, or -errno
 * with err filled if there is not enough memory or no free descriptor, or if no device supports the
 * format or size. */
int halo_camera_out_create(struct halo_camera_out **ret, uv_loop_t *loop,
                           const struct halo_output_settings *output, halo_camera_report *reported,
                           void *arg, struct halo_error *err);
/* Closes the device. NULL is ignored. */
void halo_camera_out_destroy(struct halo_camera_out *out);

/* Returns whether the camera has the device, format, size and rate of this output. */
bool halo_camera_out_is_of(const struct halo_camera_out *out,
                           const struct halo_output_settings *output);

/* halo_camera_out_join() makes the camera show this feed from now on, while its readers want the
 * format with this index. halo_camera_out_leave() makes it show gray again, and must be called
 * before the feeds end. */
void halo_camera_out_join(struct halo_camera_out *out, int format, struct halo_feed *feed);
void halo_camera_out_leave(struct halo_camera_out *out);

/* Called after the filters have changed: frames made with the old filters are not written again. */
void halo_camera_out_forget(struct halo_camera_out *out);

/* Returns the same fields as halo_virtual_status(). */
json_t *halo_camera_out_status(const struct halo_camera_out *out);

#endif
