/* SPDX-License-Identifier: BSD-2-Clause
 * The second kernel of box-slide: its columns and its rows. */
#ifndef HALO_BOX_SLIDE_CUH
#define HALO_BOX_SLIDE_CUH

#include "kernels/cuda/box_starts.cuh"
#include "kernels/cuda/tensor.cuh"

enum {
    SLIDE_WARPS = 4,
    SLIDE_THREADS = SLIDE_WARPS * 32,
    SLIDE_STEPS = 10, /* of a warp, with 16 outputs each */
    SLIDE_OUTPUTS = SLIDE_WARPS * SLIDE_STEPS * SLIDE_CHUNK,
    SLIDE_MAX_CHUNKS =
        /* including what the steps reach */
    (SLIDE_OUTPUTS + 2 * SLIDE_MAX_RADIUS + 32) / SLIDE_CHUNK,
    SLIDE_STRIDE = 33, /* in cells: 4 by 8, and one more to spread the chunks over the banks */
    SLIDE_PLANE =
        SLIDE_MAX_CHUNKS * SLIDE_STRIDE, /* size of the plane of low bytes; the plane of high bytes
                                          * follows */
    SLIDE_AHEAD = 8,                     /* rows */
    SLIDE_MAX_BEGIN = (2 * SLIDE_MAX_RADIUS + 14 + 31) / 32,
};

static_assert(2 * SLIDE_MAX_CHUNKS <= SLIDE_THREADS, "two threads to a chunk");

/* The masks of the steps: a word for each lane, for columns that enter and for columns that
 * leave. */
struct slide_mask {
    uint32_t begin[SLIDE_MAX_BEGIN][2][32]; /* from no sums to the first */
    uint32_t step[2][2][2][32];             /* by 2 and by 14; first and next 16 columns; enter,
                                             * leave */
};

struct slide_launch {
    struct slide_plane p;
    struct halo_plane dst;
    int halo_e;       /* a multiple of SLIDE_CHUNK */
    int enter, leave; /* elements from output 0 to the first entering and leaving column: multiples
                       * of 4 */
    int begin;        /* number of products of the beginning */
    bool long_step;   /* the step by 2 needs 32 columns, too */
    int half;         /* of the area */
    uint32_t multiplier;
    float scale; /* 1 / area */
    const struct slide_mask *mask;
};

static __device__ inline int slide_cell(int slot, int g)
{
    return slot / 4 * SLIDE_STRIDE + g * 4 + slot % 4;
}

/* What a thread reads from the rows that enter and leave the window. */
struct slide_source {
    const uint8_t *enter, *leave; /* its eight columns: in the rows 0, or with EDGE, at offset 0 */
    ptrdiff_t stride;
    const int *offsets; /* EDGE: offsets of the entering rows, then of the leaving ones; -1: ghost
                         * cells */
    uint32_t ghost;
};

/* Loads eight columns. Also reads bytes after the end of a row. */
template <bool EDGE>
static __device__ inline uint2 slide_load(const struct slide_source &s, const uint8_t *from,
                                          int row, int offset)
{
    if (!EDGE)
        return *(const uint2 *)(from + row * s.stride);
    const uint2 v = *(const uint2 *)(from + max(offset, 0));
    return offset < 0 ? make_uint2(s.ghost, s.ghost) : v;
}

/* 16 rows of column sums for half a chunk. EDGE: some of the rows are outside the plane. */
template <bool EDGE>
static __device__ inline void slide_columns_down(uint2 *cells, const struct slide_plane &p,
                                                 const struct slide_source &s, int chunk, int half)
{
    uint2 enters[SLIDE_AHEAD], leaves[SLIDE_AHEAD];
#pragma unroll
    for (int i = 1; i < SLIDE_AHEAD; i++) {
        enters[i] = slide_load<EDGE>(s, s.enter, i, s.offsets[i]);
        leaves[i] = slide_load<EDGE>(s, s.leave, i, s.offsets[SLIDE_ROWS + i]);
    }
    halo_wait_for_kernel_before();
    const uint4 start =
        ((const uint4 *)p.starts)[((ptrdiff_t)blockIdx.y * p.chunks + chunk) * 2 + half];
    uint32_t sums[4] = {start.x, start.y, start.z, start.w};
    uint32_t low[2], high[2];
#pragma unroll
    for (int row = 0; row < SLIDE_ROWS; row++) {
        const int i = row % SLIDE_AHEAD;
        if (row > 0) {
            sums[0] += slide_even(enters[i].x) - slide_even(leaves[i].x);
            sums[1] += slide_odd(enters[i].x) - slide_odd(leaves[i].x);
            sums[2] += slide_even(enters[i].y) - slide_even(leaves[i].y);
            sums[3] += slide_odd(enters[i].y) - slide_odd(leaves[i].y);
        }
        if (row + SLIDE_AHEAD < SLIDE_ROWS) {
            const int next = row + SLIDE_AHEAD;
            enters[i] = slide_load<EDGE>(s, s.enter, next, s.offsets[next]);
            leaves[i] = slide_load<EDGE>(s, s.leave, next, s.offsets[SLIDE_ROWS + next]);
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const uint32_t l = __byte_perm(sums[2 * j], sums[2 * j + 1], 0x6240);
            const uint32_t h = __byte_perm(sums[2 * j], sums[2 * j + 1], 0x7351);
            if (row % 2) {
                cells[row / 2 * 4 + j] = make_uint2(low[j], l);
                cells[SLIDE_PLANE + row / 2 * 4 + j] = make_uint2(high[j], h);
            }
            low[j] = l;
            high[j] = h;
        }
    }
}

/* Operands of a product, low bytes and high bytes: 16 columns that enter and 16 that leave, or 32
 * of one kind. */
