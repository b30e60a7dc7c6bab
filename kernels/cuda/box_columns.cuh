/* SPDX-License-Identifier: BSD-2-Clause
 * The columns of box-stream: running sums, from global to shared memory. */
#ifndef HALO_BOX_COLUMNS_CUH
#define HALO_BOX_COLUMNS_CUH

#include "kernels/cuda/box.cuh"

enum {
    HALO_BOX_WIDTH = 512, /* columns of a block, including the halo */
    HALO_BOX_COLUMN_THREADS = HALO_BOX_WIDTH / 4,
    HALO_BOX_THREADS = 2 * HALO_BOX_COLUMN_THREADS, /* the other threads use the sums */
    HALO_BOX_BATCH = 16,                            /* rows */

    /* A buffer: the low bytes of a batch of sums, and the high bytes. Rows y and y + 8 are
     * interleaved word by word; the padding keeps rows of different y in different banks. */
    HALO_BOX_PAIR_STRIDE = 2 * HALO_BOX_WIDTH + 64, /* bytes */
    HALO_BOX_PLANE = HALO_BOX_BATCH / 2 * HALO_BOX_PAIR_STRIDE,

    /* Named barriers of all threads: two of each kind, one for each buffer. */
    HALO_BOX_FULL = 1,
    HALO_BOX_FREE = 3,
};

/* Four columns of a row, in words; at edges, the two words from which each is made. */
template <typename Sample, bool EDGE>
struct box_cells {
    uint32_t a[sizeof(Sample)], b[sizeof(Sample)];
};

/* A thread's columns, and the rows: offset[y] is the offset of row y from src.data, -1 for a row of
 * ghost cells. */
template <typename Sample>
struct halo_box_source {
    const uint8_t *data;
    const int *offset;
    struct halo_word_source columns[sizeof(Sample)];
    int stride; /* offsets fit 31 bits */
    uint32_t ghost;
    int shift;
    uint32_t most; /* the largest sample, twice */
};

static __device__ inline void halo_box_sync(int id)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"((int)HALO_BOX_THREADS) : "memory");
}

static __device__ inline void halo_box_arrive(int id)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"((int)HALO_BOX_THREADS) : "memory");
}

template <bool EDGE, typename Sample>
static __device__ inline struct box_cells<Sample, EDGE> load_cells(
    const struct halo_box_source<Sample> &s, int y) {
    constexpr int WORDS = sizeof(Sample);
    struct box_cells<Sample, EDGE> ret;
    if (!EDGE) {
        const uint8_t *from = s.data + (uint32_t)(y * s.stride + s.columns[0].a);
        if (WORDS == 1) {
            ret.a[0] = *(const uint32_t *)from;
        } else {
            const uint2 two = *(const uint2 *)from;
            ret.a[0] = two.x;
            ret.a[WORDS - 1] = two.y;
        }
        return ret;
    }
    const int at = s.offset[y];
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        ret.a[i] = ret.b[i] = s.ghost;
        if ((at | s.columns[i].a) >= 0) /* a single test becomes a predicate, not a branch */
            ret.a[i] = *(const uint32_t *)(s.data + (uint32_t)(at + s.columns[i].a));
        if ((at | s.columns[i].b) >= 0)
            ret.b[i] = *(const uint32_t *)(s.data + (uint32_t)(at + s.columns[i].b));
    }
    return ret;
}

/* Four cells as two pairs: for bytes, those at even and those at odd positions. */
template <bool EDGE, typename Sample>
static __device__ inline uint2 pairs_of(const struct box_cells<Sample, EDGE> &cells,
                                        const struct halo_box_source<Sample> &s)
{
    constexpr int WORDS = sizeof(Sample);
    uint32_t word[WORDS];
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        word[i] = EDGE ? __byte_perm(cells.a[i], cells.b[i], s.columns[i].select) : cells.a[i];
    if constexpr (WORDS == 1) {
        return {__byte_perm(word[0], 0, 0x4240), __byte_perm(word[0], 0, 0x4341)};
    } else {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            word[i] = __vminu2(word[i] >> s.shift & (0xffffu >> s.shift) * 0x10001u, s.most);
        return {word[0], word[1]};
    }
}

