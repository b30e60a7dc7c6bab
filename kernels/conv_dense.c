/* SPDX-License-Identifier: BSD-2-Clause
 * Dense masks: converts real weights to integers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/conv_private.h"

struct remainder {
    double value;
    int index;
};

static int by_remainder(const void *a, const void *b)
{
    const struct remainder *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->index - y->index;
}

struct dense {
    const double *weights;
    int count, max; /* number of weights, largest sample */
    double bias;
    double sum, sum_abs, largest; /* of the real weights */

    int bits;
    int32_t mask[HALO_MAX_DENSE * HALO_MAX_DENSE];
    int64_t fixed_bias;
    struct remainder order[HALO_MAX_DENSE * HALO_MAX_DENSE];
};

/* The sum of the integers is the rounded sum of the real weights: a uniform plane keeps its
 * level. */
static void dense_quantise(struct dense *d)
{
    int64_t missing = llround(ldexp(d->sum, d->bits));
    for (int i = 0; i < d->count; i++) {
        const double real = ldexp(d->weights[i], d->bits);
        d->mask[i] = (int32_t)floor(real);
        d->order[i] = (struct remainder){real - floor(real), i};
        missing -= d->mask[i];
    }
    qsort(d->order, (size_t)d->count, sizeof d->order[0], by_remainder);
    for (int i = 0; i < d->count && missing > 0; i++, missing--)
        d->mask[d->order[i].index]++;
    d->fixed_bias = llround(ldexp(d->bias, d->bits)) + (INT64_C(1) << (d->bits - 1));
}

/* Quantises with this many bits, and returns whether every partial sum stays below the limit, in
 * any order and with the bias first or last. */
static bool dense_fits(struct dense *d, int bits, double limit)
{
    /* Checks in doubles first, so that the integers below cannot overflow. */
    const double room = ldexp(d->sum_abs, bits) - d->count;
    if (ldexp(d->largest, bits) > INT32_MAX - 1 || d->max * room >= limit ||
        ldexp(fabs(d->bias), bits) >= limit)
        return false;

    d->bits = bits;
    dense_quantise(d);
    int64_t sum = 0;
    for (int i = 0; i < d->count; i++)
        sum += llabs(d->mask[i]);
    return (double)(d->max * sum + llabs(d->fixed_bias)) < limit;
}

/* 0.5 for the last rounding, plus the error for the worst input: white where the weights were
 * rounded up and black elsewhere, or vice versa. */
static double dense_bound(const struct dense *d)
{
    double over = 0, under = 0;
    for (int i = 0; i < d->count; i++) {
        const double diff = ldexp(d->mask[i], -d->bits) - d->weights[i];
        if (diff > 0)
            over += diff;
        else
            under -= diff;
    }
    const double half = ldexp(1, -1);
    const double bias = ldexp((double)d->fixed_bias, -d->bits) - half - d->bias;
    return half + d->max * (over > under ? over : under) + fabs(bias);
}

static int64_t dense_largest(const struct dense *d)
{
    int64_t largest = 0;
    for (int i = 0; i < d->count; i++)
        largest = llabs(d->mask[i]) > largest ? llabs(d->mask[i]) : largest;
    return largest;
}

/* Weights that fit 16 bits, or two signed bytes, are faster on every backend: uses fewer bits if
 * that is nearly as exact. */
static void dense_lighten(struct dense *d, double limit)
{
    static const int64_t most = 127 * 256 + 127;
    static const double nearly = 0.75;
    const int bits = d->bits;
    int fewer = bits;
    while (fewer > 1 && dense_largest(d) > most)
        dense_fits(d, --fewer, limit);
    if (dense_largest(d) > most || dense_bound(d) > nearly)
        dense_fits(d, bits, limit);
}

static int dense_choose(struct dense *d, enum halo_accum *accum, double *bound)
{
    static const struct {
        enum halo_accum accum;
        int limit_bits, most_bits;
    } classes[] = {
        {HALO_ACCUM_F24, 24, 24},
        {HALO_ACCUM_I32, 31, 30},
        {HALO_ACCUM_I64, 62, 40},
    };
    for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
        int bits = classes[c].most_bits;
        while (bits >= 1 && !dense_fits(d, bits, ldexp(1, classes[c].limit_bits)))
            bits--;
        if (bits < 1)
            continue;
        *accum = classes[c].accum;
        *bound = dense_bound(d);
        if (*bound > 1)
            continue;
        dense_lighten(d, ldexp(1, classes[c].limit_bits));
        *bound = dense_bound(d);
        return 0;
    }
    return -ERANGE;
}

static int dense_check(const double *weights, int width, int height, double bias)
{
    if (width < 1 || height < 1 || width % 2 == 0 || height % 2 == 0)
        return -EINVAL;
    const bool line = width == 1 || height == 1;
    const int most = line ? HALO_MAX_TAPS : HALO_MAX_DENSE;
    if (width > most || height > most || !isfinite(bias))
        return -EINVAL;
    for (int i = 0; i < width * height; i++) {
        if (!isfinite(weights[i]))
            return -EINVAL;
    }
    return 0;
}

/* Properties of the weights that strategies need, computed once. */
static void dense_describe(struct halo_conv *conv, int count)
{
    uint32_t bits = 0;
    conv->mask_least = conv->mask_most = conv->mask[0];
    for (int i = 0; i < count; i++) {
        const int32_t w = conv->mask[i];
        conv->mask_least = w < conv->mask_least ? w : conv->mask_least;
        conv->mask_most = w > conv->mask_most ? w : conv->mask_most;
        bits |= (uint32_t)w;
    }
    while (bits && !(bits >> conv->mask_zeros & 1))
        conv->mask_zeros++;
}

int halo_conv_dense(struct halo_conv *ret, const double *weights, int width, int height,
                    double bias, const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target) || dense_check(weights, width, height, bias) < 0)
        return -EINVAL;

    struct dense d = {
        .weights = weights,
        .count = width * height,
        .max = halo_sample_max(target->depth),
        .bias = bias,
    };
    for (int i = 0; i < d.count; i++) {
        d.sum += weights[i];
        d.sum_abs += fabs(weights[i]);
        d.largest = fmax(d.largest, fabs(weights[i]));
    }
    enum halo_accum accum;
    double bound;
    if (dense_choose(&d, &accum, &bound) < 0)
        return -ERANGE;

    *ret = halo_conv_begin(HALO_CONV_DENSE, target);
    ret->accum = accum;
    ret->error_bound = bound;
    ret->radius_x = width / 2;
    ret->radius_y = height / 2;
    ret->mask_bits = d.bits;
    ret->bias = d.fixed_bias;
    memcpy(ret->mask, d.mask, (size_t)d.count * sizeof d.mask[0]);
    dense_describe(ret, d.count);
    return 0;
}
