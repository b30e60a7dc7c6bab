/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy gradient-tile: the block covers an output tile, four rows to a thread.
 *
 *      +---------------+
 *      | h h h h h h h |      The tile with a ring of one pixel lies in shared memory. A thread
 *      | h +-------+ h |      goes down its column: three rows of three cells are in registers, the
 *      | h | o o o | h |      next row pushes the oldest out. The masks are kernel parameters, and
 *      | h +-------+ h |      so come from the constant cache.
 *      | h h h h h h h |
 *      +---------------+ */
#include "kernels/cuda/gradient.cuh"

enum {
    BLOCK_WIDTH = 64,
    BLOCK_HEIGHT = 4,
    ROWS = 4, /* of a thread */
    TILE_HEIGHT = BLOCK_HEIGHT * ROWS,
    MOST_CHANNELS = 2,
};

/* Beside the tasks of a launch. */
struct gradients {
    struct {
        struct halo_root root;
        int a[9], b[9];
    } plane[HALO_CUDA_MOST_PLANES];
};

template <typename Sample, typename Accum, bool MANY>
static __global__ void __launch_bounds__(BLOCK_WIDTH *BLOCK_HEIGHT)
    gradient_kernel(const __grid_constant__ struct halo_tasks tasks,
                    const __grid_constant__ struct gradients gradients)
{
    const struct halo_task &task = halo_task_of<MANY>(tasks);
    const auto &masks = gradients.plane[MANY ? &task - tasks.plane : 0];
    const int2 block = halo_block_of<MANY>(task);
    const struct halo_plane src = task.src, dst = task.dst;
    const struct halo_pass pass = task.pass;
    __shared__ Sample cells[(BLOCK_WIDTH + 2 * MOST_CHANNELS) * (TILE_HEIGHT + 2)];
    const int channels = src.channels, columns = BLOCK_WIDTH + 2 * channels;
    const int e = block.x * BLOCK_WIDTH + threadIdx.x, y0 = block.y * TILE_HEIGHT;
    const struct halo_tile tile = {block.x * BLOCK_WIDTH - channels, y0 - 1, columns,
                                   TILE_HEIGHT + 2};
    halo_load_tile(cells, tile, src, pass);
    __syncthreads();
    if (e >= src.width * channels)
        return;

    const int first = threadIdx.y * ROWS;
    const Sample *from = cells + first * columns + threadIdx.x;
    int p[ROWS + 2][3];
#pragma unroll
    for (int j = 0; j < ROWS + 2; j++)
#pragma unroll
        for (int i = 0; i < 3; i++)
            p[j][i] = from[j * columns + i * channels];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (y0 + first + row >= src.height)
            return;
        int a = 0, b = 0;
#pragma unroll
        for (int k = 0; k < 9; k++) {
            a += masks.a[k] * p[row + k / 3][k % 3];
            b += masks.b[k] * p[row + k / 3][k % 3];
        }
        halo_write<Sample>(dst, e, y0 + first + row, halo_root_finish<Accum>(a, b, masks.root));
    }
}

template <typename Sample, typename Accum>
static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    struct halo_tasks tasks = {};
    struct gradients gradients;
    for (int i = 0; i < count; i++) {
        const struct halo_conv *conv = calls[i].conv;
        struct halo_pass pass = {};
        pass.border = conv->border;
        pass.ghost = conv->border_value;
        halo_add_task(&tasks, &calls[i], pass, BLOCK_WIDTH, TILE_HEIGHT);
        gradients.plane[i].root = halo_root_of(conv);
        for (int k = 0; k < 9; k++) {
            gradients.plane[i].a[k] = conv->mask[k];
            gradients.plane[i].b[k] = conv->mask[9 + k];
        }
    }
    halo_launch_tasks(gradient_kernel<Sample, Accum, false>, gradient_kernel<Sample, Accum, true>,
                      tasks, dim3(BLOCK_WIDTH, BLOCK_HEIGHT), calls->stream, gradients);
    return cudaGetLastError();
}

cudaError_t halo_cuda_launch_gradient_tile(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int first = 0, alike; first < count && status == cudaSuccess; first += alike) {
        const struct halo_cuda_call *from = &calls[first];
        const bool wide = from->conv->accum == HALO_ACCUM_I64;
        alike = halo_alike(from, count - first);
        if (halo_plane_sample_bytes(&from->src) == 1)
            status = wide ? launch<uint8_t, int64_t>(from, alike)
                          : launch<uint8_t, int32_t>(from, alike);
        else
            status = wide ? launch<uint16_t, int64_t>(from, alike)
                          : launch<uint16_t, int32_t>(from, alike);
    }
    return status;
}
