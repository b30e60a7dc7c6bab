/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of a frame's planes in one direction. From and to page-locked memory those whose rows lie
 * alike on both sides go in one call, which leaves shorter gaps than one call for each. */
#ifndef HALO_PLANE_COPIES_H
#define HALO_PLANE_COPIES_H

#include <cuda_runtime_api.h>

#include "kernels/frame.h"

struct halo_cuda_plane_copies {
    enum cudaMemcpyKind kind;
    cudaStream_t stream;
    int count; /* 0 in the beginning: of what is kept for one call */
    void *to[HALO_MAX_PLANES];
    const void *from[HALO_MAX_PLANES];
    size_t size[HALO_MAX_PLANES];
};

/* Copies the samples of a plane, of which at least one side is on the device, now or at the end. */
cudaError_t halo_cuda_copy_plane(struct halo_cuda_plane_copies *copies, const struct halo_plane *to,
                                 const struct halo_plane *from);
/* Puts the rest onto the stream. */
cudaError_t halo_cuda_copy_end(struct halo_cuda_plane_copies *copies);

#endif
