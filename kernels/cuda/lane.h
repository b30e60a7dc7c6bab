/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA part of frame.h: one frame in flight on a backend's stream. */
#ifndef HALO_LANE_H
#define HALO_LANE_H

#include <cuda_runtime_api.h>

#include "kernels/cuda/region_masks.h"
#include "kernels/frame.h"

/* Each opened backend has one lane. */
struct halo_cuda_lane {
    cudaEvent_t done; /* recorded after the last download */
    char *memory;     /* device memory: source, destination and scratch of every plane */
    size_t size;
    struct halo_cuda_clock *clock; /* NULL: times are not measured */
    bool mapped;                   /* kernels access page-locked host memory in place */
    struct halo_cuda_region_masks masks;
};

/* Implement `submit` and `finish` of struct halo_backend_ops. */
int halo_cuda_submit(struct halo_backend *b, const struct halo_frame *frame);
int halo_cuda_finish(struct halo_backend *b);

/* Frees the lane's resources. The backend's device must be current and its stream idle. */
void halo_cuda_lane_close(struct halo_cuda_lane *lane);

/* Checks, after a failure, whether the context still works. If the context does not work, the
 * device is lost to this process, which from then on neither waits for nor frees anything on the
 * device. */
void halo_cuda_examine(struct halo_backend *b);
bool halo_cuda_is_lost(void);

/* Implements `memory` of struct halo_backend_ops: page-locked, mapped host memory. */
void *halo_cuda_memory(size_t size);
/* Sets the device for which halo_cuda_memory() allocates. This is necessary because decoder and
 * filter threads, which request the memory, each have their own current device. */
void halo_cuda_set_memory_device(int device);
void halo_cuda_memory_free(void *memory);

/* Implements `least_loaded` of struct halo_backend_ops. */
int halo_cuda_least_loaded(void);

#endif
