/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA side of frame.h: one frame in flight on a backend's stream. */
#ifndef HALO_LANE_H
#define HALO_LANE_H

#include <cuda_runtime_api.h>

#include "kernels/cuda/region_masks.h"
#include "kernels/frame.h"

/* Of each opened backend. */
struct halo_cuda_lane {
    cudaEvent_t done; /* after the last download */
    char *memory;     /* device: source, destination and scratch of every plane */
    size_t size;
    struct halo_cuda_clock *clock; /* NULL: nobody measures */
    bool mapped;                   /* kernels use page-locked memory of the host where it is */
    struct halo_cuda_region_masks masks;
};

/* submit and finish of its ops. */
int halo_cuda_submit(struct halo_backend *b, const struct halo_frame *frame);
int halo_cuda_finish(struct halo_backend *b);

/* Frees what the lane holds; the backend's device is current and its stream idle. */
void halo_cuda_lane_close(struct halo_cuda_lane *lane);

/* After a failure: whether the context still works. Otherwise the device is lost for this process,
 * and from then on nothing of it is waited for or freed. */
void halo_cuda_examine(struct halo_backend *b);
bool halo_cuda_is_lost(void);

/* Page-locked, mapped host memory of its ops. */
void *halo_cuda_memory(size_t size);
/* On which device: threads of decoders and filters ask, each with a current one of its own. */
void halo_cuda_set_memory_device(int device);
void halo_cuda_memory_free(void *memory);

/* The least_loaded of its ops. */
int halo_cuda_least_loaded(void);

#endif
