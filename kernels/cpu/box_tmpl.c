/* SPDX-License-Identifier: BSD-2-Clause
 * Boxes by running sums: a window that moves by one sample gains one term and loses one, first down
 * the columns and then along the row, so the cost does not depend on the radius. Compiled once for
 * each instruction set (HALO_ISA).
 *
 * If the sum N of a window, including its rounding term, is below 2^31 (all boxes at 8 bits), 32
 * bits suffice: the windows of a row are differences of prefix sums, which are right even if the
 * prefix sums wrap, and with 2^k < area <= 2^(k+1) and m = ceil(2^(32+k) / area) the quotient
 * floor(N / area) is floor(N m / 2^(32+k)) (Granlund and Montgomery, "Division by invariant
 * integers using multiplication", 1994).
 *
 * Otherwise a column has at most 2049 samples of at most 16 bits, which is less than 2^28, and a
 * window 2049 such columns: N < 2^39. The quotient is the high word of N * m with m = ceil(2^64 /
 * area) = (2^64 + e) / area, 0 < e < area: N * m / 2^64 = N / area + N * e / (2^64 area), which
 * reaches the next integer only if the second term is 1 / area or more, that is if N * e >= 2^64;
 * but N * e < 2^39 * 2^23. (area is odd, so it divides 2^64 only if it is 1: then m would need 65
 * bits, but the filter is a copy.) */
#include "kernels/cpu/box.h"

#include <errno.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

struct box {
    const struct halo_job *job;
    int length;        /* samples in a row, all channels */
    uint32_t *columns; /* with radius_x ghost pixels on each side: sum over the window's rows */
    uint32_t *inner;   /* the first column that is not a ghost */
    uint64_t area, reciprocal;
    uint32_t *prefix;    /* of a row's columns; NULL if 32 bits do not suffice */
    uint32_t multiplier; /* m and k of the 32-bit division */
    int more_shift;
};

/* The samples of the row that is used for row y; NULL: the constant. */
static const void *source_row(const struct box *b, int y)
{
    const struct halo_plane *src = &b->job->src;
    const int sy = halo_border_index(y, src->height, b->job->conv->border);
    return sy == HALO_GHOST ? NULL : halo_plane_row(src, sy);
}

/* columns += factor times a row; factor is 1, or -1 in unsigned arithmetic, in which the result is
 * right even if intermediate sums wrap. */
static void add_row(const struct box *b, const void *row, uint32_t factor)
{
    const struct halo_plane *src = &b->job->src;
    const int length = b->length, shift = src->shift;
    const uint32_t max = (uint32_t)halo_sample_max(src->depth);
    uint32_t *restrict sums = b->inner;
    if (!row) {
        const uint32_t v = factor * (uint32_t)b->job->conv->border_value;
        for (int i = 0; i < length; i++)
            sums[i] += v;
    } else if (src->depth == 8) {
        const uint8_t *restrict bytes = row;
        for (int i = 0; i < length; i++)
            sums[i] += factor * bytes[i];
    } else {
        const uint16_t *restrict words = row;
        for (int i = 0; i < length; i++) {
            const uint32_t v = (uint32_t)words[i] >> shift;
            sums[i] += factor * (v < max ? v : max);
        }
    }
}

/* One row enters the window and one leaves it. */
static void move_window(const struct box *b, int enters, int leaves)
{
    const struct halo_plane *src = &b->job->src;
    const void *in = source_row(b, enters), *out = source_row(b, leaves);
    if (in && out && src->depth == 8) {
        const uint8_t *restrict p = in, *restrict q = out;
        uint32_t *restrict sums = b->inner;
        for (int i = 0; i < b->length; i++)
            sums[i] += (uint32_t)(p[i] - q[i]);
        return;
    }
    add_row(b, in, 1);
    add_row(b, out, UINT32_MAX);
}

/* Fills the ghost columns, which are sums, too: of the columns that they repeat, or of the
 * constant. */
