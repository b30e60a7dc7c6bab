/* SPDX-License-Identifier: BSD-2-Clause
 * What the driver of a camera that is played (v4l2.h) answers: 0 or an errno. */
#include <errno.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/standin/v4l2_private.h"

static bool is_planar(const struct standin_camera *c)
{
    return c->planar > 0;
}

/* Memories of a picture, and bytes of each. */
static int memories(const struct standin_camera *c, size_t *ret)
{
    const size_t pixels = (size_t)c->now.width * (size_t)c->now.height;
    const bool nv12 = c->now.fourcc == V4L2_PIX_FMT_NV12,
               yu12 = c->now.fourcc == V4L2_PIX_FMT_YUV420;
    ret[0] = c->size;
    if (c->planar < 2 || (!nv12 && !yu12))
        return 1;
    ret[0] = pixels;
    ret[1] = nv12 ? pixels / 2 : pixels / 4;
    ret[2] = pixels / 4;
    return nv12 ? 2 : 3;
}

static int query_cap(struct standin_camera *c, struct v4l2_capability *a)
{
    memset(a, 0, sizeof *a);
    snprintf((char *)a->driver, sizeof a->driver, "standin");
    snprintf((char *)a->card, sizeof a->card, "Played %.20s", c->name);
    a->device_caps = V4L2_CAP_STREAMING |
                     (is_planar(c) ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE);
    a->capabilities = a->device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

static int enum_fmt(struct standin_camera *c, struct v4l2_fmtdesc *a)
{
    unsigned found = 0;
    for (int i = 0; i < c->modes; i++) {
        if (i > 0 && c->mode[i].fourcc == c->mode[i - 1].fourcc)
            continue;
        if (found++ != a->index)
            continue;
        a->pixelformat = c->mode[i].fourcc;
        return 0;
    }
    return EINVAL;
}

static int enum_sizes(struct standin_camera *c, struct v4l2_frmsizeenum *a)
{
    unsigned found = 0;
    for (int i = 0; i < c->modes; i++)
        if (c->mode[i].fourcc == a->pixel_format && found++ == a->index) {
            a->type = V4L2_FRMSIZE_TYPE_DISCRETE;
            a->discrete.width = (unsigned)c->mode[i].width;
            a->discrete.height = (unsigned)c->mode[i].height;
            return 0;
        }
    return EINVAL;
}

static struct mode *find_mode(struct standin_camera *c, uint32_t fourcc, unsigned w, unsigned h)
{
    struct mode *same = NULL;
    for (int i = 0; i < c->modes; i++) {
        struct mode *m = &c->mode[i];
        if (m->fourcc == fourcc && (unsigned)m->width == w && (unsigned)m->height == h)
            return m;
        if (m->fourcc == fourcc && !same)
            same = m;
    }
    return same ? same : &c->mode[0];
}

static int enum_rates(struct standin_camera *c, struct v4l2_frmivalenum *a)
{
    const struct mode *m = find_mode(c, a->pixel_format, a->width, a->height);
    if (a->index > 0 || (unsigned)m->width != a->width)
        return EINVAL;
    a->type = V4L2_FRMIVAL_TYPE_DISCRETE;
    a->discrete = (struct v4l2_fract){1000, (unsigned)(m->rate * 1000)};
    return 0;
}

static int set_fmt(struct standin_camera *c, struct v4l2_format *a)
{
    struct v4l2_pix_format *p = &a->fmt.pix;
    struct v4l2_pix_format_mplane *mp = &a->fmt.pix_mp;
    size_t size[PLANES];
    if (c->buffers > 0)
        return EBUSY;
    const bool planar = is_planar(c);
    uint32_t fourcc = planar ? mp->pixelformat : p->pixelformat;
    const bool apart = fourcc == V4L2_PIX_FMT_NV12M || fourcc == V4L2_PIX_FMT_YUV420M;
    if (fourcc == V4L2_PIX_FMT_NV12M)
        fourcc = V4L2_PIX_FMT_NV12;
    if (fourcc == V4L2_PIX_FMT_YUV420M)
        fourcc = V4L2_PIX_FMT_YUV420;
    c->now = *find_mode(c, fourcc, planar ? mp->width : p->width, planar ? mp->height : p->height);
    c->size = (size_t)(c->now.fourcc == V4L2_PIX_FMT_MJPEG ? standin_bytes(&c->now) * 8 + 65536
                                                           : standin_bytes(&c->now));
    const bool pairs = c->now.fourcc == V4L2_PIX_FMT_YUYV || c->now.fourcc == V4L2_PIX_FMT_UYVY;
    const unsigned stride = (unsigned)c->now.width * (pairs ? 2 : 1);
    if (!planar) {
        *p = (struct v4l2_pix_format){.width = (unsigned)c->now.width,
                                      .height = (unsigned)c->now.height,
                                      .pixelformat = c->now.fourcc,
                                      .field = (uint32_t)standin_number(c, "field"),
                                      .bytesperline = standin_lies(c, "stride") ? 1 : stride,
                                      .sizeimage = (unsigned)c->size,
                                      .colorspace = V4L2_COLORSPACE_SRGB};
        return 0;
    }
    if (c->planar == 2 && !apart) /* it has them apart only */
        c->now.fourcc = c->now.fourcc == V4L2_PIX_FMT_NV12 ? V4L2_PIX_FMT_GREY : c->now.fourcc;
    mp->width = (unsigned)c->now.width;
    mp->height = (unsigned)c->now.height;
    mp->pixelformat = apart ? mp->pixelformat : c->now.fourcc;
    mp->num_planes = (uint8_t)(memories(c, size) - standin_lies(c, "planes"));
    for (int i = 0; i < mp->num_planes; i++) {
        mp->plane_fmt[i].bytesperline =
            i && c->now.fourcc == V4L2_PIX_FMT_YUV420 ? stride / 2 : stride;
        mp->plane_fmt[i].sizeimage = (unsigned)size[i];
    }
    return 0;
}

static int request(struct standin_camera *c, struct v4l2_requestbuffers *a)
{
    standin_drop_buffers(c);
    if (!a->count)
        return 0;
    a->count = a->count > BUFFERS ? BUFFERS : a->count;
    c->buffers = (int)a->count;
    c->memory = memfd_create("standin", MFD_CLOEXEC);
    c->size = (c->size + 4095) / 4096 * 4096;
    if (ftruncate(c->memory, (off_t)(c->size * a->count)) < 0)
        return ENOMEM;
    c->view = standin_real_mmap(NULL, c->size * a->count, PROT_READ | PROT_WRITE, MAP_SHARED,
                                c->memory, 0);
    return 0;
}

static int query(struct standin_camera *c, struct v4l2_buffer *a)
{
    size_t size[PLANES];
    if (a->index >= (unsigned)c->buffers)
        return EINVAL;
    const int count = memories(c, size);
    const unsigned at = (unsigned)(a->index * c->size);
    if (!is_planar(c)) {
        a->length = (unsigned)c->size;
        a->m.offset = at;
        return 0;
    }
    a->length = (unsigned)count;
    for (int i = 0; i < count; i++) { /* all see the whole: mappings begin at pages */
        a->m.planes[i].length = (unsigned)c->size;
        a->m.planes[i].m.mem_offset = at;
    }
    return 0;
}

static int give(struct standin_camera *c, const struct v4l2_buffer *a)
{
    if (a->index >= (unsigned)c->buffers || c->buffer[a->index].queued || c->buffer[a->index].ready)
        return EINVAL;
    c->buffer[a->index].queued = true;
    return 0;
}

static void set_time(struct standin_camera *c, struct v4l2_buffer *a, const struct buffer *b)
{
    const int clock = (int)standin_number(c, "clock");
    a->timestamp = (struct timeval){b->at.tv_sec, b->at.tv_nsec / 1000};
    a->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    if (clock == 1) {
        a->flags = V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN;
        a->timestamp.tv_sec = 5;
    }
    if (clock == 2)
        a->timestamp.tv_sec -= b->sequence % 3;
    if (clock == 3)
        a->timestamp = b->sequence % 2 ? (struct timeval){INT64_MAX, INT64_MAX}
                                       : (struct timeval){INT64_MIN, INT64_MIN};
}

static int take(struct standin_camera *c, struct v4l2_buffer *a)
{
    char byte;
    if (!c->streaming)
        return EINVAL;
    if (c->ready == 0)
        return EAGAIN;
    recv(c->fd, &byte, 1, MSG_DONTWAIT);
    const int index = c->order[0];
    memmove(c->order, c->order + 1, sizeof *c->order * (size_t)--c->ready);
    struct buffer *b = &c->buffer[index];
    b->ready = false;
    a->index = (unsigned)index;
    a->sequence = b->sequence;
    set_time(c, a, b);
    size_t used = b->used, size[PLANES];
    if (standin_number(c, "error") > 0)
        a->flags |= V4L2_BUF_FLAG_ERROR;
    if (standin_number(c, "short") > 0)
        used /= 2;
    if (standin_lies(c, "index"))
        a->index = 1000;
    a->bytesused = standin_lies(c, "used") ? UINT32_MAX : (unsigned)used;
    if (!is_planar(c))
        return 0;
    const int count = memories(c, size);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        a->m.planes[i].data_offset = (unsigned)at;
        a->m.planes[i].bytesused = count > 1 ? (unsigned)(at + size[i]) : a->bytesused;
        at += size[i];
    }
    return 0;
}

