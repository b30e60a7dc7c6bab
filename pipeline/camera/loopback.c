/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera (loopback.h). */
#include "pipeline/camera/loopback.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/clock.h"

enum {
    /* v4l2loopback 0.13 and later report with this event whether a program streams from the
     * device. */
    USAGE = V4L2_EVENT_PRIVATE_START + 0x08E00000 + 1,
    MAX_EVENTS = 64, /* at once */
};

static const int64_t ASK_ANEW = INT64_C(5000000000); /* ns: events may get lost */

struct halo_loopback {
    int fd;
    char *path;
    struct halo_loopback_mode mode;
    size_t size;
    int readers; /* -ENOTSUP: the device does not report them */
    int64_t asked;
};

/* How to report a failure of the device. */
struct fault {
    const char *path;
    enum halo_v4l2_trouble *trouble;
    struct halo_error *err;
};

static const char *advice_of(enum halo_v4l2_trouble trouble)
{
    switch (trouble) {
    case HALO_V4L2_ABSENT:
        return "; it will be used when it appears; haloctl doctor explains how to create it";
    case HALO_V4L2_DENIED:
        return "; the user that halod runs as must be in the group 'video'";
    case HALO_V4L2_BUSY:
        return "; another program writes to it, or holds it open with another format: close that "
               "program";
    case HALO_V4L2_UNFIT:
        return "; a v4l2loopback device is needed; haloctl doctor explains how to create one";
    default:
        return "";
    }
}

static int fail_as(const struct fault *f, enum halo_v4l2_trouble trouble, int code,
                   const char *what)
{
    *f->trouble = trouble;
    return halo_fail(f->err, code, "%s: %s%s", f->path, what, advice_of(trouble));
}

/* error is negative. */
static int fail(const struct fault *f, enum halo_v4l2_call call, int error, const char *what)
{
    char text[200];
    enum halo_v4l2_trouble trouble = halo_v4l2_judge(call, -error);
    snprintf(text, sizeof text, "%s: %s", what, strerror(-error));
    return fail_as(f, trouble == HALO_V4L2_FINE ? HALO_V4L2_BROKEN : trouble, error, text);
}

/* ---- open ---- */

static int check_device(const struct halo_loopback *l, const struct fault *f)
{
    struct v4l2_capability cap = {.capabilities = 0};
    const int code = halo_v4l2_call(l->fd, VIDIOC_QUERYCAP, &cap);
    if (code < 0)
        return fail(f, HALO_V4L2_QUERYCAP, code, "this is not a video device");
    cap.driver[sizeof cap.driver - 1] = '\0';
    if (strcmp((const char *)cap.driver, "v4l2 loopback") != 0)
        return fail_as(f, HALO_V4L2_UNFIT, -ENOTSUP, "this is not a virtual camera");
    /* With exclusive_caps=1 it is an output until a program writes to it, then a camera. */
    const uint32_t caps = halo_v4l2_caps(&cap);
    if (caps & V4L2_CAP_VIDEO_OUTPUT)
        return 0;
    if (caps & V4L2_CAP_VIDEO_CAPTURE)
        return fail_as(f, HALO_V4L2_BUSY, -EBUSY, "the device does not accept frames now");
    /* v4l2loopback 0.12.7 loses its capabilities if a writer leaves after a second program tried to
     * write. */
    *f->trouble = HALO_V4L2_BUSY;
    return halo_fail(
        f->err, -EBUSY,
        "%s: the device neither accepts nor delivers frames: close all programs that use it; then, "
        "as root, unload v4l2loopback (modprobe -r v4l2loopback) and load it again with the same "
        "options",
        f->path);
}

static bool is_agreed(const struct v4l2_pix_format *pix, const struct halo_loopback *l)
{
    return pix->pixelformat == l->mode.format->fourcc && (int)pix->width == l->mode.width &&
           (int)pix->height == l->mode.height;
}

size_t halo_loopback_size(const struct halo_loopback_mode *mode)
{
    return (size_t)mode->width * (size_t)mode->height * (size_t)mode->format->bits / 8;
}

/* Returns whether rows have no padding. v4l2loopback 0.12.7 reports the size of its buffer in whole
 * pages. */
static bool is_as_expected(const struct v4l2_pix_format *pix, const struct halo_loopback_mode *mode)
{
    const size_t size = halo_loopback_size(mode), more = pix->sizeimage - size;
    const unsigned row = (unsigned)mode->width * (mode->format->bits == 16 ? 2 : 1);
    if (mode->format->coded)
        return pix->sizeimage > 0;
    return pix->sizeimage >= size && more < (size_t)sysconf(_SC_PAGESIZE) &&
           pix->bytesperline == row;
}

