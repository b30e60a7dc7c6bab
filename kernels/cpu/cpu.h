/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the CPU strategies and their backend. */
#ifndef HALO_CPU_H
#define HALO_CPU_H

#include "kernels/backend.h"

/* Memory of one worker: grows when a job needs more, and is kept from frame to frame. */
struct halo_cpu_scratch {
    void *data;
    size_t size;
};

/* Returns at least size bytes, aligned to 64, with undefined contents; valid until the next call.
 * NULL: out of memory. Only for the worker that owns s. */
void *halo_cpu_scratch_get(struct halo_cpu_scratch *s, size_t size);

/* A strategy of this backend: fills the rows [y0, y1) of job->dst. Called on several threads
 * concurrently, with different rows and scratch. PIXELIZE: only whole blocks, so y0 is the first
 * row of a block. May use only halo_region_columns() of job->region, and skip all other columns.
 * Returns 0 or -ENOMEM. */
struct halo_cpu_strategy {
    struct halo_strategy base;
    int (*band)(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
};

extern const struct halo_cpu_strategy halo_cpu_reference, halo_cpu_running_sums, halo_cpu_nodes;

/* The same for a job with a region, with any strategy. row is also memory of the worker. */
int halo_cpu_region_band(const struct halo_cpu_strategy *strategy, const struct halo_job *job,
                         int y0, int y1, struct halo_cpu_scratch *scratch,
                         struct halo_cpu_scratch *row);

static inline void *halo_plane_row(const struct halo_plane *p, int y)
{
    return (char *)p->data + p->stride * y;
}

/* Sample i of a row, where i counts interleaved channels. */
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
