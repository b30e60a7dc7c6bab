/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy running-sums, for boxes: the cost of an output does not depend on the radius.
 *
 *   rows: a block makes the prefix sums of a stretch of one row; a window is a difference of two.
 *
 *      cells       a   b   c   d   e ...        16 in a row to a thread, then a scan over the block
 *      prefix P    a  a+b  ...                  out(x) = P(x + radius) - P(x - radius - 1)
 *
 *   columns: a thread goes down COLUMNS of them, adds the row that enters the window and
 *   takes off the one that leaves it.
 *
 * The sums between the passes are 16 bits wide where they fit, else 32. The division by the
 * window's area is a multiplication: with 2^k < area <= 2^(k+1) and m = ceil(2^(32+k) / area),
 * floor(n m / 2^(32+k)) is floor(n / area) for all n below 2^31 (Granlund and Montgomery, "Division
 * by invariant integers using multiplication", 1994). */
#include "kernels/cuda/tile.cuh"

enum {
    CELLS = 16,         /* of a thread of the row kernel, and the alignment of its first */
    MOST_THREADS = 512, /* so that the largest halo on both sides, of two channels, is half of it */
    WARPS = MOST_THREADS / 32,
    ROWS = 32,   /* of a block of the column kernel */
    COLUMNS = 4, /* of a thread of it */
    COLUMN_THREADS = 64,
};

static_assert(MOST_THREADS * CELLS >= 4 * HALO_MAX_BOX_RADIUS * 2, "no room beside the halo");

struct box_pass {
    int radius, channels;
    enum halo_border border;
    int ghost;
};

/* Without bank conflicts, though each thread writes CELLS words in a row. */
static __device__ inline int padded(int i)
{
    return i + i / CELLS;
}

/* CELLS cells from element e on, of which the row may have only some. */
template <typename Sample>
static __device__ inline void load_cells(int (&cells)[CELLS], const struct halo_plane &src,
                                         const struct box_pass &pass, int e, int y)
{
    if (sizeof(Sample) == 1 && e >= 0 && e + CELLS <= src.width * src.channels) {
        const uint4 v = *(const uint4 *)((const uint8_t *)src.data + y * src.stride + e);
        const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < CELLS; i++)
            cells[i] = words[i / 4] >> i % 4 * 8 & 255;
        return;
    }
#pragma unroll
    for (int i = 0; i < CELLS; i++) { /* all under way at once */
        const int from = halo_border_element(e + i, src, pass.border);
        cells[i] = from == HALO_GHOST ? pass.ghost : halo_read<Sample>(src, from, y);
    }
}

/* What the threads before this one hold, of two channels. All threads take part. */
static __device__ inline int2 sums_before(int2 own)
{
    __shared__ int2 of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int2 sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int x = __shfl_up_sync(0xffffffff, sum.x, step);
        const int y = __shfl_up_sync(0xffffffff, sum.y, step);
        if (lane >= step)
            sum = make_int2(sum.x + x, sum.y + y);
    }
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; w++)
        sum = make_int2(sum.x + of_warp[w].x, sum.y + of_warp[w].y);
    return make_int2(sum.x - own.x, sum.y - own.y);
}

template <typename Sample, typename Wide>
static __global__ void __launch_bounds__(MOST_THREADS)
    row_kernel(const struct halo_plane src, Wide *wide, ptrdiff_t wide_stride, int outputs,
               const struct box_pass pass)
{
    __shared__ int prefix[MOST_THREADS * (CELLS + 1)];
    const int halo = pass.radius * pass.channels;
    const int elements = (src.width * src.channels + COLUMNS - 1) / COLUMNS * COLUMNS;
    const int y = blockIdx.y, first = blockIdx.x * outputs;
    const int start = (first - halo - pass.channels) & ~(CELLS - 1); /* rounds down, also below 0 */

    int cells[CELLS];
    load_cells<Sample>(cells, src, pass, start + (int)threadIdx.x * CELLS, y);
    int2 sum = {0, 0};
#pragma unroll
    for (int i = 0; i < CELLS; i++) { /* with one channel, all goes to x */
        int &own = pass.channels == 2 && i % 2 ? sum.y : sum.x;
        own += cells[i];
        cells[i] = own;
    }
    const int2 before = sums_before(sum);
#pragma unroll
    for (int i = 0; i < CELLS; i++)
        prefix[padded(threadIdx.x * CELLS + i)] =
            cells[i] + (pass.channels == 2 && i % 2 ? before.y : before.x);
    __syncthreads();

    const int end = min(first + outputs, elements);
    for (int e = first + threadIdx.x; e < end; e += blockDim.x)
        wide[y * wide_stride + e] = (Wide)(prefix[padded(e - start + halo)] -
                                           prefix[padded(e - start - halo - pass.channels)]);
}

struct box_division {
    uint32_t area, multiplier;
    int shift; /* after the upper 32 bits; -1: divide */
};

template <typename Sum>
static __device__ inline uint32_t mean(Sum sum, const struct box_division &by)
{
    const Sum n = sum + by.area / 2;
    return by.shift < 0 ? (uint32_t)(n / by.area)
                        : __umulhi((uint32_t)n, by.multiplier) >> by.shift;
}

