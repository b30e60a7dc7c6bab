/* SPDX-License-Identifier: BSD-2-Clause
 * Masks of regions on the device. Frames bring them in host memory, the same ones again and again;
 * a lane keeps those that it used last. All calls: the lane's thread, its device current. */
#ifndef HALO_REGION_MASKS_H
#define HALO_REGION_MASKS_H

#include <cuda_runtime_api.h>

#include "kernels/frame.h"

enum { HALO_KEPT_REGIONS = 32 };

struct halo_cuda_region_masks {
    struct halo_cuda_region_mask {
        uint64_t number; /* of the mask (region.h); 0: none, or one that may have changed */
        struct halo_plane plane;
        size_t size;
        uint64_t used, step;   /* the last frame and step that did */
    } kept[HALO_KEPT_REGIONS]; /* zeroed at first */
    uint64_t frame, step;
};

/* Begins a step, which has at most one mask for each of HALO_MAX_PLANES planes; first: of a frame.
 * What the steps before it were given may be taken for other masks. */
void halo_cuda_region_masks_step(struct halo_cuda_region_masks *masks, bool first);

/* Gives *mask, on the host, its place on the device; copied there on the stream where it is not yet
 * there. What the call returns holds for work that is put on the stream before the next step
 * begins. The host's memory must stay until that work is done. */
cudaError_t halo_cuda_region_mask(struct halo_cuda_region_masks *masks, uint64_t number,
                                  struct halo_plane *mask, cudaStream_t stream);

void halo_cuda_region_masks_free(struct halo_cuda_region_masks *masks);

#endif
