/* SPDX-License-Identifier: BSD-2-Clause
 * The formats, sizes and rates that a camera lists. */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/camera/camera_private.h"

enum {
    MAX_FORMATS = 64, /* limits, for drivers whose lists do not end */
    MAX_SIZES = 256,
    MAX_RATES = 64,
    MAX_RATE = 10000, /* frames per second */
};

static const double LEAST_RATE = 0.001;

struct modes {
    int fd;
    int want_width, want_height;
    struct halo_camera_offered_mode *list;
    int count;
};

static int enumerate(int fd, unsigned long request, void *argument)
{
    const int code = halo_v4l2_call(fd, request, argument);
    return code < 0 && halo_v4l2_judge(HALO_V4L2_ENUM, -code) == HALO_V4L2_FINE ? 1 : code;
}

double halo_camera_rate(const struct v4l2_fract *interval)
{
    const double rate =
        interval->numerator > 0 ? (double)interval->denominator / interval->numerator : 0;
    return rate >= LEAST_RATE && rate <= MAX_RATE ? rate : 0;
}

/* Finds the highest rate; 0: unknown. */
static int find_rate(int fd, uint32_t fourcc, int width, int height, double *ret)
{
    *ret = 0;
    for (unsigned i = 0; i < MAX_RATES; i++) {
        struct v4l2_frmivalenum e = {.index = i,
                                     .pixel_format = fourcc,
                                     .width = (unsigned)width,
                                     .height = (unsigned)height};
        const int code = enumerate(fd, VIDIOC_ENUM_FRAMEINTERVALS, &e);
        if (code < 0)
            return code;
        if (code > 0)
            return 0;
        const bool discrete = e.type == V4L2_FRMIVAL_TYPE_DISCRETE;
        const double rate = halo_camera_rate(discrete ? &e.discrete : &e.stepwise.min);
        *ret = rate > *ret ? rate : *ret;
        if (!discrete)
            return 0;
    }
    return 0;
}

static int add(struct modes *m, uint32_t fourcc, unsigned width, unsigned height)
{
    double rate;
    if (m->count == HALO_CAMERA_MODES || !width || !height || width > HALO_CAMERA_SIDE ||
        height > HALO_CAMERA_SIDE)
        return 0;
    const int code = find_rate(m->fd, fourcc, (int)width, (int)height, &rate);
    if (code < 0)
        return code;
    m->list[m->count++] = (struct halo_camera_offered_mode){.format = halo_v4l2_format_of(fourcc),
                                                            .width = (int)width,
                                                            .height = (int)height,
                                                            .rate = rate};
    return 0;
}

static unsigned within(int want, unsigned least, unsigned most, unsigned step)
{
    const unsigned v = (unsigned)want < least  ? least
                       : (unsigned)want > most ? most
                                               : (unsigned)want;
    return step > 1 ? least + (v - least) / step * step : v;
}

/* Adds sizes from a range: its ends, the requested size, and common sizes. */
static int add_range(struct modes *m, uint32_t fourcc, const struct v4l2_frmsize_stepwise *s)
{
    const int sizes[][2] = {{m->want_width, m->want_height},
                            {1280, 720},
                            {640, 480},
                            {320, 240},
                            {(int)s->min_width, (int)s->min_height},
                            {(int)s->max_width, (int)s->max_height}};
    int code = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && code >= 0; i++)
        code = add(m, fourcc, within(sizes[i][0], s->min_width, s->max_width, s->step_width),
                   within(sizes[i][1], s->min_height, s->max_height, s->step_height));
    return code;
}

/* If the driver lists no sizes, S_FMT determines the size. */
static int add_sizes(struct modes *m, uint32_t fourcc)
{
    for (unsigned i = 0; i < MAX_SIZES; i++) {
        struct v4l2_frmsizeenum e = {.index = i, .pixel_format = fourcc};
        int code = enumerate(m->fd, VIDIOC_ENUM_FRAMESIZES, &e);
        if (code > 0)
            return i > 0 ? 0 : add(m, fourcc, (unsigned)m->want_width, (unsigned)m->want_height);
        if (code == 0)
            code = e.type == V4L2_FRMSIZE_TYPE_DISCRETE
                       ? add(m, fourcc, e.discrete.width, e.discrete.height)
                       : add_range(m, fourcc, &e.stepwise);
        if (code < 0 || e.type != V4L2_FRMSIZE_TYPE_DISCRETE)
            return code;
    }
    return 0;
}

int halo_camera_modes(int fd, uint32_t type, int want_width, int want_height,
                      struct halo_camera_offered_mode **ret)
{
    struct modes m = {.fd = fd,
                      .want_width = want_width,
                      .want_height = want_height,
                      .list = calloc(HALO_CAMERA_MODES, sizeof *m.list)};
    int code = m.list ? 0 : -ENOMEM;
    for (unsigned i = 0; i < MAX_FORMATS && code >= 0; i++) {
        struct v4l2_fmtdesc e = {.index = i, .type = type};
        code = enumerate(fd, VIDIOC_ENUM_FMT, &e);
        if (code > 0)
            break;
        if (code == 0 && halo_v4l2_format_of(e.pixelformat))
            code = add_sizes(&m, e.pixelformat);
    }
    if (code < 0) {
        free(m.list);
        return code;
    }
    *ret = m.list;
    return m.count;
}

void halo_camera_wishes(const struct halo_capture_settings *set, int *ret_width, int *ret_height,
                        double *ret_rate)
{
    *ret_width = HALO_DEFAULT_WIDTH;
    *ret_height = HALO_DEFAULT_HEIGHT;
    if (set->size)
        sscanf(set->size, "%dx%d", ret_width, ret_height);
    *ret_rate = set->fps > 0 ? set->fps : HALO_DEFAULT_RATE;
}