static int set_format(struct halo_loopback *l, const struct fault *f)
{
    const struct halo_loopback_mode *mode = &l->mode;
    struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
    struct v4l2_pix_format *pix = &format.fmt.pix;
    pix->width = (unsigned)mode->width;
    pix->height = (unsigned)mode->height;
    pix->pixelformat = mode->format->fourcc;
    pix->field = V4L2_FIELD_NONE;
    pix->colorspace = mode->format->coded ? V4L2_COLORSPACE_JPEG : V4L2_COLORSPACE_SRGB;
    const int code = halo_v4l2_call(l->fd, VIDIOC_S_FMT, &format);
    if (code < 0)
        return fail(f, HALO_V4L2_S_FMT, code, "S_FMT");
    /* The program that opened it first, or keep_format, determines the format. */
    if (!is_agreed(pix, l))
        return fail_as(f, HALO_V4L2_BUSY, -EBUSY,
                       "another program has set the device to another format or size");
    l->size = mode->format->coded ? pix->sizeimage : halo_loopback_size(mode);
    if (!is_as_expected(pix, mode))
        return fail_as(f, HALO_V4L2_UNFIT, -ENOTSUP,
                       "the layout of the device's frames is unknown");
    return 0;
}

static void set_rate(const struct halo_loopback *l)
{
    struct v4l2_streamparm parm = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
    parm.parm.output.capability = V4L2_CAP_TIMEPERFRAME;
    parm.parm.output.timeperframe.numerator = 1000;
    parm.parm.output.timeperframe.denominator = (unsigned)(l->mode.rate * 1000 + 0.5);
    (void)halo_v4l2_call(l->fd, VIDIOC_S_PARM, &parm); /* only informs readers */
}

/* The first event reports the current state. */
static void ask_for_readers(struct halo_loopback *l)
{
    struct v4l2_event_subscription sub = {.type = USAGE, .flags = V4L2_EVENT_SUB_FL_SEND_INITIAL};
    l->asked = halo_now_ns();
    (void)halo_v4l2_call(l->fd, VIDIOC_UNSUBSCRIBE_EVENT, &sub);
    if (halo_v4l2_call(l->fd, VIDIOC_SUBSCRIBE_EVENT, &sub) < 0)
        l->readers = -ENOTSUP;
    else if (l->readers < 0)
        l->readers = 1; /* until it reports otherwise */
}

static int set_up(struct halo_loopback *l, const struct fault *f)
{
    l->fd = halo_v4l2_open(l->path);
    if (l->fd < 0)
        return fail(f, HALO_V4L2_OPEN, l->fd, "the device cannot be opened");
    int code = check_device(l, f);
    if (code >= 0)
        code = set_format(l, f);
    if (code < 0)
        return code;
    set_rate(l);
    ask_for_readers(l);
    return 0;
}

int halo_loopback_open(struct halo_loopback **ret, const char *path,
                       const struct halo_loopback_mode *mode, enum halo_v4l2_trouble *ret_trouble,
                       struct halo_error *err)
{
    const struct fault fault = {path, ret_trouble, err};
    struct halo_loopback *l = calloc(1, sizeof *l);
    if (!l || !(l->path = strdup(path))) {
        free(l);
        return fail_as(&fault, HALO_V4L2_MEMORY, -ENOMEM, "out of memory");
    }
    l->mode = *mode;
    l->readers = -ENOTSUP;
    const int code = set_up(l, &fault);
    if (code < 0) {
        halo_loopback_close(l);
        return code;
    }
    *ret = l;
    return 0;
}

void halo_loopback_close(struct halo_loopback *l)
{
    if (!l)
        return;
    if (l->fd >= 0)
        close(l->fd);
    free(l->path);
    free(l);
}

/* ---- frames ---- */

int halo_loopback_write(struct halo_loopback *l, const void *frame, size_t size,
                        enum halo_v4l2_trouble *ret_trouble, struct halo_error *err)
{
    const struct fault fault = {l->path, ret_trouble, err};
    ssize_t n;
    if (size > l->size || (!l->mode.format->coded && size != l->size))
        return -EAGAIN;
    do
        n = write(l->fd, frame, size);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)size)
        return 0;
    if (n < 0 && errno == EAGAIN)
        return -EAGAIN;
    return fail(&fault, HALO_V4L2_QBUF, n < 0 ? -errno : -EIO, "the device cannot be written to");
}

/* ---- readers ---- */

int halo_loopback_readers(struct halo_loopback *l)
{
    struct v4l2_event event;
    if (l->readers < 0)
        return l->readers;
    if (halo_now_ns() - l->asked > ASK_ANEW)
        ask_for_readers(l);
    for (int i = 0; i < MAX_EVENTS && halo_v4l2_call(l->fd, VIDIOC_DQEVENT, &event) == 0; i++) {
        uint32_t count;
        memcpy(&count, event.u.data, sizeof count);
        if (event.type == USAGE)
            l->readers = count > 0;
    }
    return l->readers;
}
