/* SPDX-License-Identifier: BSD-2-Clause
 * CELLS: the plane is filled as for SOLID, and then each box of cells (cells.h) is drawn by a
 * launch of its own, in the list's order. A thread writes every channel of one sample.
 *
 * The box and its values are parameters of the launch, which copies them: nothing of a list stays
 * on the device, so no frame can show the values of another one. */
#include "kernels/cells.h"
#include "kernels/cuda/tile.cuh"

enum { BLOCK_X = 32, BLOCK_Y = 8 };

struct box {
    struct halo_plane dst;
    struct halo_rect at;   /* luma pixels */
    struct halo_rect into; /* the samples that it reaches */
    int cells, step_x, step_y;
    int32_t cell[HALO_MAX_CELLS * HALO_MAX_CELLS];
};

template <typename Sample>
static __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    cells_kernel(const __grid_constant__ struct box box)
{
    const int x = box.into.x0 + blockIdx.x * BLOCK_X + threadIdx.x;
    const int y = box.into.y0 + blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x >= box.into.x1 || y >= box.into.y1)
        return;
    const int row = halo_cell_of(y * box.step_y, box.at.y0, box.at.y1, box.cells);
    const int column = halo_cell_of(x * box.step_x, box.at.x0, box.at.x1, box.cells);
    const uint32_t value = (uint32_t)box.cell[row * box.cells + column];
    for (int ch = 0; ch < box.dst.channels; ch++)
        halo_write<Sample>(box.dst, x * box.dst.channels + ch, y, value >> 16 * ch & 0xffff);
}

static struct box box_of(const struct halo_cuda_call *call, int number)
{
    const struct halo_conv *c = call->conv;
    const int32_t *from = halo_cells_box(c, number);
    struct box box;
    box.dst = call->dst;
    box.at = {from[0], from[1], from[2], from[3]};
    box.into.x0 = halo_cell_sample(box.at.x0 - c->reach, c->step_x);
    box.into.y0 = halo_cell_sample(box.at.y0 - c->reach, c->step_y);
    box.into.x1 = min(halo_cell_sample(box.at.x1 + c->reach, c->step_x), call->dst.width);
    box.into.y1 = min(halo_cell_sample(box.at.y1 + c->reach, c->step_y), call->dst.height);
    box.cells = c->cells;
    box.step_x = c->step_x;
    box.step_y = c->step_y;
    memcpy(box.cell, from + HALO_CELLS_HEAD, c->cells * c->cells * sizeof box.cell[0]);
    return box;
}

static cudaError_t draw(const struct halo_cuda_call *call, int number)
{
    const struct box box = box_of(call, number);
    const dim3 block(BLOCK_X, BLOCK_Y);
    if (box.into.x0 >= box.into.x1 || box.into.y0 >= box.into.y1)
        return cudaSuccess;
    const dim3 grid((box.into.x1 - box.into.x0 + BLOCK_X - 1) / BLOCK_X,
                    (box.into.y1 - box.into.y0 + BLOCK_Y - 1) / BLOCK_Y);
    if (call->dst.depth == 8)
        cells_kernel<uint8_t><<<grid, block, 0, call->stream>>>(box);
    else
        cells_kernel<uint16_t><<<grid, block, 0, call->stream>>>(box);
    return cudaGetLastError();
}

cudaError_t halo_cuda_launch_cells(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = halo_cuda_launch_solid(calls, count);
    for (int i = 0; i < count; i++)
        for (int box = 0; box < calls[i].conv->boxes && status == cudaSuccess; box++)
            status = draw(&calls[i], box);
    return status;
}
