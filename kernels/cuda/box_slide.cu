/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy box-slide, boxes of bytes: two launches, whose cost depends little on the radii.
 *
 * The first kernel (box_starts.cuh) computes the column sums of the windows of each 16th row. The
 * second kernel begins with these sums, so that none of its blocks reads a halo of rows. It is
 * started while the first one ends, and meanwhile loads its first rows: they are part of the
 * source, which was complete before the first kernel allowed this one to begin.
 *
 *   columns: a thread processes 16 rows of eight columns. The sums of a row are those of the row
 *   above plus the row that enters the window minus the row that leaves it, with two columns in a
 *   register. They are written to shared memory as two bytes each.
 *
 *   rows: a warp moves along 16 rows, 16 outputs at a time, on tensor cores. The sums H of eight
 *   outputs stay in the accumulators of the products; those of outputs further right are
 *
 *       H += [columns that enter | columns that leave]  [+1 ...]
 *                     16     by     16                  [-1 ...]
 *
 *   so that a product costs the same for any width of the window. Columns 2t, 2t+1 of H are outputs
 *   4t, 4t+1 and, one step of 2 later, 4t+2, 4t+3: four consecutive ones per lane. A step of 14
 *   leads to the next 16. Its columns are 32 of each kind, two products; those of the step of 2 are
 *   16 if the radius modulo 4 is 0 or 3, because words begin at multiples of 4.
 *
 * In shared memory a cell contains four columns of rows 2g and 2g + 1; low bytes and high bytes are
 * separate. Ghost columns are copied there from the columns that they repeat, so borders that wrap
 * are left to other strategies. If sums are too large for floats, the mean is the upper half of a
 * product with 2^40 / area. */
#include <limits.h>

#include "kernels/cuda/box_slide.cuh"

enum {
    MAX_GHOSTS = 72,  /* cells of a row: both sides, if the plane is narrower than a block */
    LEAST_AREA = 257, /* for a multiplier of 32 bits */
    NO_OUTPUT = 1 << 20,
};

/* The value of a ghost cell: two cells of the block and a permutation, or the constant. */
static __device__ inline uint2 gather_cell(const uint2 *cells, const struct halo_word_source &from,
                                           int g, uint32_t ghost)
{
    const uint2 constant = make_uint2(ghost, ghost);
    const uint2 a = from.a >= 0 ? cells[slide_cell(from.a, g)] : constant;
    const uint2 b = from.b >= 0 ? cells[slide_cell(from.b, g)] : constant;
    return make_uint2(__byte_perm(a.x, b.x, from.select), __byte_perm(a.y, b.y, from.select));
}

/* The slot of ghost number i in the block. left: number of ghosts left of the plane; end: the first
 * slot that is not completely in the plane. */
static __device__ inline int ghost_slot(int i, int left, int end)
{
    return i < left ? i : end + i - left;
}

/* Fills the cells that are completely or partly outside the plane. All threads take part. */
static __device__ inline void fill_ghosts(uint2 *cells, const struct halo_word_source *sources,
                                          const struct slide_plane &p, int ghosts, int left,
                                          int end)
{
    const uint32_t sum = (p.ghost & 0xff) * (2 * p.radius_y + 1);
    for (int first = 0; first < ghosts * 8; first += SLIDE_THREADS) {
        const int i = first + threadIdx.x, g = i % 8;
        uint2 low = {}, high = {};
        if (i / 8 < ghosts) {
            low = gather_cell(cells, sources[i / 8], g, (sum & 0xff) * 0x01010101u);
            high = gather_cell(cells + SLIDE_PLANE, sources[i / 8], g, (sum >> 8) * 0x01010101u);
        }
        __syncthreads(); /* a cell that is partly outside is read, too */
        if (i / 8 < ghosts) {
            uint2 *to = cells + slide_cell(ghost_slot(i / 8, left, end), g);
            to[0] = low;
            to[SLIDE_PLANE] = high;
        }
        __syncthreads();
    }
}

/* The source of a ghost cell, in slots of the block. Unused ghosts may have no source in the
 * block. */
