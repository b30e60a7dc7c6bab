/* SPDX-License-Identifier: BSD-2-Clause
 * Nodes of PipeWire as cameras (camera_pipewire.h). */
#include "pipeline/camera/camera_pipewire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/pipewire.h"
#include "pipeline/camera/camera_private.h"
#include "pipeline/pipewire/list.h"
#include "pipeline/pipewire/source.h"

static const char DRIVER[] = "pipewire";

enum halo_v4l2_trouble halo_camera_pipewire_judge(int code)
{
    switch (code) {
    case 0:
        return HALO_V4L2_FINE;
    case -ENXIO:
    case -ENOTSUP:
    case -EINVAL:
        return HALO_V4L2_UNFIT;
    case -EACCES:
    case -EPERM:
        return HALO_V4L2_DENIED;
    case -ENOMEM:
        return HALO_V4L2_MEMORY;
    case -ETIMEDOUT:
        return HALO_V4L2_STALLED;
    case -ESTALE:
        return HALO_V4L2_CHANGED;
    default:
        return HALO_V4L2_ABSENT;
    }
}

bool halo_camera_pipewire_is(const struct halo_camera_id *id)
{
    return !strcmp(id->driver, DRIVER);
}

/* ---- finding ---- */

static void identify(struct halo_camera_id *ret, const struct halo_pipewire_listed *listed)
{
    *ret = (struct halo_camera_id){.index = 0};
    snprintf(ret->node, sizeof ret->node, "pipewire:%.*s", HALO_DEVICE_TEXT - 10, listed->name);
    snprintf(ret->name, sizeof ret->name, "%s", listed->label);
    snprintf(ret->serial, sizeof ret->serial, "%s", listed->serial);
    snprintf(ret->driver, sizeof ret->driver, "%s", DRIVER);
}

static bool has_node(const struct halo_pipewire_listed *listed, const struct halo_camera_id *id)
{
    struct halo_camera_id it;
    identify(&it, listed);
    return !strcmp(it.node, id->node) && !strcmp(it.serial, id->serial);
}

/* How well the name in the input fits: its number, its name, or what it shows. */
static int fit(const struct halo_pipewire_listed *listed, const char *name)
{
    char number[16];
    snprintf(number, sizeof number, "%u", listed->id);
    return !strcmp(listed->name, name)    ? 3
           : !strcmp(number, name)        ? 2
           : !strcmp(listed->label, name) ? 1
                                          : 0;
}

static int choose(const struct halo_pipewire_listed **ret, const struct halo_pipewire_listed *list,
                  int count, const char *input, struct halo_error *err)
{
    const char *name = halo_pipewire_name_of(input);
    int best = 0;
    const struct halo_pipewire_listed *twin = NULL;
    *ret = NULL;
    for (int i = 0; i < count; i++) {
        const int fits = fit(&list[i], name);
        if (fits == 0 || fits < best)
            continue;
        twin = fits == best ? *ret : NULL;
        best = fits;
        *ret = &list[i];
    }
    if (twin)
        return halo_fail(err, -EEXIST, "%s: matches the nodes %u and %u: use a number", input,
                         twin->id, (*ret)->id);
    return *ret ? 0
                : halo_fail(err, -ENODEV,
                            "%s: no such camera; run 'halod devices' to list the cameras", input);
}

static int choose_known(const struct halo_pipewire_listed **ret,
                        const struct halo_pipewire_listed *list, int count, const char *input,
                        const struct halo_camera_id *known, struct halo_error *err)
{
    *ret = NULL;
    for (int i = 0; i < count && !*ret; i++)
        if (has_node(&list[i], known))
            *ret = &list[i];
    return *ret ? 0
                : halo_fail(err, -ENODEV,
                            "%s: no camera: %s is not there; run 'halod devices' to "
                            "list the cameras",
                            input, known->name[0] ? known->name : known->node);
}

int halo_camera_pipewire_find(struct halo_camera_id *ret, const char *input,
                              const struct halo_camera_id *known, struct halo_error *err)
{
    struct halo_pipewire_listed *list = NULL;
    const struct halo_pipewire_listed *found = NULL;
    struct halo_error inner = {0};
    const int count = halo_pipewire_list(&list, &inner);
    if (count < 0)
        return halo_fail(err, count, "%s: %s", input, inner.text);
    const int code = known ? choose_known(&found, list, count, input, known, err)
                           : choose(&found, list, count, input, err);
    if (code >= 0)
        identify(ret, found);
    free(list);
    return code;
}

int halo_camera_pipewire_list(struct halo_camera_id **ret, struct halo_error *err)
{
    struct halo_pipewire_listed *list = NULL;
    const int count = halo_pipewire_list(&list, err);
    struct halo_camera_id *ids = count >= 0 ? calloc((size_t)count + 1, sizeof *ids) : NULL;
    for (int i = 0; i < count && ids; i++)
        identify(&ids[i], &list[i]);
    free(list);
    if (count >= 0 && !ids)
        return halo_fail(err, -ENOMEM, "out of memory");
    *ret = ids;
    return count;
}

static const struct halo_v4l2_format *format_of(const char *name)
{
    const struct halo_v4l2_format *f = halo_v4l2_formats;
    while (f->fourcc && strcmp(f->name, name) != 0)
        f++;
    return f->fourcc ? f : NULL;
}

