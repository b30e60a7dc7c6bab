/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera of the supervisor (camera_out.h). */
#include "daemon/view/camera_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/view/virtual_camera.h"
#include "kernels/clock.h"

enum { REJOIN_US = 500000 }; /* after on_error: stop */

struct halo_camera_out {
    struct halo_feed_subscriber subscriber; /* must be first: callbacks cast it to the camera */
    struct halo_virtual *device;
    halo_camera_report *reported;
    void *arg;
    /* The feeds, one for each format of the device; the first is NULL if there are none. The
     * one that readers want is joined while the device may have any. */
    struct halo_feed *feed[HALO_DESKTOP_FORMATS];
    int64_t left; /* us: when the feed ended it; 0: it did not */
};

static void step_out(struct halo_camera_out *out)
{
    halo_feed_leave(&out->subscriber);
    halo_virtual_clear(out->device);
    out->left = 0;
}

static void reported(void *arg, const char *state, const char *why)
{
    struct halo_camera_out *out = arg;
    out->reported(out->arg, state, why);
}

/* Joins the feed that the device's readers want, if there may be any. */
static void watched(void *arg, int format)
{
    struct halo_camera_out *out = arg;
    struct halo_feed *wanted = format >= 0 ? out->feed[format] : NULL;
    if (out->subscriber.feed && out->subscriber.feed != wanted)
        step_out(out);
    if (wanted && !out->subscriber.feed && halo_now_us() - out->left >= REJOIN_US)
        halo_feed_join(wanted, &out->subscriber);
}

static const struct halo_virtual_events events = {.reported = reported, .watched = watched};

static void subscriber_begin(struct halo_feed_subscriber *subscriber,
                             const struct halo_encoding_parameters *begin)
{
    struct halo_camera_out *out = (struct halo_camera_out *)subscriber;
    halo_virtual_card(out->device, begin->card);
}

static void subscriber_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    struct halo_camera_out *out = (struct halo_camera_out *)subscriber;
    if (pkt->stream_index == 0)
        halo_virtual_put(out->device, pkt, pkt->pts + halo_feed_origin(subscriber->feed));
}

static void subscriber_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    struct halo_camera_out *out = (struct halo_camera_out *)subscriber;
    (void)why;
    step_out(out);
    out->left = halo_now_us();
}

void halo_camera_out_join(struct halo_camera_out *out, int format, struct halo_feed *feed)
{
    out->feed[format] = feed;
    watched(out, halo_virtual_wanted(out->device));
}

void halo_camera_out_leave(struct halo_camera_out *out)
{
    step_out(out);
    memset(out->feed, 0, sizeof out->feed);
}

void halo_camera_out_forget(struct halo_camera_out *out)
{
    halo_virtual_forget(out->device);
}

int halo_camera_out_create(struct halo_camera_out **ret, uv_loop_t *loop,
                           const struct halo_output_settings *output, halo_camera_report *report,
                           void *arg, struct halo_error *err)
{
    struct halo_camera_out *out = calloc(1, sizeof *out);
    if (!out)
        return halo_fail(err, -ENOMEM, "out of memory");
    out->subscriber = (struct halo_feed_subscriber){
        .begin = subscriber_begin, .packet = subscriber_packet, .end = subscriber_end};
    out->reported = report;
    out->arg = arg;
    const int code = halo_virtual_create(&out->device, loop, output, &events, out, err);
    if (code < 0) {
        free(out);
        return code;
    }
    *ret = out;
    return 0;
}

void halo_camera_out_destroy(struct halo_camera_out *out)
{
    if (!out)
        return;
    halo_camera_out_leave(out);
    halo_virtual_destroy(out->device);
    free(out);
}

bool halo_camera_out_is_of(const struct halo_camera_out *out,
                           const struct halo_output_settings *output)
{
    return halo_virtual_is_of(out->device, output);
}

json_t *halo_camera_out_status(const struct halo_camera_out *out)
{
    return halo_virtual_status(out->device);
}
