/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy running-sums, for boxes: the cost of an output does not depend on the radius.
 *
 *   rows: a block computes the prefix sums of a part of one row; a window is a difference of two.
 *
 *      cells       a   b   c   d   e ...        16 per thread, then a scan over the block
 *      prefix P    a  a+b  ...                  out(x) = P(x + radius) - P(x - radius - 1)
 *
 *   columns: a thread moves down COLUMNS columns, adds the row that enters the window and
 *   subtracts the row that leaves it.
 *
 * The sums between the passes have 16 bits if they fit, otherwise 32. */
#include <limits.h>

#include "kernels/cuda/tile.cuh"

enum {
    CELLS = 16,        /* cells of a thread of the row kernel; the first is aligned to this */
    MAX_THREADS = 512, /* so that the largest halo of both sides, with two channels, is half of a
                        * block's cells */
    WARPS = MAX_THREADS / 32,
    ROWS = 32,   /* of a block of the column kernel */
    COLUMNS = 4, /* of a thread of it */
    COLUMN_THREADS = 64,
};

static_assert(MAX_THREADS * CELLS >= 4 * HALO_MAX_BOX_RADIUS * 2, "no room beside the halo");

struct box_pass {
    int radius, channels;
    enum halo_border border;
    int ghost;
};

/* Division by a constant, as a multiplication: with 2^k < d <= 2^(k+1) and m = ceil(2^(32+k) / d),
 * floor(n m / 2^(32+k)) is floor(n / d) for all n below 2^31 (Granlund and Montgomery, "Division by
 * invariant integers using multiplication", 1994). */
struct division {
    uint32_t divisor, multiplier;
    int shift; /* k */
};

/* divisor >= 2. */
static struct division division_by(uint32_t divisor)
{
    struct division by = {divisor, 0, 0};
    while ((uint64_t)2 << by.shift < divisor)
        by.shift++;
    by.multiplier = (uint32_t)((((uint64_t)1 << (32 + by.shift)) + divisor - 1) / divisor);
    return by;
}

/* n < 2^31. */
static __device__ inline uint32_t divide(uint32_t n, const struct division &by)
{
    return __umulhi(n, by.multiplier) >> by.shift;
}

/* Avoids bank conflicts although each thread writes CELLS consecutive words. i >= 0. */
static __device__ inline int padded(int i)
{
    return i + (int)((unsigned)i / CELLS);
}

