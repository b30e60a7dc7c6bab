/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera of the supervisor: takes the pictures of a feed and writes them to a device of
 * v4l2loopback (pipeline/camera/loopback.h).
 *
 * It is fed at its rate from the first moment on, before an engine has begun and after one died, so
 * that programs find a camera and never lose it: where no new picture came, the last one again;
 * before there is one, gray of its own (of MJPEG, for which an encoder is needed, nothing before
 * the first card). A new picture is written when it comes, not at the next tick: the pictures are
 * counted, and a repeat is written only where one is missing.
 *
 * While the device is away or somebody else's, it is tried again: at once when its folder changes,
 * and after pauses that grow. While it is away, or says that nobody reads it, the feed is left: its
 * encoding then costs nothing.
 *
 * Loop thread only; opening the device is a call of some microseconds there. */
#ifndef HALO_CAMERA_OUT_H
#define HALO_CAMERA_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "config/daemon.h"
#include "config/error.h"
#include "daemon/view/feed.h"

struct halo_camera_out;

/* state: "writing", or a name of halo_v4l2_states; why: in words, "" of writing. Borrowed. Not
 * called by create and destroy. */
typedef void halo_camera_report(void *arg, const char *state, const char *why);

/* output: of kind V4L2; copied. The device is opened from the loop, soon, and may be missing. 0, or
 * -errno with err filled: no memory, no descriptor, a format or size that no device has. */
int halo_camera_out_create(struct halo_camera_out **ret, uv_loop_t *loop,
                           const struct halo_output_settings *output, halo_camera_report *reported,
                           void *arg, struct halo_error *err);
/* Closes the device. NULL is nothing to do. */
void halo_camera_out_destroy(struct halo_camera_out *out);

/* Whether it is this output's: device, format, size and rate. */
bool halo_camera_out_is_of(const struct halo_camera_out *out,
                           const struct halo_output_settings *output);

/* From now on from this feed, until it is left: before the feed ends. Then gray again. */
void halo_camera_out_join(struct halo_camera_out *out, struct halo_feed *feed);
void halo_camera_out_leave(struct halo_camera_out *out);

/* The filters have changed: what came under the old ones is not written again. */
void halo_camera_out_forget(struct halo_camera_out *out);

/* As halo_virtual_status(). */
json_t *halo_camera_out_status(const struct halo_camera_out *out);

#endif
