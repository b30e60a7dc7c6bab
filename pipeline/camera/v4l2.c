/* SPDX-License-Identifier: BSD-2-Clause
 * V4L2: calls, the meaning of their errors, and the formats. */
#include "pipeline/camera/v4l2.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "pipeline/camera/camera_private.h"

#define TEXT_ABSENT "it will be opened when it appears; run 'halod devices' to list the cameras"
#define TEXT_DENIED "the user that halod runs as must be in the group 'video'"
#define TEXT_BUS                                                                                   \
    "not enough USB bandwidth (not a disk error): try another port or hub, format: mjpeg, a "      \
    "smaller size or rate, or, if the camera reserves too much bandwidth, uvcvideo's option "      \
    "quirks=128"

const struct halo_v4l2_state halo_v4l2_states[HALO_V4L2_TROUBLES] = {
    [HALO_V4L2_FINE] = {"fine", "", NULL, 0, 0},
    [HALO_V4L2_ABSENT] = {"absent", "no camera", TEXT_ABSENT, 0.25, 2},
    [HALO_V4L2_DENIED] = {"denied", "camera access denied", TEXT_DENIED, 0.5, 5},
    [HALO_V4L2_BUSY] = {"busy", "camera in use", "another program is using it: close that program",
                        0.25, 5},
    [HALO_V4L2_BANDWIDTH] = {"bandwidth", "USB bus is full", TEXT_BUS, 0.5, 5},
    [HALO_V4L2_STALLED] = {"stalled", "camera sends nothing", "the camera is reopened", 0.25, 5},
    [HALO_V4L2_BROKEN] = {"broken", "camera failed", "the camera is reopened", 0.25, 5},
    [HALO_V4L2_UNFIT] = {"unfit", "no usable camera", "run 'halod devices' to list the cameras",
                         0.5, 5},
    [HALO_V4L2_CHANGED] = {"changed", "camera has changed", "the camera is reopened", 0.05, 1},
    [HALO_V4L2_SIGNAL] = {"signal", "no signal",
                          "check the cable and the device that sends the signal", 0.25, 1},
    [HALO_V4L2_MEMORY] = {"memory", "out of memory", NULL, 0.5, 5},
};

static const char *const calls[HALO_V4L2_CALLS] = {
    [HALO_V4L2_OPEN] = "open",       [HALO_V4L2_QUERYCAP] = "QUERYCAP",
    [HALO_V4L2_ENUM] = "ENUM",       [HALO_V4L2_S_FMT] = "S_FMT",
    [HALO_V4L2_S_PARM] = "S_PARM",   [HALO_V4L2_S_CTRL] = "S_CTRL",
    [HALO_V4L2_REQBUFS] = "REQBUFS", [HALO_V4L2_QUERYBUF] = "QUERYBUF",
    [HALO_V4L2_QBUF] = "QBUF",       [HALO_V4L2_STREAMON] = "STREAMON",
    [HALO_V4L2_DQBUF] = "DQBUF",     [HALO_V4L2_STREAMOFF] = "STREAMOFF",
};

/* The meaning of EINVAL and similar errors, which differs between calls. */
static enum halo_v4l2_trouble judge_refusal(enum halo_v4l2_call call)
{
    switch (call) {
    case HALO_V4L2_ENUM:
        return HALO_V4L2_FINE;
    case HALO_V4L2_OPEN:
    case HALO_V4L2_QUERYCAP:
    case HALO_V4L2_S_FMT:
        return HALO_V4L2_UNFIT;
    case HALO_V4L2_DQBUF: /* the driver was detached from its device */
        return HALO_V4L2_ABSENT;
    default:
        return HALO_V4L2_BROKEN;
    }
}

static enum halo_v4l2_trouble judge_error(enum halo_v4l2_call call, int error)
{
    switch (error) {
    case 0:
        return HALO_V4L2_FINE;
    case ENOENT:
    case ENODEV:
    case ENXIO:
        return HALO_V4L2_ABSENT;
    case EACCES:
    case EPERM:
        return HALO_V4L2_DENIED;
    case EBUSY:
        return HALO_V4L2_BUSY;
    case ENOSPC:
        return call >= HALO_V4L2_S_FMT ? HALO_V4L2_BANDWIDTH : HALO_V4L2_BROKEN;
    case ETIMEDOUT:
        return HALO_V4L2_STALLED;
    case ENOLINK:
    case ENOLCK:
        return HALO_V4L2_SIGNAL;
    case ENOMEM:
        return HALO_V4L2_MEMORY;
    case EINVAL: /* what drivers do not support: it ends lists, and some have no rates at all */
    case ENOTTY:
    case ENODATA:
        return judge_refusal(call);
    default:
        return HALO_V4L2_BROKEN;
    }
}