static __device__ inline struct halo_word_source ghost_source(const struct slide_plane &p, int slot,
                                                              int first_e, int end)
{
    struct halo_word_source from =
        halo_word_source_of<uint8_t>(first_e + 4 * slot, p.src, p.border);
    from.a = from.a < 0 ? from.a : min(max(from.a - first_e, 0) / 4, end);
    from.b = from.b < 0 ? from.b : min(max(from.b - first_e, 0) / 4, end);
    return from;
}

template <bool FLOATS>
static __global__ void __launch_bounds__(SLIDE_THREADS, 7)
    slide_kernel(const __grid_constant__ struct slide_launch l)
{
    __shared__ uint2 cells[2 * SLIDE_PLANE];
    __shared__ int offsets[2 * SLIDE_ROWS];
    __shared__ struct halo_word_source sources[MAX_GHOSTS];
    const struct slide_plane &p = l.p;
    const int e = blockIdx.x * SLIDE_OUTPUTS, y = blockIdx.y * SLIDE_ROWS, first_e = e - l.halo_e;
    const int elements = p.src.width * p.src.channels;

    if (p.wanted.flags) { /* no thread returns before the first kernel has ended */
        halo_wait_for_kernel_before();
        if (halo_tile_outside(p.wanted, {e, y, SLIDE_OUTPUTS, SLIDE_ROWS}))
            return;
    }

    /* Ghosts: the slots that are read and are to the left of the plane or not completely in it. */
    const int left = max(-first_e, 0) / 4;
    const int slots = (l.halo_e + min((int)SLIDE_OUTPUTS, elements - e + 3) + p.reach_e + 3) / 4;
    const int end = (elements - first_e) / 4, ghosts = left + max(slots - end, 0);
    if (threadIdx.x < 2 * SLIDE_ROWS) {
        const int row = y + threadIdx.x % SLIDE_ROWS;
        offsets[threadIdx.x] =
            slide_row_offset(p, threadIdx.x < SLIDE_ROWS ? row + p.radius_y : row - p.radius_y - 1);
    }
    if ((int)threadIdx.x < ghosts) {
        const int slot = ghost_slot(threadIdx.x, left, end);
        sources[threadIdx.x] = ghost_source(p, slot, first_e, end);
    }
    __syncthreads();

    /* Adjacent lanes process the same half of adjacent chunks: no two of eight lanes write to the
     * same bank. */
    const int half = threadIdx.x % 32 / 16, own = threadIdx.x / 32 * 16 + threadIdx.x % 16;
    const int chunk = first_e / SLIDE_CHUNK + own;
    const bool edge = y <= p.radius_y || y + SLIDE_ROWS + p.radius_y > p.src.height;
    const uint8_t *from =
        (const uint8_t *)p.src.data + chunk * SLIDE_CHUNK + half * SLIDE_CHUNK / 2;
    struct slide_source source = {from, from, p.src.stride, offsets, p.ghost};
    uint2 *to = cells + own * SLIDE_STRIDE + 2 * half;
    if (chunk < 0 || chunk >= p.chunks || own * 4 >= slots) {
        halo_wait_for_kernel_before();
    } else if (edge) {
        slide_columns_down<true>(to, p, source, chunk, half);
    } else {
        source.enter += (y + p.radius_y) * p.src.stride;
        source.leave += (y - p.radius_y - 1) * p.src.stride;
        slide_columns_down<false>(to, p, source, chunk, half);
    }
    struct slide_lane mask;
    slide_load_mask(mask, l);
    __syncthreads();
    if (ghosts > 0)
        fill_ghosts(cells, sources, p, ghosts, left, end);
    slide_rows<FLOATS>(l, mask, cells, e, y);
}

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

static uint32_t multiplier_of(uint32_t area)
{
    return (uint32_t)((((uint64_t)1 << 40) + area - 1) / area);
}

/* The mean is floor(n m / 2^40), where m is larger than 2^40 / area by less than 1. This equals
 * floor(n / area) if n (m area - 2^40) is below 2^40. */
static bool can(const struct halo_conv *conv, int channels)
{
    if (conv->kind != HALO_CONV_BOX || conv->depth != 8 ||
        conv->radius_x * channels > SLIDE_MAX_RADIUS || conv->radius_y > SLIDE_MAX_RADIUS ||
        conv->border == HALO_BORDER_WRAP)
        return false;
    const uint64_t area = (uint64_t)(2 * conv->radius_x + 1) * (2 * conv->radius_y + 1);
    if (area < LEAST_AREA)
        return false;
    const uint64_t most = area * 255 + area / 2, one = (uint64_t)1 << 40;
    return most * (multiplier_of(area) * area - one) < one;
}

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return sizeof(struct slide_mask);
}

