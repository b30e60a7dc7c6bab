/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the files of the CUDA backend: one device, one stream, and memory that grows and is
 * kept.
 *
 *   backend_cuda.c   opening and closing
 *   convolve.c       synchronous calls, with planes in ordinary memory
 *   lane.c           a frame in flight (lane.h)
 *   enqueue.c        the launches of both, with their errors and masks (enqueue.h)
 *
 * All functions are called on the backend's thread, with its device current. Errors are recorded
 * (halo_cuda_check). */
#ifndef HALO_BACKEND_PRIVATE_H
#define HALO_BACKEND_PRIVATE_H

#include <cuda_runtime_api.h>

#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/lane.h"
#include "kernels/cuda/strategies.h"

enum { HALO_CUDA_KEPT_MASKS = 16 };
/* The masks of a launch are prepared one after the other and then read together, so all of them
 * must be kept. */
_Static_assert((int)HALO_CUDA_KEPT_MASKS >= (int)HALO_CUDA_MAX_PLANES, "a launch needs all masks");

struct halo_cuda_buffer {
    void *data;
    size_t size;
};

/* A mask in the layout of a strategy's kernels. Masks are looked up by `strategy`, `conv` (this
 * struct holds a copy of it) and `channels`. */
struct halo_cuda_kept_mask {
    const struct halo_cuda_strategy *strategy;
    struct halo_conv conv;
    int channels;
    struct halo_cuda_buffer data; /* device memory */
    uint64_t last_use;
};

struct halo_cuda_backend {
    struct halo_backend base;
    int device;
    int compute; /* see halo_cuda_probe() */
    bool early;  /* see halo_cuda_call */
    struct halo_cuda_kept_mask *masks[HALO_CUDA_KEPT_MASKS];
    uint64_t uses;
    cudaStream_t stream;
    struct halo_cuda_buffer up, down;      /* pinned host memory */
    struct halo_cuda_buffer src, dst;      /* device memory */
    struct halo_cuda_buffer wide, regions; /* device memory: scratch for the jobs of a launch */
    struct halo_cuda_lane lane;
    char error[200];
};

/* Makes b at least size bytes long; its contents are lost. No work on the stream may still use
 * b. */
cudaError_t halo_cuda_grow(struct halo_cuda_buffer *b, size_t size,
                           cudaError_t (*alloc)(void **, size_t), cudaError_t (*release)(void *));

/* Returns the job's region, or NULL for a copy: a copy's output equals the source both inside and
 * outside of any region, so its region does not matter. */
static inline const struct halo_region *halo_cuda_region_of(const struct halo_job *job)
{
    return job->conv->kind == HALO_CONV_COPY ? NULL : job->region;
}

/* Reserves the device memory that the kernels of these jobs need in addition to the planes. */
cudaError_t halo_cuda_reserve_scratch(struct halo_cuda_backend *c, const struct halo_job *jobs,
                                      int count);

/* Enqueues jobs whose planes are in device memory and whose scratch is already reserved. Returns 0
 * or -errno. */
int halo_cuda_launch_jobs(struct halo_cuda_backend *c, const struct halo_job *jobs, int count);

void halo_cuda_free_masks(struct halo_cuda_backend *c);   /* frees the device memory of all kept
                                                           * masks */
void halo_cuda_forget_masks(struct halo_cuda_backend *c); /* frees the host memory of all kept
                                                           * masks */

/* Implements `convolve` of struct halo_backend_ops. */
int halo_cuda_convolve(struct halo_backend *b, const struct halo_job *jobs, int count);

#endif
