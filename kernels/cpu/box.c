/* SPDX-License-Identifier: BSD-2-Clause
 * The box by running sums: a window that moves by one sample gains one term and loses one, first
 * down the columns and then along the row, so the cost does not depend on the radius.
 *
 * A column holds at most 2049 samples of at most 16 bits, which is less than 2^28; a window 2049
 * such columns, with the rounding term N < 2^39. The quotient floor(N / area) is the high word of
 * N * m with m = ceil(2^64 / area) = (2^64 + e) / area, 0 < e < area: N * m / 2^64 = N / area +
 * N * e / (2^64 area), which reaches the next integer only if the second term is 1 / area or more,
 * that is if N * e >= 2^64; but N * e < 2^39 * 2^23. (area is odd, so it divides 2^64 only
 * where it is 1: there m would need 65 bits, and the filter is a copy.) */
#include "cpu.h"

#include <errno.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

struct box {
    const struct halo_job *job;
    int length;        /* samples in a row, all channels */
    uint32_t *columns; /* with radius_x ghost pixels on each side: sum over the window's rows */
    uint32_t *inner;   /* the first column that is no ghost */
    uint64_t area, reciprocal;
};

/* The row that stands for row y: its samples, or NULL where the constant does. */
static const void *source_row(const struct box *b, int y)
{
    const struct halo_plane *src = &b->job->src;
    const int sy = halo_border_index(y, src->height, b->job->conv->border);
    return sy == HALO_GHOST ? NULL : halo_plane_row(src, sy);
}

static void add_constant(const struct box *b, uint32_t v)
{
    for (int i = 0; i < b->length; i++)
        b->inner[i] += v;
}

/* columns += the row that enters the window - the one that leaves it. Unsigned sums may wrap on the
 * way and still end right. */
static void move_window(const struct box *b, int enters, int leaves)
{
    const struct halo_plane *src = &b->job->src;
    const void *in = source_row(b, enters), *out = source_row(b, leaves);
    uint32_t *restrict sums = b->inner;
    if (in && out && src->depth == 8) {
        const uint8_t *restrict p = in, *restrict q = out;
        for (int i = 0; i < b->length; i++)
            sums[i] += (uint32_t)(p[i] - q[i]);
        return;
    }
    const uint32_t ghost = (uint32_t)b->job->conv->border_value;
    for (int i = 0; i < b->length; i++) {
        sums[i] += in ? (uint32_t)halo_row_get(src, in, i) : ghost;
        sums[i] -= out ? (uint32_t)halo_row_get(src, out, i) : ghost;
    }
}

static void add_row(const struct box *b, int y)
{
    const struct halo_plane *src = &b->job->src;
    const void *row = source_row(b, y);
    if (!row)
        add_constant(b, (uint32_t)b->job->conv->border_value);
    for (int i = 0; row && i < b->length; i++)
        b->inner[i] += (uint32_t)halo_row_get(src, row, i);
}

/* The ghost columns are sums as well: of the columns that stand for them, or of the constant. */
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

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
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
    const size_t size = ((size_t)b.length + 2 * (size_t)ghosts + 2) * sizeof(uint32_t);
    b.columns = halo_cpu_scratch_get(scratch, size);
    if (!b.columns)
        return -ENOMEM;
    b.inner = b.columns + ghosts;

    memset(b.columns, 0, size);
    for (int y = y0 - c->radius_y; y <= y0 + c->radius_y; y++)
        add_row(&b, y);
    for (int y = y0; y < y1; y++) {
        fill_ghosts(&b);
        write_row(&b, y);
        move_window(&b, y + 1 + c->radius_y, y - c->radius_y);
    }
    return 0;
}

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_BOX;
}

const struct halo_cpu_strategy halo_cpu_running_sums = {
    .base = {.name = "running-sums", .about = "box, at a cost that no radius changes", .can = can},
    .band = band,
};