/* Loads CELLS cells from element e on, of which some may be outside the row. */
template <typename Sample>
static __device__ inline void load_cells(int (&cells)[CELLS], const struct halo_plane &src,
                                         const struct box_pass &pass, int e, int y)
{
    if (e >= 0 && e + CELLS <= src.width * src.channels) {
        constexpr int IN_WORD = 4 / sizeof(Sample);
        const Sample *row = (const Sample *)((const uint8_t *)src.data + y * src.stride);
        uint4 v[sizeof(Sample)];
#pragma unroll
        for (int i = 0; i < (int)sizeof(Sample); i++)
            v[i] = ((const uint4 *)(row + e))[i];
#pragma unroll
        for (int i = 0; i < CELLS; i++) {
            const uint32_t word = ((const uint32_t *)v)[i / IN_WORD];
            const uint32_t cell = word >> i % IN_WORD * 8 * sizeof(Sample) & (Sample)~0;
            cells[i] = sizeof(Sample) == 1
                           ? (int)cell
                           : halo_sample_value((uint16_t)cell, src.depth, src.shift);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < CELLS; i++) { /* all loads are under way at once */
        const int from = halo_border_element(e + i, src, pass.border);
        cells[i] = from == HALO_GHOST ? pass.ghost : halo_read<Sample>(src, from, y);
    }
}

/* The sums of the threads before this one, for each channel. All threads take part. */
template <int CHANNELS>
static __device__ inline void sums_before(int (&ret)[CHANNELS], const int (&own)[CHANNELS])
{
    __shared__ int of_warp[CHANNELS][WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        ret[c] = own[c];
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int other = __shfl_up_sync(0xffffffff, ret[c], step);
            ret[c] += lane >= step ? other : 0;
        }
        if (lane == 31)
            of_warp[c][warp] = ret[c];
        ret[c] -= own[c];
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        for (int w = 0; w < warp; w++)
            ret[c] += of_warp[c][w];
}

/* Stores COLUMNS sums from element e on; rows have room for them. */
template <typename Wide>
static __device__ inline void store_sums(Wide *row, int e, const uint32_t (&v)[COLUMNS])
{
    if (sizeof(Wide) == 2)
        *(uint2 *)(row + e) = make_uint2(v[0] | v[1] << 16, v[2] | v[3] << 16);
    else
        *(uint4 *)(row + e) = make_uint4(v[0], v[1], v[2], v[3]);
}

template <typename Sample, typename Wide, int CHANNELS>
static __global__ void __launch_bounds__(MAX_THREADS)
    row_kernel(const struct halo_plane src, Wide *wide, ptrdiff_t wide_stride, int outputs,
               const struct box_pass pass, const struct halo_cuda_wanted wanted)
{
    if (halo_block_unread(wanted, make_int2(blockIdx.x, blockIdx.y), outputs, 1))
        return;
    __shared__ int prefix[MAX_THREADS * (CELLS + 1)];
    const int halo = pass.radius * CHANNELS, elements = src.width * CHANNELS;
    const int y = blockIdx.y, first = blockIdx.x * outputs;
    const int start = (first - halo - CHANNELS) & ~(CELLS - 1); /* rounds down, also below 0 */

    int cells[CELLS], sum[CHANNELS] = {}, before[CHANNELS];
    load_cells<Sample>(cells, src, pass, start + (int)threadIdx.x * CELLS, y);
#pragma unroll
    for (int i = 0; i < CELLS; i++)
        cells[i] = sum[i % CHANNELS] += cells[i];
    sums_before<CHANNELS>(before, sum);
#pragma unroll
    for (int i = 0; i < CELLS; i++)
        prefix[threadIdx.x * (CELLS + 1) + i] = cells[i] + before[i % CHANNELS];
    __syncthreads();

    Wide *row = wide + y * wide_stride;
    const int end = min(first + outputs, elements);
    for (int e = first + threadIdx.x * COLUMNS; e < end; e += blockDim.x * COLUMNS) {
        uint32_t v[COLUMNS];
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            v[i] = prefix[padded(e + i - start + halo)] -
                   prefix[padded(e + i - start - halo - CHANNELS)];
        store_sums(row, e, v);
    }
}

/* EXACT: divides by a multiplication, if that is exact. */
template <bool EXACT, typename Sum>
static __device__ inline uint32_t mean(Sum sum, const struct division &by)
{
    const Sum n = sum + by.divisor / 2;
    return EXACT ? divide((uint32_t)n, by) : (uint32_t)(n / by.divisor);
}

/* Loads COLUMNS elements, from element e on, of a row of sums or ghosts. Rows have room for
 * them. */
template <bool INSIDE, typename Wide>
static __device__ inline void load_sums(uint32_t (&sums)[COLUMNS], const Wide *wide,
                                        ptrdiff_t stride, int height, int e, int y,
                                        const struct box_pass &pass)
{
    const int from = INSIDE ? y : halo_border_index(y, height, pass.border);
    if (!INSIDE && from == HALO_GHOST) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sums[i] = pass.ghost;
    } else if (sizeof(Wide) == 2) {
        const uint2 v = *(const uint2 *)(wide + from * stride + e);
        sums[0] = v.x & 0xffff, sums[1] = v.x >> 16;
        sums[2] = v.y & 0xffff, sums[3] = v.y >> 16;
    } else {
        const uint4 v = *(const uint4 *)(wide + from * stride + e);
        sums[0] = v.x, sums[1] = v.y, sums[2] = v.z, sums[3] = v.w;
    }
}