static int start(struct standin_camera *c)
{
    const double room = standin_number(c, "room");
    const bool full = room > 0 && standin_bytes(&c->now) * c->now.rate > room;
    standin_note(c, "STREAMON", full ? ENOSPC : 0);
    c->streaming = !full;
    pthread_cond_broadcast(&c->wake);
    return full ? ENOSPC : 0;
}

static int set_parm(struct standin_camera *c, struct v4l2_streamparm *a)
{
    struct v4l2_fract *f = &a->parm.capture.timeperframe;
    char text[64];
    if (f->numerator && f->denominator)
        c->now.rate = (double)f->denominator / f->numerator;
    if (standin_ordered(c, "interval", text, sizeof text))
        sscanf(text, "%u/%u", &f->numerator, &f->denominator);
    return 0;
}

/* The index-th control that it is told to have. */
static bool control_at(struct standin_camera *c, unsigned index, struct v4l2_queryctrl *ret)
{
    char text[TEXT], *rest, name[33];
    int least, most, step, value;
    if (!standin_ordered(c, "controls", text, sizeof text))
        return false;
    char *one = strtok_r(text, ",", &rest);
    while (one && index--)
        one = strtok_r(NULL, ",", &rest);
    if (!one || sscanf(one, "%32[^:]:%d:%d:%d:%d", name, &least, &most, &step, &value) != 5)
        return false;
    *ret = (struct v4l2_queryctrl){.type = V4L2_CTRL_TYPE_INTEGER,
                                   .minimum = least,
                                   .maximum = most,
                                   .step = step,
                                   .default_value = value};
    memcpy(ret->name, name, strnlen(name, sizeof ret->name - 1));
    return true;
}

