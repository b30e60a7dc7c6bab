/* SPDX-License-Identifier: BSD-2-Clause
 * Gradients: the scale and the delta in fixed point. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/conv_private.h"

enum { MAX_DELTA_BITS = 8 };

struct gradient {
    double square; /* largest a^2 + b^2 */
    double sum;    /* largest |a| or |b| */
    double factor; /* factor of a^2 + b^2 before the root: scale^2 4^bits */
    double top;    /* the root that gives the largest sample, in units of 2^-bits */
    double over;   /* code values by which the result may be too high before it is rounded down */
    int bits;      /* fractional bits of the root and of the bias */
    int64_t bias;
    uint64_t limit;
    uint32_t scale;
    int scale_bits;
};

/* a^2 + b^2 is convex: its maximum has only black and white samples. */
static void gradient_largest(struct gradient *g, const int *mx, const int *my, int max)
{
    for (int corner = 0; corner < 1 << 9; corner++) {
        double a = 0, b = 0;
        for (int i = 0; i < 9; i++) {
            a += corner >> i & 1 ? (double)mx[i] * max : 0;
            b += corner >> i & 1 ? (double)my[i] * max : 0;
        }
        g->square = fmax(g->square, a * a + b * b);
        g->sum = fmax(g->sum, fmax(fabs(a), fabs(b)));
    }
}

/* Chooses the largest number of fractional bits with which the factor fits 32 bits and its product
 * with limit is below 2^62. The factor is rounded up, so that an exact root never falls below its
 * integer. Both conditions can be met: top is at most 2^25, so limit times the factor is at most
 * top^2 + 2 factor < 2^50 + 2^34. That leaves room for 11 fractional bits: the largest t, limit *
 * scale >> scale_bits, is larger by less than one part in 2^10, and so below 2^52. */
static void gradient_scale(struct gradient *g)
{
    int bits = 62;
    double scale = ceil(ldexp(g->factor, bits));
    while (bits > 0 && (scale > UINT32_MAX || scale * (double)g->limit >= 0x1p62))
        scale = ceil(ldexp(g->factor, --bits));
    g->scale = (uint32_t)scale;
    g->scale_bits = bits;
    while (g->scale_bits > 0 && g->scale % 2 == 0) {
        g->scale /= 2;
        g->scale_bits--;
    }
}

/* Reasons: isqrt(floor(v)) = floor(sqrt(v)) and floor((floor(v) + n) / m) = floor((v + n) / m), so
 * all roundings down are equivalent to a single one at the end, which subtracts less than 1. The
 * factor and the bias are rounded up and may add up to `over`: the error of the result is between
 * -1 and `over`. */
static void gradient_quantise(struct gradient *g, double scale, double delta, int max)
{
    g->bits = delta == floor(delta) ? 0 : MAX_DELTA_BITS;
    while (g->bits > 0 && ldexp(scale * scale, 2 * g->bits) > UINT32_MAX)
        g->bits--;
    g->factor = ldexp(scale * scale, 2 * g->bits);
    g->bias = (int64_t)ceil(ldexp(delta, g->bits));
    g->top = ldexp(max, g->bits) - (double)g->bias;
    /* From limit on the result is the largest sample: limit * factor >= top^2. */
    double limit = g->square;
    if (g->top <= 0)
        limit = 0;
    else if (g->factor > 0)
        limit = fmin(limit, ceil(g->top * g->top / g->factor) + 1);
    g->limit = (uint64_t)limit;
    gradient_scale(g);

    const double end = fmin(scale * sqrt(g->square), fmax(max - delta, 0));
    const double relative = g->factor > 0 ? ldexp(g->scale, -g->scale_bits) / g->factor - 1 : 0;
    g->over = end * (sqrt(1 + relative) - 1) + ldexp((double)g->bias, -g->bits) - delta;
}

static bool gradient_ok(const int *mask)
{
    int64_t sum = 0;
    for (int i = 0; i < 9; i++)
        sum += llabs((long long)mask[i]);
    return sum <= INT16_MAX;
}

int halo_conv_gradient(struct halo_conv *ret, const int mx[9], const int my[9], double scale,
                       double delta, const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target) || !gradient_ok(mx) || !gradient_ok(my) ||
        !(scale >= 0 && scale <= UINT16_MAX) || !(fabs(delta) <= UINT16_MAX))
        return -EINVAL;

    struct gradient g = {0};
    gradient_largest(&g, mx, my, halo_sample_max(target->depth));
    if (g.square >= 0x1p50)
        return -ERANGE;
    gradient_quantise(&g, scale, delta, halo_sample_max(target->depth));
    if (g.over > 1)
        return -ERANGE;

    const bool narrow = g.sum < 0x1p16 && g.limit <= UINT32_MAX &&
                        g.limit * g.scale >> g.scale_bits < UINT64_C(1) << 24;
    *ret = halo_conv_begin(HALO_CONV_GRADIENT, target);
    ret->accum = narrow ? HALO_ACCUM_I32 : HALO_ACCUM_I64;
    ret->error_bound = 1;
    ret->radius_x = ret->radius_y = 1;
    ret->mask_bits = g.bits;
    ret->bias = g.bias;
    ret->limit = g.limit;
    ret->scale = g.scale;
    ret->scale_bits = g.scale_bits;
    for (int i = 0; i < 9; i++) {
        ret->mask[i] = mx[i];
        ret->mask[9 + i] = my[i];
    }
    return 0;
}