static bool in_window(int radius_e, int channels, int distance)
{
    return distance >= -radius_e && distance <= radius_e && distance % channels == 0;
}

/* The weights of columns first .. first + 3: `weight` for those in the window of output `to` that
 * are not in that of output `from`, otherwise 0. */
static uint32_t step_word(int radius_e, int channels, int first, int to, int from, uint32_t weight)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        if (in_window(radius_e, channels, first + i - to) &&
            !in_window(radius_e, channels, first + i - from))
            word |= weight << 8 * i;
    return word;
}

static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    struct slide_mask *mask = (struct slide_mask *)ret;
    const int reach = conv->radius_x * channels;
    const int enter = (reach + 1) / 4 * 4, leave = -round_up(reach, 4);
    for (int lane = 0; lane < 32; lane++) {
        const int t = lane % 4, output = lane / 4 / 2 * 4 + lane / 4 % 2;
        for (int i = 0; i < 2 * SLIDE_MAX_BEGIN; i++)
            mask->begin[i / 2][i % 2][lane] =
                step_word(reach, channels, leave + SLIDE_CHUNK * i + 4 * t, output, NO_OUTPUT, 1);
        for (int i = 0; i < 4; i++) {
            const int from = output + i / 2 * 2, to = i / 2 ? output + SLIDE_CHUNK : output + 2;
            const int column = i % 2 * SLIDE_CHUNK + 4 * t;
            mask->step[i / 2][i % 2][0][lane] =
                step_word(reach, channels, enter + column, to, from, 1);
            mask->step[i / 2][i % 2][1][lane] =
                step_word(reach, channels, leave + column, from, to, 0xff);
        }
    }
}

static cudaError_t launch_plane(const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const int elements = call->src.width * call->src.channels;
    const int reach = conv->radius_x * call->src.channels;
    const int area = (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1);
    struct slide_launch l = {};
    l.p.src = call->src;
    l.p.wanted = call->wanted;
    l.p.starts = (uint32_t *)call->wide;
    l.p.chunks = (elements + SLIDE_CHUNK - 1) / SLIDE_CHUNK;
    l.p.radius_y = conv->radius_y;
    l.p.reach_e = reach;
    l.p.border = conv->border;
    l.p.ghost = (uint32_t)conv->border_value * 0x01010101u;
    l.dst = call->dst;
    l.halo_e = round_up(reach, SLIDE_CHUNK);
    l.enter = (reach + 1) / 4 * 4;
    l.leave = -round_up(reach, 4);
    l.begin = (reach - l.leave + 14 + 31) / 32;
    l.long_step = reach % 4 == 1 || reach % 4 == 2;
    l.half = area / 2;
    l.multiplier = multiplier_of(area);
    l.scale = 1.0f / (float)area;
    l.mask = (const struct slide_mask *)call->prepared;

    const cudaError_t status = slide_launch_starts(l.p, call);
    if (status != cudaSuccess)
        return status;
    struct halo_cuda_call second = *call;
    second.early = call->chained;
    const dim3 grid((elements + SLIDE_OUTPUTS - 1) / SLIDE_OUTPUTS,
                    (call->src.height + SLIDE_ROWS - 1) / SLIDE_ROWS);
    if (area * 255 <= HALO_BOX_MAX_SUM)
        return halo_launch(slide_kernel<true>, l, grid, SLIDE_THREADS, 0, &second);
    return halo_launch(slide_kernel<false>, l, grid, SLIDE_THREADS, 0, &second);
}

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        if (calls[i].src.stride * calls[i].src.height > INT_MAX)
            status = halo_cuda_running_sums.launch(&calls[i], 1);
        else
            status = launch_plane(&calls[i]);
    }
    return status;
}

const struct halo_cuda_strategy halo_cuda_box_slide = {
    .base = {"box-slide",
             "8-bit boxes up to 257x257, in two launches whose cost hardly depends on the radius",
             can},
    .compute = 80,
    .launch = launch,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