/* Sums every second row from first up to, but not including, end; each half of the block's threads
 * begins at a different row. */
template <bool EDGE, typename Sample>
static __device__ inline uint2 halo_box_sum_rows(const struct halo_box_source<Sample> &s, int first,
                                                 int end)
{
    uint2 sum = {0, 0};
#pragma unroll 8
    for (int y = first + (int)threadIdx.x / HALO_BOX_COLUMN_THREADS; y < end;
         y += HALO_BOX_THREADS / HALO_BOX_COLUMN_THREADS) {
        const uint2 pairs = pairs_of<EDGE>(load_cells<EDGE>(s, y), s);
        sum.x += pairs.x;
        sum.y += pairs.y;
    }
    return sum;
}

/* A thread's columns on their way down: the sums of the window, and up to a batch of rows that are
 * loaded ahead, also after the last row, which no window includes. */
template <bool EDGE, typename Sample>
struct halo_box_window {
    static constexpr int AHEAD =
        /* registers are scarce */
        EDGE && sizeof(Sample) == 2 ? HALO_BOX_BATCH / 2 : HALO_BOX_BATCH;
    struct box_cells<Sample, EDGE> enters[AHEAD], leaves[AHEAD];
    uint2 sum;
};

/* This thread's half of the window above row y; the caller adds the other half. */
template <bool EDGE, typename Sample>
static __device__ inline void halo_box_begin_columns(struct halo_box_window<EDGE, Sample> &w,
                                                     const struct halo_box_source<Sample> &s, int y,
                                                     int radius)
{
    constexpr int AHEAD = halo_box_window<EDGE, Sample>::AHEAD;
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        w.enters[i] = load_cells<EDGE>(s, y + i + radius);
    w.sum = halo_box_sum_rows<EDGE>(s, y - 1 - radius, y + radius);
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        w.leaves[i] = load_cells<EDGE>(s, y + i - radius - 1);
}

template <bool EDGE, typename Sample>
static __device__ inline void halo_box_run_columns(struct halo_box_window<EDGE, Sample> &w,
                                                   const struct halo_box_source<Sample> &s,
                                                   uint8_t *buffers, int y, int radius, int batches)
{
    constexpr int AHEAD = halo_box_window<EDGE, Sample>::AHEAD;
    constexpr bool BYTES = sizeof(Sample) == 1;
    for (int batch = 0; batch < batches; batch++) {
        uint8_t *to = buffers + batch % 2 * 2 * HALO_BOX_PLANE + threadIdx.x * 8;
        uint32_t low[HALO_BOX_BATCH / 2], high[HALO_BOX_BATCH / 2];
        if (batch >= 2)
            halo_box_sync(HALO_BOX_FREE + batch % 2);
#pragma unroll
        for (int i = 0; i < HALO_BOX_BATCH; i++) {
            const uint2 in = pairs_of<EDGE>(w.enters[i % AHEAD], s);
            const uint2 out = pairs_of<EDGE>(w.leaves[i % AHEAD], s);
            w.sum.x += in.x - out.x;
            w.sum.y += in.y - out.y;
            const uint32_t l = __byte_perm(w.sum.x, w.sum.y, BYTES ? 0x6240 : 0x6420);
            const uint32_t h = __byte_perm(w.sum.x, w.sum.y, BYTES ? 0x7351 : 0x7531);
            if (i < HALO_BOX_BATCH / 2) {
                low[i] = l;
                high[i] = h;
            } else {
                const int pair = i - HALO_BOX_BATCH / 2;
                *(uint2 *)(to + pair * HALO_BOX_PAIR_STRIDE) = make_uint2(low[pair], l);
                *(uint2 *)(to + HALO_BOX_PLANE + pair * HALO_BOX_PAIR_STRIDE) =
                    make_uint2(high[pair], h);
            }
            w.enters[i % AHEAD] = load_cells<EDGE>(s, y + i + AHEAD + radius);
            w.leaves[i % AHEAD] = load_cells<EDGE>(s, y + i + AHEAD - radius - 1);
        }
        y += HALO_BOX_BATCH;
        halo_box_arrive(HALO_BOX_FULL + batch % 2);
    }
}

#endif
