/* SPDX-License-Identifier: BSD-2-Clause
 * The box by running sums: a window that moves by one sample gains one term and loses one, first down
 * the columns and then along the row, so the cost does not depend on the radius.
 *
 * A window holds at most 2049 * 2049 samples of at most 1023: the sum, at most 4294964223, just fits 32
 * bits, with the rounding term it is N < 2^33. The quotient floor(N / area) is the high word of N * m
 * with m = ceil(2^64 / area) = (2^64 + e) / area, 0 < e < area: N * m / 2^64 = N / area + N * e / (2^64
 * area), which reaches the next integer only if the second term is 1 / area or more, that is if
 * N * e >= 2^64; but N * e < 2^33 * 2^23. (area is odd, so it divides 2^64 only where it is 1: there m
 * would need 65 bits, and the filter is a copy.) */
#include "cpu.h"

#include <errno.h>

__extension__ typedef unsigned __int128 uint128;

struct box {
    const struct halo_job *job;
    int length;        /* samples in a row, all channels */
    uint32_t *columns; /* with radius_x ghost pixels on each side: sum over the window's rows */
    uint32_t *inner;   /* the first column that is no ghost */
    uint64_t area, reciprocal;
};

/* columns += sign * row y; unsigned sums may wrap on the way and still end right. */
static void add_row(const struct box *b, int y, uint32_t sign)
{
    const struct halo_plane *src = &b->job->src;
    const int sy = halo_border_index(y, src->height, b->job->conv->border);
    uint32_t *restrict sums = b->inner;
    if (sy == HALO_GHOST) {
        const uint32_t v = sign * (uint32_t)b->job->conv->border_value;
        for (int i = 0; i < b->length; i++)
            sums[i] += v;
        return;
    }
    const void *row = halo_plane_row(src, sy);
    if (src->depth == 8) {
        const uint8_t *restrict bytes = row;
        for (int i = 0; i < b->length; i++)
            sums[i] += sign * bytes[i];
        return;
    }
    for (int i = 0; i < b->length; i++)
        sums[i] += sign * (uint32_t)halo_row_get(src, row, i);
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

static void write_row(const struct box *b, int y)
{
    const struct halo_plane *dst = &b->job->dst;
    const int channels = dst->channels, ahead = b->job->conv->radius_x * channels;
    void *row = halo_plane_row(dst, y);
    for (int ch = 0; ch < channels; ch++) {
        uint32_t sum = 0;
        for (int i = -ahead; i < ahead; i += channels)
            sum += b->inner[i + ch];
        for (int i = ch; i < b->length; i += channels) {
            sum += b->inner[i + ahead];
            const uint64_t n = sum + b->area / 2;
            const uint64_t q =
                b->area == 1 ? n : (uint64_t)(((uint128)n * b->reciprocal) >> 64);
            halo_row_put(dst, row, i, (int)q);
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
    b.reciprocal = UINT64_MAX / b.area + 1;
    b.columns =
        halo_cpu_scratch_get(scratch, ((size_t)b.length + 2 * (size_t)ghosts) * sizeof(uint32_t));
    if (!b.columns)
        return -ENOMEM;
    b.inner = b.columns + ghosts;

    for (int i = 0; i < b.length; i++)
        b.inner[i] = 0;
    for (int y = y0 - c->radius_y; y < y0 + c->radius_y; y++)
        add_row(&b, y, 1);
    for (int y = y0; y < y1; y++) {
        add_row(&b, y + c->radius_y, 1);
        fill_ghosts(&b);
        write_row(&b, y);
        add_row(&b, y - c->radius_y, -1u);
    }
    return 0;
}

static bool can(const struct halo_conv *conv)
{
    return conv->kind == HALO_CONV_BOX;
}

const struct halo_cpu_strategy halo_cpu_running_sums = {
    .base = {.name = "running-sums", .about = "box, at a cost that no radius changes", .can = can},
    .band = band,
};
