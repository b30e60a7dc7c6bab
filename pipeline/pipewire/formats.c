/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/formats.h"

#include <spa/param/format.h>
#include <spa/pod/iter.h>
#include <stddef.h>

enum { MAX_SIDE = 16384 };

const struct halo_pipewire_format halo_pipewire_formats[] = {
    {"yu12", SPA_MEDIA_SUBTYPE_raw, SPA_VIDEO_FORMAT_I420, 1},
    {"nv12", SPA_MEDIA_SUBTYPE_raw, SPA_VIDEO_FORMAT_NV12, 1},
    {"yuyv", SPA_MEDIA_SUBTYPE_raw, SPA_VIDEO_FORMAT_YUY2, 2},
    {"uyvy", SPA_MEDIA_SUBTYPE_raw, SPA_VIDEO_FORMAT_UYVY, 2},
    {"grey", SPA_MEDIA_SUBTYPE_raw, SPA_VIDEO_FORMAT_GRAY8, 1},
    {"mjpeg", SPA_MEDIA_SUBTYPE_mjpg, SPA_VIDEO_FORMAT_UNKNOWN, 0},
    {.name = NULL},
};

/* The values of a property, the default first; the server may have sent any other type. */
static const void *values_of(const struct spa_pod *param, uint32_t key, uint32_t type, size_t size,
                             uint32_t *ret_count)
{
    const struct spa_pod_prop *prop = spa_pod_find_prop(param, NULL, key);
    uint32_t choice;
    *ret_count = 0;
    if (!prop)
        return NULL;
    const struct spa_pod *pod = spa_pod_get_values(&prop->value, ret_count, &choice);
    if (pod->type != type || SPA_POD_BODY_SIZE(pod) < size)
        *ret_count = 0;
    return SPA_POD_BODY_CONST(pod);
}

static double highest(const struct spa_pod *param)
{
    uint32_t count;
    double ret = 0;
    const struct spa_fraction *rate =
        values_of(param, SPA_FORMAT_VIDEO_framerate, SPA_TYPE_Fraction, sizeof *rate, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rate[i].denom && (double)rate[i].num / rate[i].denom > ret)
            ret = (double)rate[i].num / rate[i].denom;
    return ret;
}

static const struct halo_pipewire_format *find(uint32_t subtype, uint32_t format)
{
    const struct halo_pipewire_format *f = halo_pipewire_formats;
    while (f->name && (f->subtype != subtype || (f->row && f->format != format)))
        f++;
    return f->name ? f : NULL;
}

static int add(struct halo_pipewire_mode_offer *ret, int count,
               const struct halo_pipewire_mode_offer *mode)
{
    for (int i = 0; i < count; i++)
        if (ret[i].format == mode->format)
            return count;
    ret[count] = *mode;
    return count + 1;
}

int halo_pipewire_modes_read(const struct spa_pod *param, struct halo_pipewire_mode_offer *ret,
                             int most)
{
    uint32_t sizes, formats, subtypes;
    int count = 0;
    const uint32_t *subtype =
        values_of(param, SPA_FORMAT_mediaSubtype, SPA_TYPE_Id, sizeof *subtype, &subtypes);
    const uint32_t *format =
        values_of(param, SPA_FORMAT_VIDEO_format, SPA_TYPE_Id, sizeof *format, &formats);
    const struct spa_rectangle *size =
        values_of(param, SPA_FORMAT_VIDEO_size, SPA_TYPE_Rectangle, sizeof *size, &sizes);
    if (!sizes || !subtypes || size->width < 1 || size->width > MAX_SIDE || size->height < 1 ||
        size->height > MAX_SIDE)
        return 0;
    for (uint32_t i = 0; i < (formats ? formats : 1) && count < most; i++) {
        const struct halo_pipewire_mode_offer mode = {
            find(*subtype, formats ? format[i] : SPA_VIDEO_FORMAT_UNKNOWN), (int)size->width,
            (int)size->height, highest(param)};
        if (mode.format)
            count = add(ret, count, &mode);
    }
    return count;
}
