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
 * Separable masks and boxes take two passes with int32 elements in between. */
#include "kernels/cuda/gradient.cuh"
#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum { BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8 };

template <typename Sample, typename Accum>
static __global__ void row_kernel(const struct halo_plane src, const struct halo_wide wide,
                                  const struct halo_pass pass, const struct halo_cuda_wanted wanted)
{
    if (halo_block_unread(wanted, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_ROW_WEIGHTS];
    Accum sum = 0;
    for (int i = -pass.radius_x; i <= pass.radius_x; i++)
        sum += (Accum)*weights++ * halo_input<Sample>(src, pass, e + i * src.channels, y);
    wide.data[y * wide.stride + e] = (int32_t)halo_finish(sum, pass);
}

template <typename Sample, typename Accum>
static __global__ void column_kernel(const struct halo_wide wide, const struct halo_plane dst,
                                     const struct halo_pass pass,
                                     const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= dst.width * dst.channels || y >= dst.height)
        return;

    const int32_t *weights = &halo_mask_bank[pass.slot][HALO_COLUMN_WEIGHTS];
    Accum sum = 0;
    for (int j = -pass.radius_y; j <= pass.radius_y; j++)
        sum += (Accum)*weights++ * halo_wide_input(wide, dst.height, pass, e, y + j);
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

template <typename Sample, typename Accum>
static __global__ void dense_kernel(const struct halo_plane src, const struct halo_plane dst,
                                    const struct halo_pass pass,
                                    const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= src.width * src.channels || y >= src.height)
        return;

    const int32_t *weights = halo_mask_bank[pass.slot];
    Accum sum = 0;
    for (int j = -pass.radius_y; j <= pass.radius_y; j++)
        for (int i = -pass.radius_x; i <= pass.radius_x; i++)
            sum += (Accum)*weights++ * halo_input<Sample>(src, pass, e + i * src.channels, y + j);
    halo_write<Sample>(dst, e, y, halo_finish(sum, pass));
}

/* Both masks of a gradient; Accum is for the squares. */
template <typename Sample, typename Accum>
static __global__ void gradient_kernel(const struct halo_plane src, const struct halo_plane dst,
                                       const struct halo_pass pass, const struct halo_root root,
                                       const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, BLOCK_WIDTH, BLOCK_HEIGHT))
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

/* At most 2049 samples of 16 bits: 28 bits. */
template <typename Sample>
static __global__ void box_row_kernel(const struct halo_plane src, const struct halo_wide wide,
                                      const struct halo_pass pass,
                                      const struct halo_cuda_wanted wanted)
{
    if (halo_block_unread(wanted, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= src.width * src.channels || y >= src.height)
        return;

    uint32_t sum = 0;
    for (int i = -pass.radius_x; i <= pass.radius_x; i++)
        sum += halo_input<Sample>(src, pass, e + i * src.channels, y);
    wide.data[y * wide.stride + e] = (int32_t)sum;
}

/* At most 2049 such sums: 39 bits. */
template <typename Sample>
static __global__ void box_column_kernel(const struct halo_wide wide, const struct halo_plane dst,
                                         const struct halo_pass pass, uint32_t area,
                                         const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, BLOCK_WIDTH, BLOCK_HEIGHT))
        return;
    const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
    const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    if (e >= dst.width * dst.channels || y >= dst.height)
        return;

    uint64_t sum = area / 2;
    for (int j = -pass.radius_y; j <= pass.radius_y; j++)
        sum += halo_wide_input(wide, dst.height, pass, e, y + j);
    halo_write<Sample>(dst, e, y, (int64_t)(sum / area));
}

namespace
{ /* each file has its own */
struct kernels {
    template <typename Sample, typename Accum>
    static cudaError_t launch(const struct halo_cuda_call *call, int slot)
    {
        const struct halo_conv *conv = call->conv;
        const struct halo_plane &src = call->src, &dst = call->dst;
        const struct halo_wide wide = halo_wide_of(call);
        const dim3 block(BLOCK_WIDTH, BLOCK_HEIGHT),
            grid = halo_grid(src, BLOCK_WIDTH, BLOCK_HEIGHT);

        if (conv->kind == HALO_CONV_DENSE) {
            const struct halo_pass pass = halo_dense_pass(conv, slot);
            dense_kernel<Sample, Accum>
                <<<grid, block, 0, call->stream>>>(src, dst, pass, call->wanted);
        } else if (conv->kind == HALO_CONV_GRADIENT) {
            const struct halo_pass pass = halo_dense_pass(conv, slot);
            gradient_kernel<Sample, Accum><<<grid, block, 0, call->stream>>>(
                src, dst, pass, halo_root_of(conv), call->wanted);
        } else {
            const struct halo_pass row = halo_row_pass(conv, slot);
            const struct halo_pass column = halo_column_pass(conv, slot);
            row_kernel<Sample, Accum>
                <<<grid, block, 0, call->stream>>>(src, wide, row, call->wanted);
            column_kernel<Sample, Accum>
                <<<grid, block, 0, call->stream>>>(wide, dst, column, call->wanted);
        }
        return cudaGetLastError();
    }
};
} // namespace

template <typename Sample>
static cudaError_t launch_box(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const struct halo_wide wide = halo_wide_of(call);
    const int width = 2 * conv->radius_x + 1;
    const uint32_t area = (uint32_t)width * (2 * conv->radius_y + 1);
    const dim3 block(BLOCK_WIDTH, BLOCK_HEIGHT);
    const dim3 grid = halo_grid(call->src, BLOCK_WIDTH, BLOCK_HEIGHT);

    struct halo_pass row = {}, column = {};
    row.radius_x = conv->radius_x;
    column.radius_y = conv->radius_y;
    row.border = column.border = conv->border;
    row.ghost = conv->border_value;
    column.ghost = conv->border_value * width;
    box_row_kernel<Sample><<<grid, block, 0, call->stream>>>(call->src, wide, row, call->wanted);
    box_column_kernel<Sample>
        <<<grid, block, 0, call->stream>>>(wide, call->dst, column, area, call->wanted);
    return cudaGetLastError();
}

cudaError_t halo_cuda_launch_naive(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        if (calls[i].conv->kind == HALO_CONV_PIXELIZE)
            status = halo_cuda_launch_pixelize(&calls[i], 1);
        else if (calls[i].conv->kind != HALO_CONV_BOX)
            status = halo_launch_one<kernels>(&calls[i]);
        else if (halo_plane_sample_bytes(&calls[i].src) == 1)
            status = launch_box<uint8_t>(&calls[i]);
        else
            status = launch_box<uint16_t>(&calls[i]);
    }
    return status;
}
