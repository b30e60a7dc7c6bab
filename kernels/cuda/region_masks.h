/* SPDX-License-Identifier: BSD-2-Clause
 * Masks of regions on the device. Frames pass them in host memory, often the same masks again; a
 * lane keeps the ones that it used last. All functions are called on the lane's thread, with its
 * device current. */
#ifndef HALO_REGION_MASKS_H
#define HALO_REGION_MASKS_H

#include <cuda_runtime_api.h>

#include "kernels/frame.h"

enum { HALO_KEPT_REGIONS = 32 };

struct halo_cuda_region_masks {
    struct halo_cuda_region_mask {
        uint64_t number; /* the mask's number (region.h); 0: no mask is kept here, or one that may
                          * have changed */
        struct halo_plane plane;
        size_t size;
        uint64_t used, step;   /* the last frame and step that used the mask */
    } kept[HALO_KEPT_REGIONS]; /* initially zeros */
    uint64_t frame, step;
};

/* Begins a step, in which each of at most HALO_MAX_PLANES planes can have one mask; `first` is true
 * for the first step of a frame. From now on, the memory of masks that earlier steps used may be
 * reused for other masks. */
void halo_cuda_region_masks_step(struct halo_cuda_region_masks *masks, bool first);

/* Makes *mask, which is in host memory, refer to its copy on the device. If no copy exists yet,
 * enqueues the transfer. The result is valid for work that is enqueued before the next step begins.
 * The host memory must remain valid until the work that was enqueued in this step is done. */
cudaError_t halo_cuda_region_mask(struct halo_cuda_region_masks *masks, uint64_t number,
                                  struct halo_plane *mask, cudaStream_t stream);

void halo_cuda_region_masks_free(struct halo_cuda_region_masks *masks);

#endif