/* A row of sums or of ghosts, COLUMNS from element e on. Rows have room for them. */
template <typename Wide>
static __device__ inline void load_sums(uint32_t (&sums)[COLUMNS], const Wide *wide,
                                        ptrdiff_t stride, int height, int e, int y,
                                        const struct box_pass &pass)
{
    const int from = halo_border_index(y, height, pass.border);
    if (from == HALO_GHOST) {
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

/* No clamp: a mean of samples is one. */
template <typename Sample, typename Sum>
static __device__ inline void write_means(const struct halo_plane &dst, int e, int y,
                                          const Sum (&sum)[COLUMNS], const struct box_division &by)
{
    uint8_t *row = (uint8_t *)dst.data + y * dst.stride;
    uint32_t v[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        v[i] = mean(sum[i], by) << dst.shift;
    if (sizeof(Sample) == 1)
        *(uint32_t *)(row + e) = v[0] | v[1] << 8 | v[2] << 16 | v[3] << 24;
    else
        *(uint2 *)(row + 2 * e) = make_uint2(v[0] | v[1] << 16, v[2] | v[3] << 16);
}

template <typename Sample, typename Wide, typename Sum>
static __global__ void __launch_bounds__(COLUMN_THREADS)
    column_kernel(const Wide *wide, ptrdiff_t stride, const struct halo_plane dst,
                  const struct box_pass pass, const struct box_division by)
{
    const int e = (blockIdx.x * COLUMN_THREADS + threadIdx.x) * COLUMNS;
    const int first = blockIdx.y * ROWS, end = min(first + (int)ROWS, dst.height);
    if (e >= dst.width * dst.channels)
        return;

    Sum sum[COLUMNS] = {};
    uint32_t in[COLUMNS], out[COLUMNS];
#pragma unroll 4
    for (int y = first - pass.radius; y < first + pass.radius; y++) {
        load_sums(in, wide, stride, dst.height, e, y, pass);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sum[i] += in[i];
    }
#pragma unroll 4
    for (int y = first; y < end; y++) {
        load_sums(in, wide, stride, dst.height, e, y + pass.radius, pass);
        load_sums(out, wide, stride, dst.height, e, y - pass.radius, pass);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sum[i] += in[i];
        write_means<Sample>(dst, e, y, sum, by);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            sum[i] -= out[i];
    }
}

static struct box_division division_of(uint32_t area, bool fits)
{
    struct box_division by = {area, 0, -1};
    if (area < 2 || !fits)
        return by;
    by.shift = 0;
    while ((uint64_t)2 << by.shift < area)
        by.shift++;
    by.multiplier = (uint32_t)((((uint64_t)1 << (32 + by.shift)) + area - 1) / area);
    return by;
}

template <typename Sample, typename Wide, typename Sum>
static cudaError_t launch_kernels(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const struct halo_plane &src = call->src;
    const int elements = (src.width * src.channels + COLUMNS - 1) / COLUMNS * COLUMNS;
    const int taps = 2 * conv->radius_x + 1;
    const int halo = 2 * conv->radius_x * src.channels + src.channels + CELLS;
    const int wanted = (elements + halo + CELLS - 1) / CELLS; /* threads for a whole row */
    const int threads = wanted > MOST_THREADS ? MOST_THREADS : (wanted + 31) / 32 * 32;
    const int outputs = threads * CELLS - halo;
    const uint32_t area = (uint32_t)taps * (2 * conv->radius_y + 1);
    const bool fits = (uint64_t)area * halo_sample_max(src.depth) + area / 2 < (uint64_t)1 << 31;
    const ptrdiff_t stride = halo_cuda_wide_stride(&src);
    Wide *wide = (Wide *)call->wide;

    struct box_pass row = {conv->radius_x, src.channels, conv->border, conv->border_value};
    struct box_pass column = {conv->radius_y, src.channels, conv->border,
                              conv->border_value * taps};
    const dim3 row_grid((elements + outputs - 1) / outputs, src.height);
    const dim3 column_grid((elements + COLUMNS * COLUMN_THREADS - 1) / (COLUMNS * COLUMN_THREADS),
                           (src.height + ROWS - 1) / ROWS);
    row_kernel<Sample, Wide>
        <<<row_grid, threads, 0, call->stream>>>(src, wide, stride, outputs, row);
    column_kernel<Sample, Wide, Sum><<<column_grid, COLUMN_THREADS, 0, call->stream>>>(
        wide, stride, call->dst, column, division_of(area, fits));
    return cudaGetLastError();
}

template <typename Sample>
static cudaError_t launch_box(const struct halo_cuda_call *call)
{
    const int max = halo_sample_max(call->src.depth);
    if ((2 * call->conv->radius_x + 1) * max <= 0xffff && call->conv->accum != HALO_ACCUM_I64)
        return launch_kernels<Sample, uint16_t, uint32_t>(call);
    return call->conv->accum == HALO_ACCUM_I64 ? launch_kernels<Sample, uint32_t, uint64_t>(call)
                                               : launch_kernels<Sample, uint32_t, uint32_t>(call);
}

cudaError_t halo_cuda_launch_running_sums(const struct halo_cuda_call *calls, int count)
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
