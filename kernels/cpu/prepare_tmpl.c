/* SPDX-License-Identifier: BSD-2-Clause
 * Inputs of networks, vectorised along the row; compiled once for each instruction set. */
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/prepare.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- SCALE ---- */

/* Callers pass constants for `bytes` and `begin`. */
static inline __attribute__((always_inline)) void add_rows(const struct halo_prepare_rows *rows,
                                                           uint32_t *restrict sums, int bytes,
                                                           bool begin)
{
    const uint8_t *restrict a8 = rows->row[0], *restrict b8 = rows->row[1];
    const uint16_t *restrict a16 = rows->row[0], *restrict b16 = rows->row[1];
    const uint32_t v = (uint32_t)rows->weight[0], w = (uint32_t)rows->weight[1];
    const int count = rows->samples, depth = rows->depth, shift = rows->shift;
    for (int i = 0; i < count; i++) {
        const uint32_t a = bytes == 1 ? a8[i] : (uint32_t)halo_sample_value(a16[i], depth, shift);
        const uint32_t b = bytes == 1 ? b8[i] : (uint32_t)halo_sample_value(b16[i], depth, shift);
        sums[i] = (begin ? 0 : sums[i]) + v * a + w * b;
    }
}

static void add(const struct halo_prepare_rows *rows, uint32_t *sums, bool begin)
{
    if (rows->depth == 8 && begin)
        add_rows(rows, sums, 1, true);
    else if (rows->depth == 8)
        add_rows(rows, sums, 1, false);
    else if (begin)
        add_rows(rows, sums, 2, true);
    else
        add_rows(rows, sums, 2, false);
}

static inline __attribute__((always_inline)) void narrow_by(const uint32_t *restrict sums,
                                                            int channels, int count, int depth,
                                                            int16_t *restrict values)
{
    const uint32_t half = UINT32_C(1) << (depth - 3);
    for (int i = 0; i < count; i++)
        values[i] = (int16_t)((int32_t)((sums[i * channels] + half) >> (depth - 2)) - 32768);
}

static void narrow(const uint32_t *sums, int channels, int count, int depth, int16_t *values)
{
    if (channels == 1)
        narrow_by(sums, 1, count, depth, values);
    else if (channels == 2)
        narrow_by(sums, 2, count, depth, values);
    else
        narrow_by(sums, channels, count, depth, values);
    memset(values + count, 0, HALO_PREPARE_TAPS * sizeof *values);
}

typedef int32_t four __attribute__((vector_size(16)));

/* Sums of products of four pairs of values and weights, of which at most two have the same lane. */
static inline four products(const int16_t *value, const int16_t *weight)
{
#if defined(__SSE2__)
    return (four)_mm_madd_epi16(_mm_loadu_si128((const __m128i *)value),
                                _mm_loadu_si128((const __m128i *)weight));
#else
    four ret;
    for (int i = 0; i < 4; i++)
        ret[i] = value[i] * weight[i] + value[i + 4] * weight[i + 4];
    return ret;
#endif
}

/* one: no value of the axis has more than HALO_PREPARE_TAPS taps. */
static inline __attribute__((always_inline)) four value_products(
    const struct halo_prepare_axis *axis, const int16_t *values, int i, bool one)
{
    const int16_t *value = values + axis->first[i];
    if (one)
        return products(value, axis->weight + (ptrdiff_t)i * HALO_PREPARE_TAPS);
    const int16_t *weight = axis->weight + axis->start[i];
    const int16_t *end = axis->weight + axis->start[i + 1];
    four sum = products(value, weight);
    while ((weight += HALO_PREPARE_TAPS) < end)
        sum += products(value += HALO_PREPARE_TAPS, weight);
    return sum;
}

/* The weights' sum is 2^14, and 32768 has been subtracted from each value. */
static inline four finished(four sum)
{
    return ((sum + (1 << (HALO_PREPARE_BITS - 1))) >> HALO_PREPARE_BITS) + 32768;
}