static void fill_ghosts(const struct box *b)
{
    const struct halo_conv *c = b->job->conv;
    const int width = b->job->src.width, channels = b->job->src.channels;
    const uint32_t constant = (uint32_t)(c->border_value * (2 * c->radius_y + 1));
    for (int i = 1; i <= c->radius_x; i++) {
        const int xs[2] = {-i, width - 1 + i};
        for (int side = 0; side < 2; side++) {
            const int sx = halo_border_index(xs[side], width, c->border);
            for (int ch = 0; ch < channels; ch++)
                b->inner[xs[side] * channels + ch] =
                    sx == HALO_GHOST ? constant : b->inner[sx * channels + ch];
        }
    }
}

static inline unsigned divide(const struct box *b, uint64_t sum)
{
    return (unsigned)(((uint128)(sum + b->area / 2) * b->reciprocal) >> 64);
}

static void write_row(const struct box *b, int y)
{
    const struct halo_plane *dst = &b->job->dst;
    const int channels = dst->channels, ahead = b->job->conv->radius_x * channels;
    const int behind = ahead + channels, shift = dst->shift;
    uint8_t *bytes = halo_plane_row(dst, y);
    uint16_t *words = halo_plane_row(dst, y);
    for (int ch = 0; ch < channels; ch++) {
        uint64_t sum = 0;
        for (int i = ch - ahead; i < ch + ahead + 1; i += channels)
            sum += b->inner[i];
        for (int i = ch; i < b->length; i += channels) {
            if (dst->depth == 8)
                bytes[i] = (uint8_t)divide(b, sum);
            else
                words[i] = (uint16_t)(divide(b, sum) << shift);
            sum += b->inner[i + behind];
            sum -= b->inner[i - ahead];
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
            v += __builtin_shuffle(v, zero, (four){4, 0, 1, 2});
        v += __builtin_shuffle(v, zero, (four){4, 5, 0, 1});
        const four sums = v + before;
        memcpy(prefix + i, &sums, sizeof sums);
        before += channels == 1 ? __builtin_shuffle(v, (four){3, 3, 3, 3})
                                : __builtin_shuffle(v, (four){2, 3, 2, 3});
    }
    for (; i < count; i++)
        prefix[i] = columns[i] + (i < channels ? 0 : prefix[i - channels]);
}

static void write_narrow(const struct box *b, int y)
{
    const struct halo_plane *dst = &b->job->dst;
    const int channels = dst->channels, ahead = b->job->conv->radius_x * channels;
    const int shift = dst->shift, more = b->more_shift;
    const uint32_t half = (uint32_t)b->area / 2, m = b->multiplier;
    /* The first window begins after a column of zeros. */
    uint32_t *zeros = b->prefix, *all = zeros + channels;
    for (int ch = 0; ch < channels; ch++)
        zeros[ch] = 0;
    const int count = b->length + 2 * ahead;
    if (channels == 1)
        sum_up(all, b->inner - ahead, count, 1);
    else
        sum_up(all, b->inner - ahead, count, 2);

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

int HALO_BOX_BAND(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = job->conv;
    const int ghosts = c->radius_x * job->src.channels;
    struct box b = {
        .job = job,
        .length = job->src.width * job->src.channels,
        .area = (uint64_t)(2 * c->radius_x + 1) * (uint64_t)(2 * c->radius_y + 1),
    };
    if (b.area == 1)
        return halo_cpu_reference.band(job, y0, y1, scratch);
    b.reciprocal = UINT64_MAX / b.area + 1;
    /* One pixel more than the ghosts: the window moves on once after the last sample. */
    const size_t columns = (size_t)b.length + 2 * (size_t)ghosts + 2;
    b.columns = halo_cpu_scratch_get(scratch, 2 * columns * sizeof(uint32_t));
    if (!b.columns)
        return -ENOMEM;
    b.inner = b.columns + ghosts;
    choose_width(&b, b.columns + columns);

    memset(b.columns, 0, columns * sizeof(uint32_t));
    for (int y = y0 - c->radius_y; y <= y0 + c->radius_y; y++)
        add_row(&b, source_row(&b, y), 1);
    for (int y = y0; y < y1; y++) {
        fill_ghosts(&b);
        if (b.prefix)
            write_narrow(&b, y);
        else
            write_row(&b, y);
        move_window(&b, y + 1 + c->radius_y, y - c->radius_y);
    }
    return 0;
}
