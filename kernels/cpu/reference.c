/* SPDX-License-Identifier: BSD-2-Clause
 * The truth: conv.h written down as plainly as C allows. Every other strategy on every backend is
 * compared with this one, so it has no tricks; only its row sums are kept from row to row. */
#include "cpu.h"

#include <errno.h>

static int64_t sample(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_plane *src = &job->src;
    const int sx = halo_border_index(x, src->width, job->conv->border);
    const int sy = halo_border_index(y, src->height, job->conv->border);
    if (sx == HALO_GHOST || sy == HALO_GHOST)
        return job->conv->border_value;
    return halo_row_get(src, halo_plane_row(src, sy), sx * src->channels + channel);
}

static void put(const struct halo_job *job, int x, int y, int channel, int64_t v)
{
    const int64_t max = halo_sample_max(job->dst.depth);
    const int64_t clamped = v < 0 ? 0 : v > max ? max : v;
    halo_row_put(&job->dst, halo_plane_row(&job->dst, y), x * job->dst.channels + channel,
                 (int)clamped);
}

/* What was put there before. */
static int64_t result(const struct halo_job *job, int x, int y, int channel)
{
    return halo_row_get(&job->dst, halo_plane_row(&job->dst, y), x * job->dst.channels + channel);
}

static int64_t dense(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int rx = c->radius_x, ry = c->radius_y;
    int64_t sum = c->bias;
    for (int j = 0; j <= 2 * ry; j++) {
        for (int i = 0; i <= 2 * rx; i++)
            sum += c->mask[j * (2 * rx + 1) + i] * sample(job, x + i - rx, y + j - ry, channel);
    }
    return sum >> c->mask_bits;
}

/* What the row pass leaves for the column pass: T of a Gaussian, the plain sum of a box. */
static int64_t row_sum(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int rx = c->radius_x;
    int64_t sum = 0;
    for (int i = 0; i <= 2 * rx; i++) {
        const int64_t weight = c->kind == HALO_CONV_BOX ? 1 : c->row[i];
        sum += weight * sample(job, x + i - rx, y, channel);
    }
    if (c->kind == HALO_CONV_BOX)
        return sum;
    const int shift = c->row_bits - c->frac;
    return (sum + (INT64_C(1) << (shift - 1))) >> shift;
}

/* sums points at row y - radius_y of this column. */
static int64_t column_sum(const struct halo_conv *c, const int64_t *sums, size_t stride)
{
    const int ry = c->radius_y;
    int64_t sum = 0;
    for (int j = 0; j <= 2 * ry; j++)
        sum += (c->kind == HALO_CONV_BOX ? 1 : c->col[j]) * sums[(size_t)j * stride];
    if (c->kind == HALO_CONV_BOX) {
        const int64_t area = (int64_t)(2 * c->radius_x + 1) * (2 * ry + 1);
        return (sum + area / 2) / area;
    }
    const int shift = c->col_bits + c->frac;
    return (sum + (INT64_C(1) << (shift - 1))) >> shift;
}

static int two_passes(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const int ry = job->conv->radius_y, width = job->src.width, channels = job->src.channels;
    const size_t stride = (size_t)width * (size_t)channels;
    int64_t *sums =
        halo_cpu_scratch_get(scratch, stride * (size_t)(y1 - y0 + 2 * ry) * sizeof(*sums));
    if (!sums)
        return -ENOMEM;

    int64_t *next = sums;
    for (int y = y0 - ry; y < y1 + ry; y++) {
        for (int i = 0; i < width * channels; i++)
            *next++ = row_sum(job, i / channels, y, i % channels);
    }
    for (int y = y0; y < y1; y++) {
        for (int i = 0; i < width * channels; i++) {
            const int64_t *column = sums + (size_t)(y - y0) * stride + (size_t)i;
            put(job, i / channels, y, i % channels, column_sum(job->conv, column, stride));
        }
    }
    return 0;
}

/* Rounded down, one binary digit after another from the highest. */
static uint64_t root(uint64_t v)
{
    uint64_t r = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1) {
        if ((r | bit) * (r | bit) <= v)
            r |= bit;
    }
    return r;
}

static int64_t gradient(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    int64_t a = 0, b = 0;
    for (int k = 0; k < 9; k++) {
        const int64_t p = sample(job, x + k % 3 - 1, y + k / 3 - 1, channel);
        a += c->mask[k] * p;
        b += c->mask[9 + k] * p;
    }
    const uint64_t square = (uint64_t)(a * a + b * b);
    const uint64_t t = (square < c->limit ? square : c->limit) * c->scale >> c->scale_bits;
    return ((int64_t)root(t) + c->bias) >> c->mask_bits;
}

/* The value of the block whose upper left pixel is x, y. */
static int64_t block(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int end_x = x + c->block_w < job->src.width ? x + c->block_w : job->src.width;
    const int end_y = y + c->block_h < job->src.height ? y + c->block_h : job->src.height;
    int64_t sum = 0, least = INT64_MAX, most = 0;
    for (int j = y; j < end_y; j++) {
        for (int i = x; i < end_x; i++) {
            const int64_t p = sample(job, i, j, channel);
            sum += p;
            least = p < least ? p : least;
            most = p > most ? p : most;
        }
    }
    const int64_t n = (int64_t)(end_x - x) * (end_y - y);
    return c->mode == HALO_PIXELIZE_MIN   ? least
           : c->mode == HALO_PIXELIZE_MAX ? most
                                          : (sum + n / 2) / n;
}

/* y0 is the first row of a block. */
static int blocks(const struct halo_job *job, int y0, int y1)
{
    const struct halo_conv *c = job->conv;
    for (int y = y0; y < y1; y++) {
        const int first = y - (y - y0) % c->block_h;
        for (int x = 0; x < job->src.width; x++) {
            for (int ch = 0; ch < job->src.channels; ch++) {
                if (y > first)
                    put(job, x, y, ch, result(job, x, first, ch));
                else if (x % c->block_w)
                    put(job, x, y, ch, result(job, x - 1, y, ch));
                else
                    put(job, x, y, ch, block(job, x, y, ch));
            }
        }
    }
    return 0;
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const enum halo_conv_kind kind = job->conv->kind;
    if (kind == HALO_CONV_SEPARABLE || kind == HALO_CONV_BOX)
        return two_passes(job, y0, y1, scratch);
    if (kind == HALO_CONV_PIXELIZE)
        return blocks(job, y0, y1);

    for (int y = y0; y < y1; y++) {
        for (int x = 0; x < job->src.width; x++) {
            for (int ch = 0; ch < job->src.channels; ch++)
                put(job, x, y, ch,
                    kind == HALO_CONV_COPY       ? sample(job, x, y, ch)
                    : kind == HALO_CONV_GRADIENT ? gradient(job, x, y, ch)
                                                 : dense(job, x, y, ch));
        }
    }
    return 0;
}

const struct halo_cpu_strategy halo_cpu_reference = {
    .base = {.name = "reference", .about = "plain C, one sample after another: the truth"},
    .band = band,
};
