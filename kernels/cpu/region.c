/* SPDX-License-Identifier: BSD-2-Clause
 * A band of a job with a region: the strategy filters the rows that the region meets, and then each
 * sample of dst is kept, replaced or blended, in place. */
#include "kernels/cpu/cpu.h"

#include <errno.h>
#include <string.h>

enum { SPAN = 64 }; /* samples that are merged in the same way */

/* Consecutive rows to filter, within a band. */
struct run {
    int y0, y1;
};

static bool meets(const struct halo_job *job, int y, uint8_t *weights)
{
    halo_region_row(job->region, y, job->dst.width, weights);
    unsigned any = 0;
    for (int x = 0; x < job->dst.width; x++)
        any |= weights[x];
    return any;
}

/* Finds the first run from row y on. Two runs are joined if the gap between them is not higher than
 * the rows that both would read. False: no run. */
static bool next_run(const struct halo_job *job, int y, int end, uint8_t *weights, struct run *ret)
{
    const struct halo_conv *c = job->conv;
    while (y < end && !meets(job, y, weights))
        y++;
    if (y == end)
        return false;
    *ret = (struct run){y, y};
    for (; y < end && y <= ret->y1 + 2 * c->radius_y; y++)
        if (meets(job, y, weights))
            ret->y1 = y + 1;
    if (c->kind == HALO_CONV_PIXELIZE) { /* whole blocks, as in the band */
        ret->y0 = ret->y0 / c->block_h * c->block_h;
        ret->y1 = (ret->y1 + c->block_h - 1) / c->block_h * c->block_h;
        ret->y1 = ret->y1 < end ? ret->y1 : end;
    }
    return true;
}

/* Repeats the weight of a pixel for both channels. */
static void spread(uint8_t *weights, int width)
{
    for (int x = width - 1; x >= 0; x--)
        weights[2 * x] = weights[2 * x + 1] = weights[x];
}

/* Samples first .. first + count - 1 of a row. */
struct span {
    const struct halo_plane *plane;
    const void *from;
    void *to;
    int first, count;
};

static void copy_span(const struct span *s)
{
    if (s->plane->depth == 8) {
        memcpy((uint8_t *)s->to + s->first, (const uint8_t *)s->from + s->first, (size_t)s->count);
        return;
    }
    const uint16_t *restrict from = (const uint16_t *)s->from + s->first;
    uint16_t *restrict to = (uint16_t *)s->to + s->first;
    const int depth = s->plane->depth, shift = s->plane->shift;
    for (int i = 0; i < s->count; i++)
        to[i] = (uint16_t)(halo_sample_value(from[i], depth, shift) << shift);
}

/* If the weight is 0, the strategy may not have written the sample: it is not used. */
static void blend_span(const struct span *s, const uint8_t *weights)
{
    for (int i = s->first; i < s->first + s->count; i++) {
        const int source = halo_row_get(s->plane, s->from, i), w = weights[i];
        const int filtered = w ? halo_row_get(s->plane, s->to, i) : 0;
        halo_row_put(s->plane, s->to, i,
                     (int)halo_region_blend((unsigned)filtered, (unsigned)source, (unsigned)w));
    }
}

/* Most spans have only one kind of weights. */
static void merge_span(const struct span *s, const uint8_t *weights)
{
    unsigned any = 0, all = 255;
    for (int i = s->first; i < s->first + s->count; i++) {
        any |= weights[i];
        all &= weights[i];
    }
    if (!any)
        copy_span(s);
    else if (all < 255)
        blend_span(s, weights);
}

static void merge_row(const struct halo_job *job, int y, uint8_t *weights)
{
    const struct halo_plane *dst = &job->dst;
    const int n = dst->width * dst->channels;
    struct span s = {dst, halo_plane_row(&job->src, y), halo_plane_row(dst, y), 0, 0};
    halo_region_row(job->region, y, dst->width, weights);
    if (dst->channels == 2)
        spread(weights, dst->width);
    for (; s.first < n; s.first += SPAN) {
        s.count = n - s.first < SPAN ? n - s.first : SPAN;
        merge_span(&s, weights);
    }
}

int halo_cpu_region_band(const struct halo_cpu_strategy *strategy, const struct halo_job *job,
                         int y0, int y1, struct halo_cpu_scratch *scratch,
                         struct halo_cpu_scratch *row)
{
    uint8_t *weights =
        halo_cpu_scratch_get(row, (size_t)job->dst.width * (size_t)job->dst.channels);
    if (!weights)
        return -ENOMEM;
    struct run run;
    for (int y = y0; next_run(job, y, y1, weights, &run); y = run.y1) {
        const int code = strategy->band(job, run.y0, run.y1, scratch);
        if (code < 0)
            return code;
    }
    for (int y = y0; y < y1; y++)
        merge_row(job, y, weights);
    return 0;
}
