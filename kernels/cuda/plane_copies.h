/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of a frame's planes in one direction. Planes in page-locked memory whose rows have the
 * same layout on both sides are copied by one call, which leaves shorter gaps than one call for
 * each. */
#ifndef HALO_PLANE_COPIES_H
#define HALO_PLANE_COPIES_H

#include <cuda_runtime_api.h>

#include "kernels/frame.h"

struct halo_cuda_plane_copies {
    enum cudaMemcpyKind kind;
    cudaStream_t stream;
    int count; /* number of copies collected for one call; initially 0 */
    void *to[HALO_MAX_PLANES];
    const void *from[HALO_MAX_PLANES];
    size_t size[HALO_MAX_PLANES];
};

/* Copies the samples of a plane, either now or in halo_cuda_copy_end(). At least one of the two
 * planes must be on the device. */
cudaError_t halo_cuda_copy_plane(struct halo_cuda_plane_copies *copies, const struct halo_plane *to,
                                 const struct halo_plane *from);
/* Enqueues the collected copies. */
cudaError_t halo_cuda_copy_end(struct halo_cuda_plane_copies *copies);

#endif
