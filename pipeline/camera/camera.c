/* SPDX-License-Identifier: BSD-2-Clause
 * A camera (camera.h): opening and closing. */
#include "pipeline/camera/camera.h"

#include <errno.h>
#include <libavutil/common.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <unistd.h>

#include "pipeline/camera/camera_pipewire.h"
#include "pipeline/camera/camera_private.h"

uint32_t halo_camera_queue(uint32_t caps)
{
    return caps & V4L2_CAP_VIDEO_CAPTURE          ? V4L2_BUF_TYPE_VIDEO_CAPTURE
           : caps & V4L2_CAP_VIDEO_CAPTURE_MPLANE ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE
                                                  : 0;
}

static int check_device(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    struct v4l2_capability cap;
    const int code = halo_camera_call(c, fault, HALO_V4L2_QUERYCAP, VIDIOC_QUERYCAP, &cap);
    if (code < 0)
        return code;
    const uint32_t caps = halo_v4l2_caps(&cap);
    c->type = halo_camera_queue(caps);
    if (!c->type)
        return halo_camera_fail_as(c, fault, HALO_V4L2_UNFIT, -ENOTSUP,
                                   "the device does not capture video");
    if (!(caps & V4L2_CAP_STREAMING))
        return halo_camera_fail_as(c, fault, HALO_V4L2_UNFIT, -ENOTSUP,
                                   "the device does not support streaming");
    return 0;
}

/* HDMI and similar inputs: the driver is set to the timings of the incoming signal. */
static int set_timings(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    struct v4l2_dv_timings timings = {.type = 0};
    int code = halo_v4l2_call(c->fd, VIDIOC_QUERY_DV_TIMINGS, &timings);
    if (code == -ERANGE)
        return halo_camera_fail_as(c, fault, HALO_V4L2_SIGNAL, code,
                                   "the device does not support the timings of its input signal");
    if (code < 0)
        return halo_v4l2_judge(HALO_V4L2_ENUM, -code) == HALO_V4L2_FINE
                   ? 0
                   : halo_camera_fail(c, fault, HALO_V4L2_ENUM, code);
    code = halo_camera_call(c, fault, HALO_V4L2_S_FMT, VIDIOC_S_DV_TIMINGS, &timings);
    c->mode.width = (int)FFMIN(timings.bt.width, HALO_CAMERA_SIDE);
    c->mode.height = (int)FFMIN(timings.bt.height, HALO_CAMERA_SIDE);
    return code;
}

static int check_input(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    int number = 0;
    int code = halo_v4l2_call(c->fd, VIDIOC_G_INPUT, &number);
    struct v4l2_input input = {.index = (unsigned)number};
    if (code >= 0)
        code = halo_v4l2_call(c->fd, VIDIOC_ENUMINPUT, &input);
    if (code < 0)
        return halo_v4l2_judge(HALO_V4L2_ENUM, -code) == HALO_V4L2_FINE
                   ? 0
                   : halo_camera_fail(c, fault, HALO_V4L2_ENUM, code);
    if (input.capabilities & V4L2_IN_CAP_DV_TIMINGS)
        return set_timings(c, fault);
    if (input.status & (V4L2_IN_ST_NO_POWER | V4L2_IN_ST_NO_SIGNAL))
        return halo_camera_fail_as(c, fault, HALO_V4L2_SIGNAL, -ENOLINK, "");
    return 0;
}

/* Subscribes to changes of the incoming signal's size, if the driver supports that. */
static void listen_for_changes(const struct halo_camera *c)
{
    struct v4l2_event_subscription sub = {.type = V4L2_EVENT_SOURCE_CHANGE};
    halo_v4l2_call(c->fd, VIDIOC_SUBSCRIBE_EVENT, &sub);
}

static int make_pool(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    const struct halo_camera_mode *mode = &c->mode;
    if (mode->format->coded || !c->memory)
        return 0;
    c->pool = halo_picture_pool_create(c->memory, mode->format->as, mode->width, mode->height);
    return c->pool ? 0 : halo_camera_fail_as(c, fault, HALO_V4L2_MEMORY, -ENOMEM, "");
}

static int set_up(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    int code = check_device(c, fault);
    if (code >= 0)
        code = check_input(c, fault);
    if (code >= 0)
        listen_for_changes(c);
    if (code >= 0)
        code = halo_camera_set_all(c, fault);
    if (code >= 0)
        code = halo_camera_agree(c, fault);
    return code < 0 ? code : make_pool(c, fault);
}

static int open_device(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    c->fd = halo_v4l2_open(c->id.node);
    const int error = c->fd < 0 ? c->fd : halo_camera_is_still(&c->id) ? 0 : -ENODEV;
    return error < 0 ? halo_camera_fail(c, fault, HALO_V4L2_OPEN, error) : set_up(c, fault);
}

static int open_node(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    const int code = halo_camera_pipewire_open(c, fault);
    return code < 0 ? code : make_pool(c, fault);
}

int halo_camera_open(struct halo_camera **ret, const struct halo_camera_id *id,
                     const struct halo_capture_settings *settings, struct halo_memory *memory,
                     int wake, const struct halo_camera_fault *fault)
{
    struct halo_camera *c = av_mallocz(sizeof *c);
    *fault->trouble = HALO_V4L2_FINE;
    if (!c) {
        *fault->trouble = HALO_V4L2_MEMORY;
        return halo_fail(fault->err, -ENOMEM, "out of memory");
    }
    c->id = *id;
    c->settings = settings;
    c->memory = memory;
    c->wake = wake;
    const int code = halo_camera_pipewire_is(id) ? open_node(c, fault) : open_device(c, fault);
    if (code < 0)
        halo_camera_close(c);
    else
        *ret = c;
    return code;
}

void halo_camera_close(struct halo_camera *c)
{
    if (!c)
        return;
    if (halo_camera_pipewire_is(&c->id)) {
        halo_camera_pipewire_close(c);
    } else if (c->fd >= 0) {
        halo_camera_stop(c);
        close(c->fd);
    }
    halo_picture_pool_destroy(c->pool);
    av_free(c);
}

const struct halo_camera_mode *halo_camera_mode(const struct halo_camera *c)
{
    return &c->mode;
}

void halo_camera_counts(const struct halo_camera *c, struct halo_camera_counts *ret)
{
    *ret = c->counts;
}