/* Needs no clamp: a mean of samples is a valid sample. */
template <typename Sample, bool EXACT, typename Sum>
static __device__ inline void write_means(const struct halo_plane &dst, int e, int y,
                                          const Sum (&sum)[COLUMNS], const struct division &by)
{
    uint8_t *row = (uint8_t *)dst.data + y * dst.stride;
    uint32_t v[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        v[i] = mean<EXACT>(sum[i], by) << (sizeof(Sample) == 1 ? 0 : dst.shift);
    if (sizeof(Sample) == 1)
        *(uint32_t *)(row + e) = v[0] | v[1] << 8 | v[2] << 16 | v[3] << 24;
    else
        *(uint2 *)(row + 2 * e) = make_uint2(v[0] | v[1] << 16, v[2] | v[3] << 16);
}

/* INSIDE: the windows of all rows of the block are inside the plane. */
template <typename Sample, bool EXACT, bool INSIDE, typename Wide, typename Sum>
static __device__ inline void run_down(const Wide *wide, ptrdiff_t stride,
                                       const struct halo_plane &dst, const struct box_pass &pass,
                                       const struct division &by, int e, int first, int end)
{
    const int height = INSIDE ? INT_MAX : dst.height;
    Sum sum[COLUMNS] = {};
    uint32_t in[COLUMNS], out[COLUMNS];
#pragma unroll 4
    for (int y = first - pass.radius; y < first + pass.radius; y++) {
        load_sums<INSIDE>(in, wide, stride, height, e, y, pass);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sum[i] += in[i];
    }
#pragma unroll 4
    for (int y = first; y < end; y++) {
        load_sums<INSIDE>(in, wide, stride, height, e, y + pass.radius, pass);
        load_sums<INSIDE>(out, wide, stride, height, e, y - pass.radius, pass);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sum[i] += in[i];
        write_means<Sample, EXACT>(dst, e, y, sum, by);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sum[i] -= out[i];
    }
}

template <typename Sample, bool EXACT, typename Wide, typename Sum>
static __global__ void __launch_bounds__(COLUMN_THREADS)
    column_kernel(const Wide *wide, ptrdiff_t stride, const struct halo_plane dst,
                  const struct box_pass pass, const struct division by,
                  const struct halo_cuda_wanted wanted)
{
    if (halo_block_outside(wanted, make_int2(blockIdx.x, blockIdx.y), COLUMN_THREADS * COLUMNS,
                           ROWS))
        return;
    const int e = (blockIdx.x * COLUMN_THREADS + threadIdx.x) * COLUMNS;
    const int first = blockIdx.y * ROWS, end = min(first + (int)ROWS, dst.height);
    if (e >= dst.width * dst.channels)
        return;
    if (first >= pass.radius && end + pass.radius <= dst.height)
        run_down<Sample, EXACT, true, Wide, Sum>(wide, stride, dst, pass, by, e, first, end);
    else
        run_down<Sample, EXACT, false, Wide, Sum>(wide, stride, dst, pass, by, e, first, end);
}

template <typename Sample, bool EXACT, typename Wide, typename Sum>
static cudaError_t launch_kernels(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const struct halo_plane &src = call->src;
    const int elements = src.width * src.channels, taps = 2 * conv->radius_x + 1;
    const int halo = 2 * conv->radius_x * src.channels + src.channels + CELLS + COLUMNS;
    /* Threads for a whole row, whose outputs are then rounded down: to 0 without COLUMNS more. */
    const int wanted = (elements + COLUMNS + halo + CELLS - 1) / CELLS;
    const int threads = wanted > MAX_THREADS ? MAX_THREADS : (wanted + 31) / 32 * 32;
    const int outputs = (threads * CELLS - halo) / COLUMNS * COLUMNS;
    const uint32_t area = (uint32_t)taps * (2 * conv->radius_y + 1);
    const ptrdiff_t stride = halo_cuda_wide_stride(&src);
    Wide *wide = (Wide *)call->wide;

    const struct box_pass row = {conv->radius_x, src.channels, conv->border, conv->border_value};
    const struct box_pass column = {conv->radius_y, src.channels, conv->border,
                                    conv->border_value * taps};
    const dim3 row_grid((elements + outputs - 1) / outputs, src.height);
    const dim3 column_grid((elements + COLUMNS * COLUMN_THREADS - 1) / (COLUMNS * COLUMN_THREADS),
                           (src.height + ROWS - 1) / ROWS);
    if (src.channels == 1)
        row_kernel<Sample, Wide, 1>
            <<<row_grid, threads, 0, call->stream>>>(src, wide, stride, outputs, row, call->wanted);
    else
        row_kernel<Sample, Wide, 2>
            <<<row_grid, threads, 0, call->stream>>>(src, wide, stride, outputs, row, call->wanted);
    column_kernel<Sample, EXACT, Wide, Sum><<<column_grid, COLUMN_THREADS, 0, call->stream>>>(
        wide, stride, call->dst, column, division_by(area), call->wanted);
    return cudaGetLastError();
}

template <typename Sample>
static cudaError_t launch_box(const struct halo_cuda_call *call)
{
    const int max = halo_sample_max(call->src.depth), taps = 2 * call->conv->radius_x + 1;
    const uint64_t area = (uint64_t)taps * (2 * call->conv->radius_y + 1);
    const bool exact = area >= 2 && area * max + area / 2 < (uint64_t)1 << 31;
    if (!exact)
        return launch_kernels<Sample, false, uint32_t, uint64_t>(call);
    return taps * max <= 0xffff ? launch_kernels<Sample, true, uint16_t, uint32_t>(call)
                                : launch_kernels<Sample, true, uint32_t, uint32_t>(call);
}

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        if (calls[i].conv->kind == HALO_CONV_COPY)
            status = halo_cuda_launch_copy(&calls[i], 1);
        else
            status = halo_plane_sample_bytes(&calls[i].src) == 1 ? launch_box<uint8_t>(&calls[i])
                                                                 : launch_box<uint16_t>(&calls[i]);
    }
    return status;
}

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_BOX || conv->kind == HALO_CONV_COPY;
}

const struct halo_cuda_strategy halo_cuda_running_sums = {
    .base = {"running-sums", "boxes, at a cost that does not depend on the radius", can},
    .launch = launch,
};