static int copy_modes(struct halo_camera_offer *ret, const struct halo_pipewire_listed *listed)
{
    ret->mode = calloc((size_t)listed->modes + 1, sizeof *ret->mode);
    for (int i = 0; i < listed->modes && ret->mode; i++) {
        const struct halo_v4l2_format *format = format_of(listed->mode[i].format);
        if (format)
            ret->mode[ret->modes++] = (struct halo_camera_offered_mode){
                format, listed->mode[i].width, listed->mode[i].height, listed->mode[i].rate};
    }
    return ret->mode ? 0 : -ENOMEM;
}

int halo_camera_pipewire_ask(struct halo_camera_offer *ret, struct halo_error *err)
{
    struct halo_pipewire_listed *list = NULL;
    const int count = halo_pipewire_list(&list, err);
    int code = count < 0 ? count : -ENODEV;
    for (int i = 0; i < count; i++)
        if (has_node(&list[i], &ret->id)) {
            ret->capture = true;
            ret->ours = list[i].ours;
            ret->hidden = strcmp(list[i].role, "Camera") != 0;
            code = copy_modes(ret, &list[i]);
            break;
        }
    free(list);
    ret->trouble = halo_camera_pipewire_judge(code);
    return code < 0 && count >= 0 ? halo_fail(err, code, "%s: %s", ret->id.node, strerror(-code))
                                  : code;
}

/* ---- reading ---- */

static int fail(const struct halo_camera *c, const struct halo_camera_fault *fault, int code,
                const char *why)
{
    return halo_camera_fail_as(c, fault, halo_camera_pipewire_judge(code), code, why);
}

static void set_mode(struct halo_camera *c, const struct halo_pipewire_agreed *agreed)
{
    c->mode = (struct halo_camera_mode){
        .format = format_of(agreed->format),
        .width = agreed->width,
        .height = agreed->height,
        .rate = agreed->rate,
        .range = agreed->full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG,
        .space = agreed->bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M,
    };
    c->fourcc = c->mode.format ? c->mode.format->fourcc : 0;
}

/* The node's present number. */
static int find_number(uint32_t *ret, const struct halo_camera_id *id, struct halo_error *err)
{
    struct halo_pipewire_listed *list = NULL;
    const struct halo_pipewire_listed *found = NULL;
    int code = halo_pipewire_list(&list, err);
    if (code >= 0)
        code = choose_known(&found, list, code, id->node, id, err);
    if (code >= 0)
        *ret = found->id;
    free(list);
    return code;
}

int halo_camera_pipewire_open(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    const int format = c->settings->format;
    struct halo_error inner = {0};
    struct halo_pipewire_agreed agreed;
    struct halo_pipewire_wanted wanted = {
        .format = format ? halo_capture_formats[format] : NULL,
    };
    halo_camera_wishes(c->settings, &wanted.width, &wanted.height, &wanted.rate);
    int code = find_number(&wanted.id, &c->id, &inner);
    if (code >= 0)
        code = halo_pipewire_source_open(&c->pipewire, &agreed, &wanted, c->wake, &inner);
    if (code < 0)
        return fail(c, fault, code, inner.text);
    set_mode(c, &agreed);
    c->fd = halo_pipewire_source_poll(c->pipewire);
    c->buffers = HALO_CAMERA_MAX;
    return c->mode.format ? 0 : fail(c, fault, -EINVAL, "unknown format");
}

void halo_camera_pipewire_close(struct halo_camera *c)
{
    halo_pipewire_source_close(c->pipewire);
    c->pipewire = NULL;
}

/* Rows of a frame whose stride is unknown are not padded. */
static uint32_t stride_of(const struct halo_camera *c, uint32_t stride, int plane)
{
    const uint32_t width = (uint32_t)c->mode.width, half = (width + 1) / 2;
    const enum AVPixelFormat as = c->mode.format->as;
    const uint32_t row = c->mode.format->bits == 16              ? half * 4
                         : plane > 0 && as == AV_PIX_FMT_YUV420P ? half
                         : plane > 0                             ? half * 2
                                                                 : width;
    return stride ? stride : row;
}

int halo_camera_pipewire_take(struct halo_camera *c, struct halo_camera_taken *ret,
                              const struct halo_camera_fault *fault)
{
    struct halo_error inner = {0};
    struct halo_pipewire_taken taken;
    const int code = halo_pipewire_source_take(c->pipewire, &taken, &inner);
    if (code <= 0)
        return code < 0 ? fail(c, fault, code, inner.text) : 0;
    *ret = (struct halo_camera_taken){
        .index = taken.index,
        .flags = (taken.damaged ? V4L2_BUF_FLAG_ERROR : 0) |
                 (taken.time ? V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC : 0),
        .sequence = taken.sequence,
        .time = {.tv_sec = taken.time / 1000000000, .tv_usec = taken.time / 1000 % 1000000},
    };
    c->memories = taken.memories > 0 ? taken.memories : 1;
    for (int i = 0; i < taken.memories; i++) {
        ret->data[i] = taken.data[i];
        ret->size[i] = taken.size[i];
        c->stride[i] = stride_of(c, taken.stride[i], i);
    }
    if (!halo_camera_fits(c))
        ret->flags |= V4L2_BUF_FLAG_ERROR;
    return 1;
}

void halo_camera_pipewire_give(struct halo_camera *c, int index)
{
    halo_pipewire_source_give(c->pipewire, index);
}