static int query_control(struct standin_camera *c, struct v4l2_queryctrl *a)
{
    const uint32_t wanted = a->id & ~(uint32_t)V4L2_CTRL_FLAG_NEXT_CTRL;
    const bool next = a->id & V4L2_CTRL_FLAG_NEXT_CTRL;
    if (standin_lies(c, "controls")) {
        a->flags = V4L2_CTRL_FLAG_DISABLED;
        return 0;
    }
    const uint32_t id = next ? (wanted < V4L2_CID_BASE ? V4L2_CID_BASE : wanted + 1) : wanted;
    if (id < V4L2_CID_BASE || !control_at(c, id - V4L2_CID_BASE, a))
        return EINVAL;
    a->id = id;
    return 0;
}

static int set_control(struct standin_camera *c, const struct v4l2_control *a)
{
    standin_note(c, "S_CTRL", a->value);
    c->control = a->value;
    return 0;
}

static int take_event(struct standin_camera *c, struct v4l2_event *a)
{
    char byte;
    const int change = (int)standin_number(c, "change");
    memset(a, 0, sizeof *a);
    a->pending = change == 2;
    if (change == 2)
        return 0;
    if (!change || c->changed)
        return ENOENT;
    c->changed = true;
    recv(c->fd, &byte, 1, MSG_OOB | MSG_DONTWAIT);
    a->type = V4L2_EVENT_SOURCE_CHANGE;
    a->u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
    return 0;
}

