/* SPDX-License-Identifier: BSD-2-Clause
 * Boxes by running sums: a window that moves by one sample gains one term and loses one, first down
 * the columns and then along the row, so the cost does not depend on the radius. Compiled once for
 * each instruction set (HALO_ISA).
 *
 * If a column fits 16 bits and a window is small enough, rows are computed by vectors
 * (box_words_tmpl.h).
 *
 * Otherwise, if the sum N of a window, including its rounding term, is below 2^31 (all boxes at 8
 * bits), 32 bits suffice: the windows of a row are differences of prefix sums, which are right even
 * if the prefix sums wrap, and with 2^k < area <= 2^(k+1) and m = ceil(2^(32+k) / area) the
 * quotient floor(N / area) is floor(N m / 2^(32+k)) (Granlund and Montgomery, "Division by
 * invariant integers using multiplication", 1994).
 *
 * If not, a column has at most 2049 samples of at most 16 bits, which is less than 2^28, and a
 * window 2049 such columns: N < 2^39. The quotient is the high word of N * m with m = ceil(2^64 /
 * area) = (2^64 + e) / area, 0 < e < area: N * m / 2^64 = N / area + N * e / (2^64 area), which
 * reaches the next integer only if the second term is 1 / area or more, that is if N * e >= 2^64;
 * but N * e < 2^39 * 2^23. (area is odd, so it divides 2^64 only if it is 1: then m would need 65
 * bits, but the filter is a copy.) */
#include "kernels/cpu/rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/rows_vector_tmpl.h"

__extension__ typedef unsigned __int128 uint128;

enum { LINE = 64 /* bytes */ };

struct box {
    const struct halo_job *job;
    int length;           /* samples in a row, all channels */
    int ghosts;           /* ghost columns on each side, all channels */
    const int *repeated;  /* of each ghost column, the one that it repeats, from the first one on */
    const void *constant; /* a row of the border's constant */
    void *inner;          /* the first column that is not a ghost: sum over the window's rows */
    uint64_t area, reciprocal;
    float unit;          /* the reciprocal, for words */
    uint32_t *prefix;    /* of a row's columns; NULL if 32 bits do not suffice */
    uint32_t multiplier; /* m and k of the 32-bit division */
    int more_shift;
};

typedef void write_row_fn(const struct box *b, int y); /* columns to samples */

/* The samples of the row that is used for row y. */
static const void *source_row(const struct box *b, int y)
{
    const struct halo_plane *src = &b->job->src;
    const int sy = halo_border_index(y, src->height, b->job->conv->border);
    return sy == HALO_GHOST ? b->constant : halo_plane_row(src, sy);
}

#define COLUMN   uint16_t
#define OF(name) name##_words
#include "kernels/cpu/box_columns_tmpl.h"
#undef COLUMN
#undef OF
#define COLUMN   uint32_t
#define OF(name) name##_wide
#include "kernels/cpu/box_columns_tmpl.h"
#undef COLUMN
#undef OF

#include "kernels/cpu/box_words_tmpl.h"

static inline unsigned divide(const struct box *b, uint64_t sum)
{
    return (unsigned)(((uint128)(sum + b->area / 2) * b->reciprocal) >> 64);
}

static void write_row(const struct box *b, int y)
{
    const struct halo_plane *dst = &b->job->dst;
    const int channels = dst->channels, ahead = b->ghosts;
    const int behind = ahead + channels, shift = dst->shift;
    const uint32_t *inner = b->inner;
    uint8_t *bytes = halo_plane_row(dst, y);
    uint16_t *words = halo_plane_row(dst, y);
    for (int ch = 0; ch < channels; ch++) {
        uint64_t sum = 0;
        for (int i = ch - ahead; i < ch + ahead + 1; i += channels)
            sum += inner[i];
        for (int i = ch; i < b->length; i += channels) {
            if (dst->depth == 8)
                bytes[i] = (uint8_t)divide(b, sum);
            else
                words[i] = (uint16_t)(divide(b, sum) << shift);
            sum += inner[i + behind];
            sum -= inner[i - ahead];
        }
    }
}

typedef uint32_t four __attribute__((vector_size(16)));

/* Prefix sums of the columns from the left, separately for each channel; four at a time, so that
 * only one addition depends on the previous four. */
static inline __attribute__((always_inline)) void sum_up(uint32_t *restrict prefix,
                                                         const uint32_t *restrict columns,
                                                         int count, int channels)
{
    const four zero = {0};
    four before = zero;
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        four v;
        memcpy(&v, columns + i, sizeof v);
        if (channels == 1)
            v += SHUFFLE(v, zero, 4, 0, 1, 2);
        v += SHUFFLE(v, zero, 4, 5, 0, 1);
        const four sums = v + before;
        memcpy(prefix + i, &sums, sizeof sums);
        before += channels == 1 ? SHUFFLE(v, v, 3, 3, 3, 3) : SHUFFLE(v, v, 2, 3, 2, 3);
    }
    for (; i < count; i++)
        prefix[i] = columns[i] + (i < channels ? 0 : prefix[i - channels]);
}

