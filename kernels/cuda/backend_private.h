/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of the CUDA backend share: one device, one stream, memory that grows and stays.
 *
 *   backend_cuda.c   opening, closing and errors
 *   convolve.c       a call that waits, with planes in ordinary memory
 *   lane.c           a frame in flight (lane.h)
 *   enqueue.c        the launches of both (enqueue.h)
 *   kept_masks.c     masks as the kernels read them
 *
 * All calls: the backend's thread, its device current. Errors are noted (halo_cuda_check). */
#ifndef HALO_BACKEND_PRIVATE_H
#define HALO_BACKEND_PRIVATE_H

#include <cuda_runtime_api.h>

#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/lane.h"
#include "kernels/cuda/strategies.h"

enum { HALO_CUDA_KEPT_MASKS = 16 };
/* Those of a launch are made ready one after the other, and then read together. */
_Static_assert((int)HALO_CUDA_KEPT_MASKS >= (int)HALO_CUDA_MAX_PLANES, "a launch needs all masks");

struct halo_cuda_buffer {
    void *data;
    size_t size;
};

/* A mask as a strategy's kernels read it. conv is a copy: the key. */
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
    int compute; /* see halo_cuda_probe */
    bool early;  /* see halo_cuda_call */
    struct halo_cuda_kept_mask *masks[HALO_CUDA_KEPT_MASKS];
    uint64_t uses;
    cudaStream_t stream;
    struct halo_cuda_buffer up, down;      /* pinned host memory */
    struct halo_cuda_buffer src, dst;      /* device memory */
    struct halo_cuda_buffer wide, regions; /* device memory, scratch of the jobs of a launch */
    struct halo_cuda_lane lane;
    char error[200];
};

/* Makes b at least size bytes; what it held is lost. Nothing on the stream uses it any more. */
cudaError_t halo_cuda_grow(struct halo_cuda_buffer *b, size_t size,
                           cudaError_t (*alloc)(void **, size_t), cudaError_t (*release)(void *));

/* A copy is the source inside and outside. */
static inline const struct halo_region *halo_cuda_region_of(const struct halo_job *job)
{
    return job->conv->kind == HALO_CONV_COPY ? NULL : job->region;
}

/* Device memory that the kernels of these jobs need beside the planes. */
cudaError_t halo_cuda_reserve_scratch(struct halo_cuda_backend *c, const struct halo_job *jobs,
                                      int count);

/* Jobs whose planes lie in device memory, onto the stream; the scratch is reserved. 0 or -errno. */
int halo_cuda_launch_jobs(struct halo_cuda_backend *c, const struct halo_job *jobs, int count);

/* conv as the kernels of a strategy read it, in device memory, the same as long as it is kept;
 * *ret_mask is NULL where they need none. Waits for the stream where it is new. 0 or -errno. */
int halo_cuda_prepared_mask(struct halo_cuda_backend *c, const struct halo_cuda_strategy *s,
                            const struct halo_conv *conv, int channels, const void **ret_mask);
void halo_cuda_free_masks(struct halo_cuda_backend *c);   /* on the device */
void halo_cuda_forget_masks(struct halo_cuda_backend *c); /* and on the host */

/* The convolve of its ops. */
int halo_cuda_convolve(struct halo_backend *b, const struct halo_job *jobs, int count);

#endif
