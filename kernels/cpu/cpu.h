/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the CPU strategies and their backend. */
#ifndef HALO_CPU_H
#define HALO_CPU_H

#include "kernels/backend.h"

/* One worker's memory, which grows when a job needs more and is kept from frame to frame. */
struct halo_cpu_scratch {
    void *data;
    size_t size;
};

/* Returns at least size bytes of memory with undefined contents, aligned to 64 bytes and valid
 * until the next call, or NULL if memory is exhausted. Must be called only by the worker that owns
 * s. */
void *halo_cpu_scratch_get(struct halo_cpu_scratch *s, size_t size);

/* A strategy of this backend. band fills the rows [y0, y1) of job->dst, and returns 0 or -ENOMEM.
 * band is called on several threads concurrently, with different rows and scratch. For PIXELIZE,
 * the rows form whole blocks, so y0 is the first row of a block. band must not use job->region
 * except to find its columns with halo_region_columns(), and may skip all other columns. */
struct halo_cpu_strategy {
    struct halo_strategy base;
    int (*band)(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
};

extern const struct halo_cpu_strategy halo_cpu_reference, halo_cpu_nodes;

static inline void *halo_plane_row(const struct halo_plane *p, int y)
{
    return (char *)p->data + p->stride * y;
}

/* Returns sample i of a row, where i counts the samples of all interleaved channels. */
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

/* SHUFFLE(A, B, LANES...): a vector of those lanes of the vectors A and B; B's numbers follow A's.
 * The lanes are integers of 32 bits, the numbers constants. */
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else /* GCC before 12 */
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif

#endif
