/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera on the loop: a v4l2loopback device that is written to at a fixed rate,
 * regardless of the input (camera/loopback.h has the system calls). Without input it shows gray, or
 * the card if its format is compressed. If the device is missing or disappears, opening it is tried
 * again.
 *
 * Its input has passed a gate; unfiltered frames never get here. Loop thread only; nothing
 * blocks. */
#ifndef HALO_VIRTUAL_CAMERA_H
#define HALO_VIRTUAL_CAMERA_H

#include <jansson.h>
#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <uv.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/base/histogram.h"
#include "pipeline/camera/v4l2.h"

struct halo_virtual;

/* Never called from create or destroy. */
struct halo_virtual_events {
    /* state: "writing" or a name from halo_v4l2_states; why: one line for people, "" while writing.
     * Both are borrowed. Not called if writing works from the start. */
    void (*reported)(void *arg, const char *state, const char *why);
    /* Called each time the readers were checked, at least once for each frame. Also called with
     * false when the device is lost, which discards the frames put in so far. NULL: not needed. */
    void (*watched)(void *arg, bool somebody);
};

/* output: of kind V4L2; copied. events and arg must outlive it. The device is opened soon
 * afterwards, from the loop, and may be missing. 0, or -errno with err filled: out of memory or
 * descriptors, or a format or size that no device supports. */
int halo_virtual_create(struct halo_virtual **ret, uv_loop_t *loop,
                        const struct halo_output_settings *output,
                        const struct halo_virtual_events *events, void *arg,
                        struct halo_error *err);
/* Closes the device; the memory is freed when the loop has closed the handles. NULL is ignored. */
void halo_virtual_destroy(struct halo_virtual *v);

/* Whether it has the device, format, size and rate of this output. */
bool halo_virtual_is_of(const struct halo_virtual *v, const struct halo_output_settings *output);

/* Puts in the newest frame, in the device's pixel format or as an image of its compressed format;
 * keeps a reference. taken: the frame's time in us of CLOCK_MONOTONIC; 0: it does not count in the
 * delay. */
void halo_virtual_put(struct halo_virtual *v, const AVPacket *picture, int64_t taken);
/* For compressed formats: the image to write while there is no frame; NULL: write nothing. */
void halo_virtual_card(struct halo_virtual *v, const AVPacket *card);
/* Forgets the frame: from the next write on, gray or the card is shown. */
void halo_virtual_clear(struct halo_virtual *v);
/* The filters have changed: frames that passed the old ones are not written again. */
void halo_virtual_forget(struct halo_virtual *v);

/* Whether the device is open and other programs have it open too, or this is not known. */
bool halo_virtual_is_watched(struct halo_virtual *v);
bool halo_virtual_is_open(const struct halo_virtual *v);
/* Why it is not being written; FINE while it is, and before the first attempt. */
enum halo_v4l2_trouble halo_virtual_trouble(const struct halo_virtual *v);

/* ns from a frame's time to its first write; repeats are not counted. */
const struct halo_histogram *halo_virtual_delay(const struct halo_virtual *v);

/* {"state", "why", "pictures": frames written, "repeated": how many of them were repeats,
 * "dropped_packets": frames that the device did not accept, "opened", "failures", "delay_ms":
 * {"p50", "p99"}, "readers": true, false, or null if it is not known}; a new reference, NULL: out
 * of memory. */
json_t *halo_virtual_status(const struct halo_virtual *v);

#endif
