/* SPDX-License-Identifier: BSD-2-Clause
 * A camera (camera.h): opening and closing. */
#include "pipeline/camera/camera.h"

#include <errno.h>
#include <libavutil/common.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "pipeline/camera/camera_pipewire.h"
#include "pipeline/camera/camera_private.h"

/* ---- the format ---- */

enum {
    STEPS = 12,     /* most fallback steps */
    LEAST_RATE = 5, /* lowest rate that the fallback requests */
};

struct agreement {
    struct halo_camera_offered_mode *mode;
    int modes;
    const struct halo_camera_offered_mode *taken;
    const char *format; /* NULL: any */
    int width, height;
    double rate, ask; /* rate: requested by the settings; ask: requested in this step */
};

/* ---- which mode ---- */

static double short_of(const struct halo_camera_offered_mode *m, double rate)
{
    return m->rate <= 0 || m->rate >= 0.98 * rate ? 0 : rate - m->rate;
}

/* Smaller differences are better: first of the size, then of the rate, then the order of
 * formats. */
static bool is_better(const struct agreement *a, const struct halo_camera_offered_mode *x,
                      const struct halo_camera_offered_mode *y)
{
    const int far[2] = {abs(x->width - a->width) + abs(x->height - a->height),
                        abs(y->width - a->width) + abs(y->height - a->height)};
    const double slow[2] = {short_of(x, a->rate), short_of(y, a->rate)};
    if (far[0] != far[1])
        return far[0] < far[1];
    if (slow[0] < slow[1] || slow[0] > slow[1])
        return slow[0] < slow[1];
    return x->format < y->format;
}

static const struct halo_camera_offered_mode *choose(const struct agreement *a)
{
    const struct halo_camera_offered_mode *best = NULL;
    for (int i = 0; i < a->modes; i++)
        if ((!a->format || !strcmp(a->mode[i].format->name, a->format)) &&
            (!best || is_better(a, &a->mode[i], best)))
            best = &a->mode[i];
    return best;
}

/* The same size in a compressed format. */
static const struct halo_camera_offered_mode *coded(const struct agreement *a)
{
    for (int i = 0; i < a->modes && !a->format && !a->taken->format->coded; i++)
        if (a->mode[i].format->coded && a->mode[i].width == a->taken->width &&
            a->mode[i].height == a->taken->height)
            return &a->mode[i];
    return NULL;
}

static const struct halo_camera_offered_mode *smaller(const struct agreement *a)
{
    const struct halo_camera_offered_mode *best = NULL;
    for (int i = 0; i < a->modes; i++) {
        const struct halo_camera_offered_mode *m = &a->mode[i];
        if (m->format == a->taken->format && m->width <= a->taken->width &&
            m->height <= a->taken->height &&
            m->width * m->height < a->taken->width * a->taken->height &&
            (!best || m->width * m->height > best->width * best->height))
            best = m;
    }
    return best;
}

/* One fallback step; false: no further step is possible. */
static bool step_down(struct agreement *a, double rate)
{
    const struct halo_camera_offered_mode *next = coded(a);
    if (!next)
        next = smaller(a);
    if (next) {
        a->taken = next;
        return true;
    }
    a->ask = (rate > 0 ? rate : a->ask) / 2;
    return a->ask >= LEAST_RATE;
}

/* ---- with the driver ---- */

static void read_colours(struct halo_camera_mode *mode, uint32_t space, uint32_t enc,
                         uint32_t quant)
{
    if (enc == V4L2_YCBCR_ENC_DEFAULT)
        enc = V4L2_MAP_YCBCR_ENC_DEFAULT(space);
    if (quant == V4L2_QUANTIZATION_DEFAULT)
        quant = V4L2_MAP_QUANTIZATION_DEFAULT(0, space, enc);
    mode->range = quant == V4L2_QUANTIZATION_FULL_RANGE ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    mode->space = enc == V4L2_YCBCR_ENC_709         ? AVCOL_SPC_BT709
                  : enc == V4L2_YCBCR_ENC_BT2020    ? AVCOL_SPC_BT2020_NCL
                  : enc == V4L2_YCBCR_ENC_SMPTE240M ? AVCOL_SPC_SMPTE240M
                                                    : AVCOL_SPC_SMPTE170M;
}

/* The fewest bytes that a row can have in a memory of the frame. */
static uint32_t least_stride(const struct halo_camera *c, int memory)
{
    const uint32_t width = (uint32_t)c->mode.width;
    if (c->mode.format->bits == 16)
        return (width + 1) / 2 * 4;
    return memory > 0 && c->mode.format->as == AV_PIX_FMT_YUV420P ? (width + 1) / 2 : width;
}

