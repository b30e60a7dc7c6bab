/* SPDX-License-Identifier: BSD-2-Clause
 * A band of a job with a region: the strategy filters the rows that meet it, and then each sample
 * of dst is taken or blended, in place. */
#include "cpu.h"

#include <errno.h>

/* A run of rows to filter, within a band. */
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

/* The first run from row y on. A gap that is not higher than what two runs would read in common is
 * filtered with them. False: there is none. */
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
    if (c->kind == HALO_CONV_PIXELIZE) { /* whole blocks, as the band has */
        ret->y0 = ret->y0 / c->block_h * c->block_h;
        ret->y1 = (ret->y1 + c->block_h - 1) / c->block_h * c->block_h;
        ret->y1 = ret->y1 < end ? ret->y1 : end;
    }
    return true;
}

/* Both channels of a pixel have its weight. */
static void spread(uint8_t *weights, int width)
{
    for (int x = width - 1; x >= 0; x--)
        weights[2 * x] = weights[2 * x + 1] = weights[x];
}

/* Where the weight is 0 the strategy may have written nothing: the sample is not used. */
static void merge_bytes(uint8_t *restrict to, const uint8_t *restrict from,
                        const uint8_t *restrict weights, int n)
{
    for (int i = 0; i < n; i++) {
        const unsigned blend = halo_region_blend(to[i], from[i], weights[i]);
        to[i] = (uint8_t)(weights[i] ? blend : from[i]);
    }
}

static void merge_words(uint16_t *restrict to, const uint16_t *restrict from,
                        const uint8_t *restrict weights, int n, const struct halo_plane *p)
{
    const int depth = p->depth, shift = p->shift;
    for (int i = 0; i < n; i++) {
        const unsigned source = (unsigned)halo_sample_value(from[i], depth, shift);
        const unsigned blend = halo_region_blend((unsigned)to[i] >> shift, source, weights[i]);
        to[i] = (uint16_t)((weights[i] ? blend : source) << shift);
    }
}

static void merge_row(const struct halo_job *job, int y, uint8_t *weights)
{
    const struct halo_plane *dst = &job->dst;
    const void *from = halo_plane_row(&job->src, y);
    void *to = halo_plane_row(dst, y);
    halo_region_row(job->region, y, dst->width, weights);
    if (dst->channels == 2)
        spread(weights, dst->width);
    if (dst->depth == 8)
        merge_bytes(to, from, weights, dst->width * dst->channels);
    else
        merge_words(to, from, weights, dst->width * dst->channels, dst);
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
        const int rc = strategy->band(job, run.y0, run.y1, scratch);
        if (rc < 0)
            return rc;
    }
    for (int y = y0; y < y1; y++)
        merge_row(job, y, weights);
    return 0;
}