static inline __attribute__((always_inline)) void across_by(const struct halo_prepare_axis *axis,
                                                            const int16_t *values, uint16_t *ret,
                                                            bool one)
{
    int i = 0;
    for (; i + 4 <= axis->count; i += 4) {
        const four a = value_products(axis, values, i, one);
        const four b = value_products(axis, values, i + 1, one);
        const four c = value_products(axis, values, i + 2, one);
        const four d = value_products(axis, values, i + 3, one);
        const four ab = SHUFFLE(a, b, 0, 4, 1, 5) + SHUFFLE(a, b, 2, 6, 3, 7);
        const four cd = SHUFFLE(c, d, 0, 4, 1, 5) + SHUFFLE(c, d, 2, 6, 3, 7);
        const four sum = finished(SHUFFLE(ab, cd, 0, 1, 4, 5) + SHUFFLE(ab, cd, 2, 3, 6, 7));
        for (int k = 0; k < 4; k++)
            ret[i + k] = (uint16_t)sum[k];
    }
    for (; i < axis->count; i++) {
        const four a = value_products(axis, values, i, one);
        ret[i] = (uint16_t)finished((four){a[0] + a[1] + a[2] + a[3]})[0];
    }
}

static void across(const struct halo_prepare_axis *axis, const int16_t *values, uint16_t *ret)
{
    if (axis->start[axis->count] == axis->count * HALO_PREPARE_TAPS)
        across_by(axis, values, ret, true);
    else
        across_by(axis, values, ret, false);
}

/* ---- COPY and INPUT ---- */

static void colour(const struct halo_prepare_copy *copy, uint16_t *const value[3], int count,
                   uint8_t *const ret[3])
{
    const struct halo_prepare_colours c = copy->colours;
    const uint16_t *restrict y = value[0], *restrict u = value[1], *restrict v = value[2];
    uint8_t *restrict red = ret[0], *restrict green = ret[1], *restrict blue = ret[2];
    if (copy->format.kind == HALO_PREPARE_YUV) {
        /* halo_prepare_rgb(), in loops that GCC vectorises */
        for (int i = 0; i < count; i++)
            red[i] = (uint8_t)halo_prepare_limited(c.y_gain * (y[i] - c.y_zero) +
                                                   c.red_v * (v[i] - HALO_PREPARE_CHROMA_ZERO));
        for (int i = 0; i < count; i++)
            green[i] = (uint8_t)halo_prepare_limited(c.y_gain * (y[i] - c.y_zero) +
                                                     c.green_u * (u[i] - HALO_PREPARE_CHROMA_ZERO) +
                                                     c.green_v * (v[i] - HALO_PREPARE_CHROMA_ZERO));
        for (int i = 0; i < count; i++)
            blue[i] = (uint8_t)halo_prepare_limited(c.y_gain * (y[i] - c.y_zero) +
                                                    c.blue_u * (u[i] - HALO_PREPARE_CHROMA_ZERO));
        return;
    }
    const int planes = copy->format.kind == HALO_PREPARE_RGB ? 3 : 1;
    for (int p = 0; p < planes; p++) {
        const uint16_t *restrict from = value[p];
        uint8_t *restrict to = ret[p];
        for (int i = 0; i < count; i++)
            to[i] = (uint8_t)halo_prepare_limited(c.y_gain * (from[i] - c.y_zero));
    }
    for (int p = planes; p < 3; p++)
        memcpy(ret[p], ret[0], (size_t)count);
}

static void element(const uint16_t *restrict value, int count, float gain, float offset,
                    float *restrict ret)
{
    for (int i = 0; i < count; i++) {
        const float product = (float)value[i] * gain;
        ret[i] = product + offset;
    }
}

const struct halo_prepare_steps HALO_PREPARE_NAME(HALO_ISA) = {add, narrow, across, colour,
                                                               element};
