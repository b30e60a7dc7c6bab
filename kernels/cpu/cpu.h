/* SPDX-License-Identifier: BSD-2-Clause
 * What the CPU strategies and their backend share. */
#ifndef HALO_CPU_H
#define HALO_CPU_H

#include "kernels/backend.h"

/* One worker's memory: grows when a job needs more, is kept from frame to frame. */
struct halo_cpu_scratch {
    void *data;
    size_t size;
};

/* At least size bytes, aligned to 64, with stale contents; valid until the next call. NULL: out of
 * memory. Only for the worker that owns s. */
void *halo_cpu_scratch_get(struct halo_cpu_scratch *s, size_t size);

/* A strategy of this backend: fills the rows [y0, y1) of job->dst. Called on several threads at
 * once, with different rows and scratch. PIXELIZE: only whole blocks, so y0 is the first row of
 * one. Of job->region it may look at halo_region_columns(), and leave out the others. 0 or
 * -ENOMEM. */
struct halo_cpu_strategy {
    struct halo_strategy base;
    int (*band)(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
};

extern const struct halo_cpu_strategy halo_cpu_reference, halo_cpu_running_sums, halo_cpu_nodes;

/* The same for a job with a region, by any strategy. row is memory of the worker's, too. */
int halo_cpu_region_band(const struct halo_cpu_strategy *strategy, const struct halo_job *job,
                         int y0, int y1, struct halo_cpu_scratch *scratch,
                         struct halo_cpu_scratch *row);

static inline void *halo_plane_row(const struct halo_plane *p, int y)
{
    return (char *)p->data + p->stride * y;
}

/* Sample i of a row, i counting the interleaved channels. */
static inline int halo_row_get(const struct halo_plane *p, const void *row, int i)
{
    if (p->depth > 8)
        return halo_sample_value(((const uint16_t *)row)[i], p->depth, p->shift);
    return ((const uint8_t *)row)[i];
}

static inline void halo_row_put(const struct halo_plane *p, void *row, int i, int v)
{
    if (p->depth > 8)
        ((uint16_t *)row)[i] = (uint16_t)(v << p->shift);
    else
        ((uint8_t *)row)[i] = (uint8_t)v;
}

#endif
