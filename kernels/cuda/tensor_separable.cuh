/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by tensor_separable.cu (bytes) and tensor_separable_deep.cu (9 to 14 bits): the parameters
 * of a plane in a launch, and the launch.
 *
 * Why T never leaves the registers. Lane 4g + t of a warp, in both products:
 *
 *      row pass: C = T^t, 16 x by 8 y             column pass: B = T, 16 y in k by 8 x
 *
 *               y  2t  2t+1                                  x  g
 *      x        +----+----+                       y         +----+
 *      g        | c0 | c1 | --- packed, as b0 --> 2t, 2t+1  | b0 |  for outputs x 0 .. 7
 *      g + 8    | c2 | c3 | --- packed, as b0 --> 2t, 2t+1  | b0 |  for outputs x 8 .. 15
 *               +----+----+                                 +----+
 *
 * The next 8 rows of T give b1: elements 2t + 8 and 2t + 9 of k. This applies to FP16. With words,
 * two such pairs are split into a register of four high bytes and one of four low bytes;
 * tensor_separable_deep.cu describes which row of T each element of k then is. */
#ifndef HALO_TENSOR_SEPARABLE_CUH
#define HALO_TENSOR_SEPARABLE_CUH

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select.cuh"
#include "kernels/cuda/tensor_tile.cuh"

/* One plane of a launch; the types of both kernels begin with it. */
struct halo_separable_plane {
    struct halo_plane src, dst;
    struct halo_cuda_wanted wanted;
    int first_block, blocks_x;
    int halo_e, radius_e; /* in elements: radius times channels (radius_e), and this rounded up to a
                           * multiple of 4 */
    int radius_y;
    enum halo_border border;
};

static inline void halo_separable_fill(struct halo_separable_plane *plane,
                                       const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    plane->src = call->src;
    plane->dst = call->dst;
    plane->wanted = call->wanted;
    plane->radius_e = conv->radius_x * call->src.channels;
    plane->halo_e = (plane->radius_e + 3) / 4 * 4;
    plane->radius_y = conv->radius_y;
    plane->border = conv->border;
}

/* The number of steps of 16 in k that the masks of all planes need, at least 2. */
template <class Launch>
static inline int halo_separable_steps(const Launch &launch)
{
    int steps = 2;
    for (int i = 0; i < launch.count; i++) {
        const struct halo_separable_plane &plane = launch.plane[i];
        const int row = (plane.halo_e + plane.radius_e + STRIP + 15) / 16;
        const int column = (2 * plane.radius_y + 16 + 15) / 16;
        const int needed = row > column ? row : column;
        steps = needed > steps ? needed : steps;
    }
    return steps;
}

/* Numbers the blocks of all planes and starts the kernel, or its version for regions, with this
 * much shared memory. */
template <class Launch>
static inline cudaError_t halo_separable_launch(void (*kernel)(Launch),
                                                void (*selecting)(halo_selecting<Launch>),
                                                Launch *launch, int tile_height, int bytes,
                                                const struct halo_cuda_call *call)
{
    int blocks = 0;
    for (int i = 0; i < launch->count; i++) {
        struct halo_separable_plane *plane = &launch->plane[i];
        const dim3 grid = halo_grid(plane->src, TILE_WIDTH, tile_height);
        plane->first_block = blocks;
        plane->blocks_x = grid.x;
        blocks += grid.x * grid.y;
    }
    return halo_launch_selecting(kernel, selecting, *launch, blocks, {THREADS, bytes}, call);
}

#endif
