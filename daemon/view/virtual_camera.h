/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera on the loop: a device of v4l2loopback that is written to at a fixed rate,
 * whatever comes (camera/loopback.h has the calls). Where nothing comes it is gray, or, of coded
 * pictures, the card. A device that is not there, or goes, is waited for.
 *
 * What is put in has come out of a gate; nothing here has seen anything else. Loop thread only;
 * nothing blocks. */
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

/* Not called by create and destroy. */
struct halo_virtual_events {
    /* state: "writing", or a name of halo_v4l2_states; why: in words, "" of writing. Borrowed. That
     * it is written from the beginning is not told. */
    void (*reported)(void *arg, const char *state, const char *why);
    /* Each time that it was looked at, at least once for each picture; false, too, when the device
     * is lost: then what was put in is forgotten. NULL: nobody asks. */
    void (*watched)(void *arg, bool somebody);
};

/* output: of kind V4L2; copied. events and arg must outlive it. The device is opened from the loop,
 * soon, and may be missing. 0, or -errno with err filled: no memory, no descriptor, a format or
 * size that no device has. */
int halo_virtual_create(struct halo_virtual **ret, uv_loop_t *loop,
                        const struct halo_output_settings *output,
                        const struct halo_virtual_events *events, void *arg,
                        struct halo_error *err);
/* Closes the device; memory goes when the loop has closed the handles. NULL is nothing to do. */
void halo_virtual_destroy(struct halo_virtual *v);

/* Whether it is this output's: device, format, size and rate. */
bool halo_virtual_is_of(const struct halo_virtual *v, const struct halo_output_settings *output);

/* The newest picture, as the device takes it, or an image of a coded format: it takes a reference.
 * taken: its time, in us of CLOCK_MONOTONIC; 0: it is not counted in the delay. */
void halo_virtual_put(struct halo_virtual *v, const AVPacket *picture, int64_t taken);
/* Of coded formats: what there is while no picture is; NULL: nothing. */
void halo_virtual_card(struct halo_virtual *v, const AVPacket *card);
/* No picture any more: gray, or the card, from the next write on. */
void halo_virtual_clear(struct halo_virtual *v);
/* The filters have changed: what came under the old ones is not written again. */
void halo_virtual_forget(struct halo_virtual *v);

/* Whether it is open and programs have it open, or do not say. */
bool halo_virtual_is_watched(struct halo_virtual *v);
bool halo_virtual_is_open(const struct halo_virtual *v);
/* Why it is not written; FINE while it is, and before the first try. */
enum halo_v4l2_trouble halo_virtual_trouble(const struct halo_virtual *v);

/* ns from a picture's time to when it was written, of those that were written once and first. */
const struct halo_histogram *halo_virtual_delay(const struct halo_virtual *v);

/* {"state", "why", "pictures": written, "repeated": of them, "dropped_packets": not taken,
 * "opened", "failures", "delay_ms": {"p50", "p99"}, "readers": true, false, or null where it is not
 * known}; a new reference, NULL: no memory. */
json_t *halo_virtual_status(const struct halo_virtual *v);

#endif