/* Drivers of capture cards weave two fields into a frame, even if another field order is
 * requested. */
static bool has_fields(uint32_t field)
{
    return field == V4L2_FIELD_INTERLACED || field == V4L2_FIELD_INTERLACED_TB ||
           field == V4L2_FIELD_INTERLACED_BT;
}

static void read_format(struct halo_camera *c, const struct v4l2_format *f)
{
    struct halo_camera_mode *mode = &c->mode;
    const struct v4l2_pix_format *pix = &f->fmt.pix;
    const struct v4l2_pix_format_mplane *mp = &f->fmt.pix_mp;
    const bool planar = halo_camera_is_planar(c);
    c->fourcc = planar ? mp->pixelformat : pix->pixelformat;
    mode->format = halo_v4l2_format_of(c->fourcc);
    mode->width = (int)FFMIN(planar ? mp->width : pix->width, HALO_CAMERA_SIDE + 1);
    mode->height = (int)FFMIN(planar ? mp->height : pix->height, HALO_CAMERA_SIDE + 1);
    mode->interlaced = has_fields(planar ? mp->field : pix->field);
    c->memories = planar ? FFMIN(FFMAX(mp->num_planes, 1), HALO_CAMERA_PLANES) : 1;
    for (int i = 0; i < c->memories; i++)
        c->stride[i] = planar ? mp->plane_fmt[i].bytesperline : pix->bytesperline;
    read_colours(mode, planar ? mp->colorspace : pix->colorspace,
                 planar ? mp->ycbcr_enc : pix->ycbcr_enc,
                 planar ? mp->quantization : pix->quantization);
}

static int try_format(struct halo_camera *c, uint32_t fourcc,
                      const struct halo_camera_offered_mode *mode,
                      const struct halo_camera_fault *fault)
{
    struct v4l2_format f = {.type = c->type};
    if (halo_camera_is_planar(c)) {
        f.fmt.pix_mp.width = (unsigned)mode->width;
        f.fmt.pix_mp.height = (unsigned)mode->height;
        f.fmt.pix_mp.pixelformat = fourcc;
        f.fmt.pix_mp.field = V4L2_FIELD_NONE;
    } else {
        f.fmt.pix.width = (unsigned)mode->width;
        f.fmt.pix.height = (unsigned)mode->height;
        f.fmt.pix.pixelformat = fourcc;
        f.fmt.pix.field = V4L2_FIELD_NONE;
    }
    const int code = halo_camera_call(c, fault, HALO_V4L2_S_FMT, VIDIOC_S_FMT, &f);
    if (code >= 0)
        read_format(c, &f);
    return code;
}

static int fail_unfit(const struct halo_camera *c, const struct halo_camera_fault *fault,
                      const char *what)
{
    return halo_camera_fail_as(c, fault, HALO_V4L2_UNFIT, -ENOTSUP, what);
}

/* The driver's choice is accepted, as long as the format is one that was requested. */
static int set_format(struct halo_camera *c, const struct agreement *a,
                      const struct halo_camera_fault *fault)
{
    const struct halo_v4l2_format *format = a->taken->format;
    int code = try_format(c, format->fourcc, a->taken, fault);
    if (code >= 0 && c->mode.format != format && halo_camera_is_planar(c) && format->planar)
        code = try_format(c, format->planar, a->taken, fault);
    if (code < 0)
        return code;
    if (!c->mode.format || (a->format && strcmp(c->mode.format->name, a->format) != 0))
        return fail_unfit(c, fault, "the driver chose a format that was not requested");
    if (c->mode.width <= 0 || c->mode.height <= 0 || c->mode.width > HALO_CAMERA_SIDE ||
        c->mode.height > HALO_CAMERA_SIDE)
        return fail_unfit(c, fault, "the driver reports an invalid size");
    if (!halo_camera_fits(c))
        return fail_unfit(c, fault, "the driver uses fewer memory planes than the format needs");
    for (int i = 0; i < c->memories; i++)
        c->stride[i] = FFMAX(c->stride[i], least_stride(c, i));
    return 0;
}

static int set_rate(struct halo_camera *c, const struct agreement *a,
                    const struct halo_camera_fault *fault)
{
    const double most = a->taken->rate > 0 ? FFMIN(a->ask, a->taken->rate) : a->ask;
    struct v4l2_streamparm p = {.type = c->type};
    struct v4l2_fract *interval = &p.parm.capture.timeperframe;
    interval->numerator = 1000;
    interval->denominator = (unsigned)(most * 1000 + 0.5);
    c->mode.rate = a->taken->rate;
    const int code = halo_v4l2_call(c->fd, VIDIOC_S_PARM, &p);
    if (code < 0)
        return halo_v4l2_judge(HALO_V4L2_S_PARM, -code) == HALO_V4L2_FINE
                   ? 0
                   : halo_camera_fail(c, fault, HALO_V4L2_S_PARM, code);
    const double rate = halo_camera_rate(interval);
    if (rate > 0)
        c->mode.rate = rate;
    return 0;
}

