/* SPDX-License-Identifier: BSD-2-Clause
 * What a video node offers, for the list of devices. */
#include <errno.h>
#include <libavutil/common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/camera/camera_pipewire.h"
#include "pipeline/camera/camera_private.h"

static void copy_text(char *ret, size_t size, const void *text, size_t length)
{
    snprintf(ret, size, "%.*s", (int)length, (const char *)text);
    halo_sanitise(ret);
}

/* The control's value; 0 if it cannot be read. */
static int64_t value_of(int fd, uint32_t id)
{
    struct v4l2_control control = {.id = id};
    return halo_v4l2_call(fd, VIDIOC_G_CTRL, &control) < 0 ? 0 : control.value;
}

static int ask_controls(int fd, struct halo_camera_offer *ret)
{
    struct v4l2_queryctrl q = {.id = 0};
    ret->control = calloc(HALO_CAMERA_CONTROLS, sizeof *ret->control);
    if (!ret->control)
        return -ENOMEM;
    for (int i = 0; i < HALO_CAMERA_CONTROLS && halo_camera_next_control(fd, &q) == 0; i++) {
        struct halo_camera_control_offer *control = &ret->control[ret->controls];
        if (q.type != V4L2_CTRL_TYPE_INTEGER && q.type != V4L2_CTRL_TYPE_BOOLEAN &&
            q.type != V4L2_CTRL_TYPE_MENU && q.type != V4L2_CTRL_TYPE_INTEGER_MENU)
            continue;
        halo_camera_control_name((const char *)q.name, control->name, sizeof control->name);
        control->least = q.minimum;
        control->most = q.maximum;
        control->step = q.step;
        control->value = value_of(fd, q.id);
        ret->controls++;
    }
    return 0;
}

static int ask_modes(int fd, uint32_t type, struct halo_camera_offer *ret, struct halo_error *err)
{
    const struct halo_capture_settings none = {.size = NULL};
    int width, height;
    double rate;
    halo_camera_wishes(&none, &width, &height, &rate);
    const int code = halo_camera_modes(fd, type, width, height, &ret->mode);
    if (code < 0)
        return halo_v4l2_fail(err, &ret->trouble, ret->id.node, HALO_V4L2_ENUM, -code);
    ret->modes = code;
    return 0;
}

static int ask_open(int fd, struct halo_camera_offer *ret, struct halo_error *err)
{
    struct v4l2_capability cap;
    int code = halo_v4l2_call(fd, VIDIOC_QUERYCAP, &cap);
    if (code < 0)
        return halo_v4l2_fail(err, &ret->trouble, ret->id.node, HALO_V4L2_QUERYCAP, -code);
    const uint32_t caps = halo_v4l2_caps(&cap), type = halo_camera_queue(caps);
    copy_text(ret->id.driver, sizeof ret->id.driver, cap.driver, sizeof cap.driver);
    if (!ret->id.name[0])
        copy_text(ret->id.name, sizeof ret->id.name, cap.card, sizeof cap.card);
    ret->capture = type;
    ret->output = caps & (V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_VIDEO_OUTPUT_MPLANE);
    ret->loopback = !strcmp(ret->id.driver, "v4l2 loopback");
    if (type && (code = ask_modes(fd, type, ret, err)) < 0)
        return code;
    return ask_controls(fd, ret) < 0 ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}

int halo_camera_ask(struct halo_camera_offer *ret, const struct halo_camera_id *id,
                    struct halo_error *err)
{
    *ret = (struct halo_camera_offer){.id = *id};
    if (halo_camera_pipewire_is(id))
        return halo_camera_pipewire_ask(ret, err);
    const int fd = halo_v4l2_open(id->node);
    if (fd < 0)
        return halo_v4l2_fail(err, &ret->trouble, id->node, HALO_V4L2_OPEN, -fd);
    const int code = ask_open(fd, ret, err);
    close(fd);
    return code;
}

void halo_camera_offer_finish(struct halo_camera_offer *offer)
{
    free(offer->mode);
    free(offer->control);
    *offer = (struct halo_camera_offer){.modes = 0};
}
