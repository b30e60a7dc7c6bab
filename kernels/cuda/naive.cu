/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy naive: the lectures' untiled kernel, mask in constant memory.
 *
 *        2 radius + 1
 *      +-------------+
 *      | . . . . . . |      One thread computes one output and reads every tap from global
 *      | . . . . . . |      memory; neighbouring threads read nearly the same cells again. Each
 *      | . . . o . . |      weight is the same for all threads: a broadcast from constant cache.
 *      | . . . . . . |      Ghost cells are found at every tap.
 *      +-------------+
 *
 * Separable masks take two passes with int32 elements in between. */
#include "kernels/cuda/gradient.cuh"
#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum { BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8 };

template <typename Sample, typename Accum>
static __device__ inline void row_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_unread(task.wanted, block, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const struct halo_plane src = task.src;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    const int e = block.x * BLOCK_WIDTH + threadIdx.x;
    const int y = block.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_ROW_WEIGHTS];
    Accum sum = 0;
    for (int i = -pass.radius_x; i <= pass.radius_x; i++)
        sum += (Accum)*weights++ * halo_input<Sample>(src, pass, e + i * src.channels, y);
    wide.data[y * wide.stride + e] = (int32_t)halo_finish(sum, pass);
}

template <typename Sample, typename Accum>
static __device__ inline void column_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const struct halo_plane dst = task.dst;
    const struct halo_wide wide = task.wide;
    const struct halo_pass pass = task.pass;
    const int e = block.x * BLOCK_WIDTH + threadIdx.x;
    const int y = block.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= dst.width * dst.channels || y >= dst.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_COLUMN_WEIGHTS];
    Accum sum = 0;
    for (int j = -pass.radius_y; j <= pass.radius_y; j++)
        sum += (Accum)*weights++ * halo_wide_input(wide, dst.height, pass, e, y + j);
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

template <typename Sample, typename Accum>
static __device__ inline void dense_pass(const struct halo_task &task, const int2 block)
{
    if (halo_block_outside(task.wanted, block, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const struct halo_plane src = task.src, dst = task.dst;
    const struct halo_pass pass = task.pass;
    const int e = block.x * BLOCK_WIDTH + threadIdx.x;
    const int y = block.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = halo_mask_bank[pass.slot];
    Accum sum = 0;
    for (int j = -pass.radius_y; j <= pass.radius_y; j++)
        for (int i = -pass.radius_x; i <= pass.radius_x; i++)
            sum += (Accum)*weights++ * halo_input<Sample>(src, pass, e + i * src.channels, y + j);
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

/* Applies both masks of a gradient; Accum is the type of the squares. */
template <typename Sample, typename Accum>
static __global__ void gradient_kernel(const struct halo_plane src, const struct halo_plane dst,
                                       const struct halo_pass pass, const struct halo_root root,
                                       const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, make_int2(blockIdx.x, blockIdx.y), BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = halo_mask_bank[pass.slot];
    int a = 0, b = 0;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++, weights++) {
            const int p = halo_input<Sample>(src, pass, e + i * src.channels, y + j);
            a += weights[0] * p;
            b += weights[9] * p;
        }
    }
    halo_write<Sample>(dst, e, y, halo_root_finish<Accum>(a, b, root));
}

namespace
{ /* each file has its own */
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *calls, int count, const int *slots)
    {
        const enum halo_conv_kind kind = calls->conv->kind;
        const dim3 block(BLOCK_WIDTH, BLOCK_HEIGHT);
        struct halo_tasks first = {}, second = {};

        for (int i = 0; i < count; i++) {
            const struct halo_conv *conv = calls[i].conv;
            const struct halo_pass row = kind == HALO_CONV_SEPARABLE
                                             ? halo_row_pass(conv, slots[i])
                                             : halo_dense_pass(conv, slots[i]);
            halo_add_task(&first, &calls[i], row, BLOCK_WIDTH, BLOCK_HEIGHT);
            halo_add_task(&second, &calls[i], halo_column_pass(conv, slots[i]), BLOCK_WIDTH,
                          BLOCK_HEIGHT);
        }
        if (kind == HALO_CONV_DENSE) {
            halo_launch_tasks<dense_pass<Sample, Accum>>(first, block, calls->stream);
        } else if (kind == HALO_CONV_GRADIENT) {
            for (int i = 0; i < count; i++)
                gradient_kernel<Sample, Accum>
                    <<<halo_grid(calls[i].src, BLOCK_WIDTH, BLOCK_HEIGHT), block, 0,
                       calls->stream>>>(calls[i].src, calls[i].dst, first.plane[i].pass,
                                        halo_root_of(calls[i].conv), calls[i].wanted);
        } else {
            halo_launch_tasks<row_pass<Sample, Accum>>(first, block, calls->stream);
            halo_launch_tasks<column_pass<Sample, Accum>>(second, block, calls->stream);
        }
        return cudaGetLastError();
    }
};
} // namespace

cudaError_t halo_cuda_launch_naive(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int first = 0, alike; first < count && status == cudaSuccess; first += alike) {
        const struct halo_cuda_call *from = &calls[first];
        alike = halo_alike(from, count - first);
        if (from->conv->kind == HALO_CONV_PIXELIZE)
            status = halo_cuda_launch_pixelize(from, alike);
        else if (from->conv->kind == HALO_CONV_SOLID)
            status = halo_cuda_launch_solid(from, alike);
        else if (from->conv->kind == HALO_CONV_CELLS)
            status = halo_cuda_launch_cells(from, alike);
        else
            status = halo_launch_alike<kernels>(from, alike);
    }
    return status;
}
