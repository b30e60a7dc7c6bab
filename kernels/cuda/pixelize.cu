/* SPDX-License-Identifier: BSD-2-Clause
 * PIXELIZE: a group of threads processes one channel of one block of pixels: it reads its cells,
 * reduces the results of its threads, and writes the value to all cells. A group is a warp for
 * small blocks and a whole thread block for large ones. It needs no ghost cells and no mask, so all
 * strategies that support this kind share one kernel. */
#include "kernels/cuda/tile.cuh"

enum { THREADS = 256, WARP = 32, MAX_CELLS_OF_A_WARP = 1024 };

struct blocks {
    int width, height; /* of one */
    int across, down;  /* number of blocks, not counting channels */
    enum halo_pixelize mode;
};

template <typename T>
static __device__ inline T combine(T a, T b, enum halo_pixelize mode)
{
    if (mode == HALO_PIXELIZE_MEAN)
        return a + b;
    return (mode == HALO_PIXELIZE_MIN) == (a < b) ? a : b;
}

/* Reduces v over the group; all its threads get the result. */
template <int GROUP>
static __device__ inline unsigned long long reduce(unsigned long long v, enum halo_pixelize mode)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        v = combine(v, __shfl_xor_sync(0xffffffff, v, distance), mode);
    if (GROUP == WARP)
        return v;
    __shared__ unsigned long long warps[THREADS / WARP];
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < THREADS / WARP; w++)
        v = combine(v, warps[w], mode);
    return v;
}

/* Iterates over the cells of a block that one thread of the group processes: every GROUP-th
 * cell. */
template <int GROUP>
struct walk {
    int x, y, width;

    __device__ inline walk(int block_width) : width(block_width)
    {
        y = threadIdx.x % GROUP / width;
        x = threadIdx.x % GROUP - y * width;
        step_y = GROUP / width;
        step_x = GROUP - step_y * width;
    }
    __device__ inline void next()
    {
        x += step_x;
        y += step_y;
        if (x >= width) {
            x -= width;
            y++;
        }
    }

  private:
    int step_x, step_y;
};

/* A thread reads at most 1024 * 1024 / THREADS cells: its own sum fits 32 bits. */
template <typename Sample, int GROUP>
static __global__ void __launch_bounds__(THREADS)
    pixelize_kernel(const struct halo_plane src, const struct halo_plane dst,
                    const struct blocks blocks, const struct halo_cuda_wanted wanted)
{
    const int64_t unit = (int64_t)blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP;
    const int channels = src.channels, in_a_row = blocks.across * channels;
    const int row = (int)(unit / in_a_row), column = (int)(unit - (int64_t)row * in_a_row);
    if (row >= blocks.down) /* true for whole groups */
        return;
    const int x0 = column / channels * blocks.width, y0 = row * blocks.height;
    const int channel = column % channels;
    const int width = min(blocks.width, src.width - x0);
    const int height = min(blocks.height, src.height - y0);
    if (halo_tile_outside(wanted, {x0 * channels, y0, width * channels, height}))
        return; /* also for whole groups */

    uint32_t own = blocks.mode == HALO_PIXELIZE_MIN ? UINT32_MAX : 0;
    for (walk<GROUP> at(width); at.y < height; at.next()) {
        const int e = (x0 + at.x) * channels + channel;
        own = combine(own, (uint32_t)halo_read<Sample>(src, e, y0 + at.y), blocks.mode);
    }
    unsigned long long value = reduce<GROUP>(own, blocks.mode);
    if (blocks.mode == HALO_PIXELIZE_MEAN)
        value = (value + width * height / 2) / (width * height);
    for (walk<GROUP> at(width); at.y < height; at.next())
        halo_write<Sample>(dst, (x0 + at.x) * channels + channel, y0 + at.y, (int64_t)value);
}

template <typename Sample, int GROUP>
static cudaError_t launch(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const struct blocks blocks = {
        conv->block_w,
        conv->block_h,
        (call->src.width + conv->block_w - 1) / conv->block_w,
        (call->src.height + conv->block_h - 1) / conv->block_h,
        conv->mode,
    };
    const int64_t units = (int64_t)blocks.across * blocks.down * call->src.channels;
    const int64_t grid = (units + THREADS / GROUP - 1) / (THREADS / GROUP);
    pixelize_kernel<Sample, GROUP>
        <<<(unsigned)grid, THREADS, 0, call->stream>>>(call->src, call->dst, blocks, call->wanted);
    return cudaGetLastError();
}

cudaError_t halo_cuda_launch_pixelize(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        const bool small = calls[i].conv->block_w * calls[i].conv->block_h <= MAX_CELLS_OF_A_WARP;
        if (halo_plane_sample_bytes(&calls[i].src) == 1)
            status = small ? launch<uint8_t, WARP>(&calls[i]) : launch<uint8_t, THREADS>(&calls[i]);
        else
            status =
                small ? launch<uint16_t, WARP>(&calls[i]) : launch<uint16_t, THREADS>(&calls[i]);
    }
    return status;
}