/* One step. 0, or -errno; if the bus is full, the caller keeps only the trouble. */
static int try_step(struct halo_camera *c, const struct agreement *a,
                    const struct halo_camera_fault *fault)
{
    int code = set_format(c, a, fault);
    if (code >= 0)
        code = set_rate(c, a, fault);
    if (code >= 0)
        code = halo_camera_start(c, fault);
    if (code < 0)
        halo_camera_stop(c);
    return code;
}

static int descend(struct halo_camera *c, struct agreement *a,
                   const struct halo_camera_fault *fault)
{
    const struct halo_camera_offered_mode *wished = a->taken;
    struct halo_error first = {0};
    for (int step = 0;; step++) {
        struct halo_error err = {0};
        const struct halo_camera_fault one = {fault->trouble, &err};
        const int ret = try_step(c, a, &one);
        c->mode.step = step;
        c->mode.smaller = a->taken->width != wished->width || a->taken->height != wished->height;
        if (ret >= 0) {
            *fault->trouble = HALO_V4L2_FINE;
            return 0;
        }
        if (!first.code)
            first = err;
        if (*fault->trouble == HALO_V4L2_BANDWIDTH && step < STEPS && step_down(a, c->mode.rate))
            continue;
        return halo_fail(fault->err, ret, "%s",
                         *fault->trouble == HALO_V4L2_BANDWIDTH ? first.text : err.text);
    }
}

static void read_wishes(const struct halo_camera *c, struct agreement *a)
{
    const struct halo_capture_settings *set = c->settings;
    a->format = set->format > 0 ? halo_capture_formats[set->format] : NULL;
    halo_camera_wishes(set, &a->width, &a->height, &a->rate);
    a->ask = a->rate;
    if (!set->size && c->mode.width > 0 && c->mode.height > 0) { /* from an input with timings */
        a->width = c->mode.width;
        a->height = c->mode.height;
    }
}

/* Negotiates format, size and rate, sets up the buffers and starts streaming (STREAMON). If the USB
 * bus is full, falls back to modes that need less bandwidth. */
static int camera_agree(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    struct agreement a = {.mode = NULL};
    char what[80];
    read_wishes(c, &a);
    a.modes = halo_camera_modes(c->fd, c->type, a.width, a.height, &a.mode);
    if (a.modes < 0)
        return halo_camera_fail(c, fault, HALO_V4L2_ENUM, a.modes);
    a.taken = choose(&a);
    snprintf(what, sizeof what, "the camera has no format %s",
             a.format ? a.format : "that halod supports");
    const int code = a.taken ? descend(c, &a, fault) : fail_unfit(c, fault, what);
    free(a.mode);
    if (code >= 0)
        halo_log(c->mode.step > 0 ? HALO_LOG_WARNING : HALO_LOG_INFO,
                 "%s (%s): %s %dx%d, %.4g frames per second%s", c->id.node, c->id.name,
                 c->mode.format->name, c->mode.width, c->mode.height, c->mode.rate,
                 c->mode.step > 0 ? ": less than requested, because the USB bus is full" : "");
    return code;
}

/* ---- the camera ---- */

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

static int make_pool(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    const struct halo_camera_mode *mode = &c->mode;
    if (mode->format->coded || !c->memory)
        return 0;
    c->pool = halo_frame_pool_create(c->memory, mode->format->as, mode->width, mode->height);
    return c->pool ? 0 : halo_camera_fail_as(c, fault, HALO_V4L2_MEMORY, -ENOMEM, "");
}

static int set_up(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    int code = check_device(c, fault);
    if (code >= 0)
        code = check_input(c, fault);
    if (code >= 0) {
        /* Subscribes to changes of the incoming signal's size, if the driver supports that. */
        struct v4l2_event_subscription sub = {.type = V4L2_EVENT_SOURCE_CHANGE};
        halo_v4l2_call(c->fd, VIDIOC_SUBSCRIBE_EVENT, &sub);
    }
    if (code >= 0)
        code = halo_camera_set_all(c, fault);
    if (code >= 0)
        code = camera_agree(c, fault);
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
    halo_frame_pool_destroy(c->pool);
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