static void write_narrow(const struct box *b, int y)
{
    const struct halo_plane *dst = &b->job->dst;
    const int channels = dst->channels, ahead = b->ghosts;
    const int shift = dst->shift, more = b->more_shift;
    const uint32_t half = (uint32_t)b->area / 2, m = b->multiplier;
    /* The first window begins after a column of zeros. */
    uint32_t *zeros = b->prefix, *all = zeros + channels;
    for (int ch = 0; ch < channels; ch++)
        zeros[ch] = 0;
    const int count = b->length + 2 * ahead;
    const uint32_t *first = (const uint32_t *)b->inner - ahead;
    if (channels == 1)
        sum_up(all, first, count, 1);
    else
        sum_up(all, first, count, 2);

    const uint32_t *restrict right = all + 2 * ahead, *restrict left = zeros;
    if (dst->depth == 8) {
        uint8_t *restrict bytes = halo_plane_row(dst, y);
        for (int i = 0; i < b->length; i++)
            bytes[i] =
                (uint8_t)((uint32_t)((uint64_t)(right[i] - left[i] + half) * m >> 32) >> more);
    } else {
        uint16_t *restrict words = halo_plane_row(dst, y);
        for (int i = 0; i < b->length; i++)
            words[i] =
                (uint16_t)(((uint32_t)((uint64_t)(right[i] - left[i] + half) * m >> 32) >> more)
                           << shift);
    }
}

/* Sets up the 32-bit division and the prefix sums if 32 bits suffice. */
static void choose_width(struct box *b, uint32_t *room)
{
    const uint64_t largest = b->area * (uint64_t)halo_sample_max(b->job->src.depth) + b->area / 2;
    if (largest >= UINT64_C(1) << 31)
        return;
    b->prefix = room;
    while (UINT64_C(2) << b->more_shift < b->area)
        b->more_shift++;
    b->multiplier = (uint32_t)(((UINT64_C(1) << (32 + b->more_shift)) + b->area - 1) / b->area);
}

/* Finds the columns that the ghost columns repeat. The constant counts as column -1. */
static void find_repeated(const struct box *b, int *to)
{
    const struct halo_conv *c = b->job->conv;
    const int width = b->job->src.width, channels = b->job->src.channels;
    for (int i = 0; i < 2 * b->ghosts; i++) {
        const int x = i / channels - c->radius_x, far = x < 0 ? x : x + width;
        const int sx = halo_border_index(far, width, c->border);
        to[i] = sx == HALO_GHOST ? -1 : b->ghosts + sx * channels + i % channels;
    }
}

int HALO_BOX_BAND(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = job->conv;
    struct box b = {
        .job = job,
        .length = job->src.width * job->src.channels,
        .ghosts = c->radius_x * job->src.channels,
        .area = (uint64_t)(2 * c->radius_x + 1) * (uint64_t)(2 * c->radius_y + 1),
    };
    if (b.area == 1)
        return halo_cpu_reference.band(job, y0, y1, scratch);
    b.reciprocal = UINT64_MAX / b.area + 1;
    /* Vectors read up to a step before the ghosts and after them. */
    const size_t columns = (size_t)b.length + 2 * (size_t)b.ghosts + 2 * STEP;
    const size_t constants = (size_t)b.length * sizeof(uint16_t);
    const size_t repeated = 2 * (size_t)b.ghosts * sizeof(int);
    uint32_t *sums =
        halo_cpu_scratch_get(scratch, 2 * columns * sizeof *sums + repeated + constants);
    if (!sums)
        return -ENOMEM;
    memset(sums, 0, columns * sizeof *sums);
    find_repeated(&b, (int *)(sums + 2 * columns));
    b.repeated = (int *)(sums + 2 * columns);
    uint16_t *constant = (uint16_t *)(b.repeated + 2 * b.ghosts);
    for (int i = 0; i < b.length; i++)
        halo_row_put(&job->src, constant, i, c->border_value);
    b.constant = constant;

    write_row_fn *const from_words = choose_words(&b);
    if (from_words) {
        b.inner = (uint16_t *)sums + STEP + b.ghosts;
        slide_words(&b, y0, y1, from_words);
        return 0;
    }
    b.inner = sums + STEP + b.ghosts;
    choose_width(&b, sums + columns);
    slide_wide(&b, y0, y1, b.prefix ? write_narrow : write_row);
    return 0;
}