static int input(struct standin_camera *c, unsigned long call, void *a)
{
    char text[64];
    unsigned width = 0, height = 0;
    if (!standin_ordered(c, "timings", text, sizeof text))
        return ENOTTY;
    if (call == VIDIOC_ENUMINPUT)
        ((struct v4l2_input *)a)->capabilities = V4L2_IN_CAP_DV_TIMINGS;
    if (call == VIDIOC_QUERY_DV_TIMINGS && sscanf(text, "%ux%u", &width, &height) == 2) {
        struct v4l2_dv_timings *timings = a;
        timings->bt.width = width;
        timings->bt.height = height;
    }
    return 0;
}

static int answer(struct standin_camera *c, unsigned long call, void *a)
{
    switch (call) {
    case VIDIOC_QUERYCAP:
        return query_cap(c, a);
    case VIDIOC_ENUM_FMT:
        return enum_fmt(c, a);
    case VIDIOC_ENUM_FRAMESIZES:
        return enum_sizes(c, a);
    case VIDIOC_ENUM_FRAMEINTERVALS:
        return enum_rates(c, a);
    case VIDIOC_S_FMT:
        return set_fmt(c, a);
    case VIDIOC_S_PARM:
        return set_parm(c, a);
    case VIDIOC_REQBUFS:
        return request(c, a);
    case VIDIOC_QUERYBUF:
        return query(c, a);
    case VIDIOC_QBUF:
        return give(c, a);
    case VIDIOC_DQBUF:
        return take(c, a);
    case VIDIOC_STREAMON:
        return start(c);
    case VIDIOC_STREAMOFF:
        c->streaming = false;
        return 0;
    case VIDIOC_G_INPUT:
    case VIDIOC_ENUMINPUT:
    case VIDIOC_QUERY_DV_TIMINGS:
    case VIDIOC_S_DV_TIMINGS:
        return input(c, call, a);
    case VIDIOC_QUERYCTRL:
        return query_control(c, a);
    case VIDIOC_G_CTRL:
        ((struct v4l2_control *)a)->value = c->control;
        return 0;
    case VIDIOC_S_CTRL:
        return set_control(c, a);
    case VIDIOC_SUBSCRIBE_EVENT:
        return 0;
    case VIDIOC_DQEVENT:
        return take_event(c, a);
    default:
        return ENOTTY;
    }
}

/* Names as faults have them. */
static const char *name_of(unsigned long call)
{
    static const struct {
        unsigned long call;
        const char *name;
    } known[] = {
        {VIDIOC_QUERYCAP, "QUERYCAP"},   {VIDIOC_ENUM_FMT, "ENUM"},
        {VIDIOC_S_FMT, "S_FMT"},         {VIDIOC_S_PARM, "S_PARM"},
        {VIDIOC_S_CTRL, "S_CTRL"},       {VIDIOC_REQBUFS, "REQBUFS"},
        {VIDIOC_QUERYBUF, "QUERYBUF"},   {VIDIOC_QBUF, "QBUF"},
        {VIDIOC_STREAMON, "STREAMON"},   {VIDIOC_DQBUF, "DQBUF"},
        {VIDIOC_STREAMOFF, "STREAMOFF"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].call == call)
            return known[i].name;
    return "";
}

int standin_camera_ioctl(struct standin_camera *c, unsigned long call, void *argument)
{
    pthread_mutex_lock(&c->lock);
    int error = standin_number(c, "gone") > 0 ? ENODEV : standin_fault(c, name_of(call));
    if (!error)
        error = answer(c, call, argument);
    pthread_mutex_unlock(&c->lock);
    errno = error;
    return error ? -1 : 0;
}