struct slide_operands {
    uint32_t low[4], high[4];
};

static __device__ inline struct slide_operands slide_operands_at(const uint2 *enter,
                                                                 const uint2 *leave)
{
    const uint2 a = enter[0], b = leave[0], c = enter[SLIDE_PLANE], d = leave[SLIDE_PLANE];
    return {{a.x, a.y, b.x, b.y}, {c.x, c.y, d.x, d.y}};
}

static __device__ inline void slide_multiply(int (&low)[4], int (&high)[4],
                                             const struct slide_operands &c, const uint32_t (&b)[2])
{
    halo_mma_u8s8(low, c.low[0], c.low[1], c.low[2], c.low[3], b[0], b[1]);
    halo_mma_u8s8(high, c.high[0], c.high[1], c.high[2], c.high[3], b[0], b[1]);
}

/* A mean begins at bit 8. FLOATS: the sum includes HALO_BOX_BASE (box.cuh); otherwise it includes
 * half the area, and the mean is the upper half of a product. */
template <bool FLOATS>
static __device__ inline uint32_t slide_mean(int low, int high, const struct slide_launch &l)
{
    const int sum = high * 256 + low;
    return FLOATS ? halo_box_mean(sum, l.scale) : __umulhi((uint32_t)sum, l.multiplier);
}

/* The means of rows 2g and 2g + 1: two bytes each. */
template <bool FLOATS>
static __device__ inline void slide_means(uint32_t (&ret)[2], const int (&low)[4],
                                          const int (&high)[4], const struct slide_launch &l)
{
#pragma unroll
    for (int row = 0; row < 2; row++)
        ret[row] = __byte_perm(slide_mean<FLOATS>(low[2 * row], high[2 * row], l),
                               slide_mean<FLOATS>(low[2 * row + 1], high[2 * row + 1], l), 0x0051);
}

/* A lane's part of slide_mask. */
struct slide_lane {
    uint32_t begin[SLIDE_MAX_BEGIN][2], step[2][2][2];
};

static __device__ inline void slide_load_mask(struct slide_lane &ret, const struct slide_launch &l)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < SLIDE_MAX_BEGIN; i++) {
        ret.begin[i][0] = ret.begin[i][1] = 0;
        if (i < l.begin) {
            ret.begin[i][0] = l.mask->begin[i][0][lane];
            ret.begin[i][1] = l.mask->begin[i][1][lane];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        ret.step[i / 4][i / 2 % 2][i % 2] = l.mask->step[i / 4][i / 2 % 2][i % 2][lane];
}

template <bool FLOATS>
static __device__ inline void slide_rows(const struct slide_launch &l,
                                         const struct slide_lane &mask, const uint2 *cells, int e,
                                         int y)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int first = threadIdx.x / 32 * SLIDE_STEPS * SLIDE_CHUNK; /* output */
    const int elements = l.dst.width * l.dst.channels;
    const int enter_slot = (l.halo_e + first + l.enter) / 4 + t;
    const int leave_slot = (l.halo_e + first + l.leave) / 4 + t;
    const uint2 *enter_at = cells + slide_cell(enter_slot, g);
    const uint2 *leave_at = cells + slide_cell(leave_slot, g);
    e += first;
    if (e >= elements)
        return;

    int low[4], high[4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
        low[i] = FLOATS ? (int)HALO_BOX_BASE : l.half;
#pragma unroll
    for (int i = 0; i < SLIDE_MAX_BEGIN; i++)
        if (i < l.begin)
            slide_multiply(low, high,
                           slide_operands_at(leave_at + 2 * i * SLIDE_STRIDE,
                                             leave_at + (2 * i + 1) * SLIDE_STRIDE),
                           mask.begin[i]);

    /* Of two steps a lane has a word each; with its neighbour's it stores two in a row. */
    const bool odd = t % 2;
    const int column = odd ? SLIDE_CHUNK + 4 * (t - 1) : 4 * t;
    uint8_t *out = (uint8_t *)l.dst.data + (y + 2 * g) * l.dst.stride + e + column;
    const int rows_left = l.dst.height - y - 2 * g;
    int left_e = min((int)(SLIDE_STEPS * SLIDE_CHUNK), elements - e);
    struct slide_operands columns = slide_operands_at(enter_at, leave_at);
    for (; left_e > 0; left_e -= 2 * SLIDE_CHUNK) {
        uint32_t words[2][2]; /* step, row */
#pragma unroll
        for (int i = 0; i < 2; i++) {
            enter_at += SLIDE_STRIDE;
            leave_at += SLIDE_STRIDE;
            const struct slide_operands next = slide_operands_at(enter_at, leave_at);
            uint32_t left[2], right[2];
            slide_means<FLOATS>(left, low, high, l);
            slide_multiply(low, high, columns, mask.step[0][0]);
            if (l.long_step)
                slide_multiply(low, high, next, mask.step[0][1]);
            slide_means<FLOATS>(right, low, high, l);
            slide_multiply(low, high, columns, mask.step[1][0]);
            slide_multiply(low, high, next, mask.step[1][1]);
            columns = next;
            words[i][0] = __byte_perm(left[0], right[0], 0x5410);
            words[i][1] = __byte_perm(left[1], right[1], 0x5410);
        }
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const uint32_t other =
                __shfl_xor_sync(0xffffffff, odd ? words[0][row] : words[1][row], 1);
            const uint2 pair = make_uint2(odd ? other : words[0][row], odd ? words[1][row] : other);
            if (column < left_e && row < rows_left)
                *(uint2 *)(out + row * l.dst.stride) = pair;
        }
        out += 2 * SLIDE_CHUNK;
    }
}

#endif