enum halo_v4l2_trouble halo_v4l2_judge(enum halo_v4l2_call call, int error)
{
    const enum halo_v4l2_trouble trouble = judge_error(call, error);
    switch (call) {
    case HALO_V4L2_S_PARM: /* a refused rate or control costs no frame */
    case HALO_V4L2_S_CTRL:
        return trouble == HALO_V4L2_ABSENT ? trouble : HALO_V4L2_FINE;
    case HALO_V4L2_STREAMOFF: /* the device is closed in any case */
        return HALO_V4L2_FINE;
    default:
        return trouble;
    }
}

int halo_v4l2_fail(struct halo_error *err, enum halo_v4l2_trouble *ret, const char *path,
                   enum halo_v4l2_call call, int error)
{
    enum halo_v4l2_trouble trouble = halo_v4l2_judge(call, error);
    if (trouble == HALO_V4L2_FINE)
        trouble = HALO_V4L2_BROKEN;
    const struct halo_v4l2_state *state = &halo_v4l2_states[trouble];
    *ret = trouble;
    return halo_fail(err, -error, "%s: %s: %s: %s%s%s", path, state->words, calls[call],
                     strerror(error), state->advice ? "; " : "",
                     state->advice ? state->advice : "");
}

int halo_v4l2_open(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

int halo_v4l2_call(int fd, unsigned long request, void *argument)
{
    int code;
    do
        code = ioctl(fd, request, argument);
    while (code < 0 && errno == EINTR);
    return code < 0 ? -errno : 0;
}

uint32_t halo_v4l2_caps(const struct v4l2_capability *cap)
{
    return cap->capabilities & V4L2_CAP_DEVICE_CAPS ? cap->device_caps : cap->capabilities;
}

/* 4:2:0 comes before 4:2:2, because every viewer can decode encodings of it. Gray is used only if
 * the camera has no colour. */
const struct halo_v4l2_format halo_v4l2_formats[] = {
    {V4L2_PIX_FMT_YUV420, V4L2_PIX_FMT_YUV420M, "yu12", AV_PIX_FMT_YUV420P, false, 12},
    {V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_NV12M, "nv12", AV_PIX_FMT_NV12, false, 12},
    {V4L2_PIX_FMT_YUYV, 0, "yuyv", AV_PIX_FMT_YUV422P, false, 16},
    {V4L2_PIX_FMT_UYVY, 0, "uyvy", AV_PIX_FMT_YUV422P, false, 16},
    {V4L2_PIX_FMT_MJPEG, 0, "mjpeg", AV_PIX_FMT_NONE, true, 0},
    {V4L2_PIX_FMT_JPEG, 0, "mjpeg", AV_PIX_FMT_NONE, true, 0},
    {V4L2_PIX_FMT_GREY, 0, "grey", AV_PIX_FMT_GRAY8, false, 8},
    {0, 0, NULL, AV_PIX_FMT_NONE, false, 0},
};

const struct halo_v4l2_format *halo_v4l2_format_of(uint32_t fourcc)
{
    for (const struct halo_v4l2_format *f = halo_v4l2_formats; f->fourcc; f++)
        if (fourcc == f->fourcc || (fourcc && fourcc == f->planar))
            return f;
    return NULL;
}

/* ---- an open camera ---- */

int halo_camera_fail(const struct halo_camera *c, const struct halo_camera_fault *fault,
                     enum halo_v4l2_call call, int error)
{
    return halo_v4l2_fail(fault->err, fault->trouble, c->id.node, call, abs(error));
}

int halo_camera_call(const struct halo_camera *c, const struct halo_camera_fault *fault,
                     enum halo_v4l2_call call, unsigned long request, void *argument)
{
    const int code = halo_v4l2_call(c->fd, request, argument);
    return code < 0 && halo_v4l2_judge(call, -code) != HALO_V4L2_FINE
               ? halo_camera_fail(c, fault, call, code)
               : 0;
}

int halo_camera_fail_as(const struct halo_camera *c, const struct halo_camera_fault *fault,
                        enum halo_v4l2_trouble trouble, int code, const char *what)
{
    const struct halo_v4l2_state *state = &halo_v4l2_states[trouble];
    *fault->trouble = trouble;
    return halo_fail(fault->err, code, "%s: %s%s%s%s%s", c->id.node, state->words,
                     *what ? ": " : "", what, state->advice ? "; " : "",
                     state->advice ? state->advice : "");
}
