/* SPDX-License-Identifier: BSD-2-Clause
 * When a frame's copies and kernels ran (lane_clock.h). */
#include "kernels/cuda/lane_clock.h"

#include <errno.h>
#include <stdlib.h>

#include "kernels/clock.h"

struct halo_cuda_clock {
    cudaEvent_t first, event[2][HALO_CUDA_MARKS]; /* for two frames in turn */
    int now;                                      /* index of the current frame */
    cudaEvent_t reference;                        /* `first`, or the end of the last frame that was
                                                   * read */
    int64_t reference_ns, submitted_ns;
    struct halo_frame_times copies; /* of the frame in flight; no times */
};

/* Records it twice, because an event takes longer the first time. */
static cudaError_t set_reference(struct halo_cuda_clock *clock, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < 2 && status == cudaSuccess; i++) {
        const int64_t before = halo_now_ns();
        status = cudaEventRecord(clock->first, stream);
        if (status == cudaSuccess)
            status = cudaEventSynchronize(clock->first);
        clock->reference_ns = before + (halo_now_ns() - before) / 2;
    }
    clock->reference = clock->first;
    return status;
}

struct halo_cuda_clock *halo_cuda_clock_create(cudaStream_t stream)
{
    struct halo_cuda_clock *clock = calloc(1, sizeof *clock);
    if (!clock)
        return NULL;
    cudaError_t status = cudaEventCreate(&clock->first);
    for (int i = 0; i < 2 * HALO_CUDA_MARKS && status == cudaSuccess; i++)
        status = cudaEventCreate(&clock->event[i / HALO_CUDA_MARKS][i % HALO_CUDA_MARKS]);
    if (status == cudaSuccess)
        status = set_reference(clock, stream);
    if (status == cudaSuccess)
        return clock;
    halo_cuda_clock_destroy(clock);
    (void)cudaGetLastError();
    return NULL;
}

void halo_cuda_clock_destroy(struct halo_cuda_clock *clock)
{
    if (!clock)
        return;
    for (int i = 0; i < 2 * HALO_CUDA_MARKS; i++)
        if (clock->event[i / HALO_CUDA_MARKS][i % HALO_CUDA_MARKS])
            cudaEventDestroy(clock->event[i / HALO_CUDA_MARKS][i % HALO_CUDA_MARKS]);
    if (clock->first)
        cudaEventDestroy(clock->first);
    free(clock);
}

cudaError_t halo_cuda_clock_mark(struct halo_cuda_clock *clock, enum halo_cuda_mark mark,
                                 cudaStream_t stream)
{
    if (!clock)
        return cudaSuccess;
    if (mark == HALO_CUDA_BEGIN)
        clock->submitted_ns = halo_now_ns();
    return cudaEventRecord(clock->event[clock->now][mark], stream);
}

/* Whether the driver copies through its own page-locked memory. */
static bool is_pageable(const void *host)
{
    struct cudaPointerAttributes a;
    if (cudaPointerGetAttributes(&a, host) == cudaSuccess)
        return a.type == cudaMemoryTypeUnregistered;
    (void)cudaGetLastError();
    return false;
}

/* Counts copies as lane.c makes them: rows of equal strides include the bytes between them. */
static void count(struct halo_copies *copies, const struct halo_plane *to,
                  const struct halo_plane *from, const void *host)
{
    const int64_t row = (int64_t)halo_plane_row_bytes(from);
    const bool plain = to->stride == from->stride && to->stride > 0;
    copies->count++;
    copies->bytes += plain ? to->stride * (from->height - 1) + row : row * from->height;
    copies->pageable += host && is_pageable(host);
}

void halo_cuda_clock_count(struct halo_cuda_clock *clock, const struct halo_frame *frame,
                           const struct halo_frame_places *places)
{
    if (!clock)
        return;
    struct halo_frame_times *t = &clock->copies;
    *t = (struct halo_frame_times){0};
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_plane *src = &frame->plane[p].src, *dst = &frame->plane[p].dst;
        if (places->src[p].data != src->data)
            count(frame->src_on_device ? &t->inside : &t->up, &places->src[p], src,
                  frame->src_on_device ? NULL : src->data);
        if (places->dst[p].data != dst->data)
            count(frame->dst_on_device ? &t->inside : &t->down, dst, &places->dst[p],
                  frame->dst_on_device ? NULL : dst->data);
    }
}

int halo_cuda_clock_read(struct halo_cuda_clock *clock, struct halo_frame_times *ret)
{
    int64_t at[HALO_CUDA_MARKS];
    if (!clock)
        return -ENOTSUP;
    for (int i = 0; i < HALO_CUDA_MARKS; i++) {
        float ms;
        if (cudaEventElapsedTime(&ms, clock->reference, clock->event[clock->now][i])) {
            (void)cudaGetLastError();
            return -EIO;
        }
        at[i] = clock->reference_ns + (int64_t)((double)ms * 1e6);
    }
    const int64_t late = at[HALO_CUDA_DOWNLOADED] - halo_now_ns();
    const int64_t early = clock->submitted_ns - (at[HALO_CUDA_BEGIN] - (late > 0 ? late : 0));
    const int64_t shift = (early > 0 ? early : 0) - (late > 0 ? late : 0);
    for (int i = 0; i < HALO_CUDA_MARKS; i++)
        at[i] += shift;
    clock->reference = clock->event[clock->now][HALO_CUDA_DOWNLOADED];
    clock->reference_ns = at[HALO_CUDA_DOWNLOADED];
    clock->now = !clock->now;
    *ret = clock->copies;
    ret->upload = (struct halo_span){at[HALO_CUDA_BEGIN], at[HALO_CUDA_UPLOADED]};
    ret->kernels = (struct halo_span){at[HALO_CUDA_UPLOADED], at[HALO_CUDA_FILTERED]};
    ret->download = (struct halo_span){at[HALO_CUDA_FILTERED], at[HALO_CUDA_DOWNLOADED]};
    return 0;
}
