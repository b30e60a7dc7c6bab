/* SPDX-License-Identifier: BSD-2-Clause
 * Gaussians: converts sigmas to two rows of integers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/conv_decimate.h"
#include "kernels/conv_private.h"

/* One direction of a Gaussian; side[0] is the centre, side[i] the weight i pixels away on both
 * sides. */
struct gauss {
    double sigma;
    int radius;
    double real[HALO_MAX_TAPS / 2 + 1];
    int32_t side[HALO_MAX_TAPS / 2 + 1];
    int bits; /* side[0] + 2 sum(side[1..]) == 2^bits */
};

static void gauss_real(struct gauss *g, double sigma)
{
    g->sigma = sigma;
    g->radius = (int)ceil(3 * sigma);
    double sum = 1;
    g->real[0] = 1;
    for (int i = 1; i <= g->radius; i++) {
        g->real[i] = exp(-i * (double)i / (2 * sigma * sigma));
        sum += 2 * g->real[i];
    }
    for (int i = 0; i <= g->radius; i++)
        g->real[i] /= sum;
}

/* The distance between integers with `significant` bits near v. */
static int32_t grid(double v, int significant)
{
    int exponent;
    frexp(v, &exponent);
    return v >= 1 && exponent > significant ? 1 << (exponent - significant) : 1;
}

/* Distributes the missing weight, one grid step at a time, to the weight that is farthest from its
 * real value (largest remainder), on both sides at once. The outermost weight of a Gaussian is
 * always below 2^11, so a step of 1 exists and the loop ends with the exact sum. */
static void spread(struct gauss *g, int32_t missing, int significant)
{
    while (missing) {
        const int sign = missing > 0 ? 1 : -1;
        int best = 0;
        double best_remainder = -HUGE_VAL;
        for (int i = 1; i <= g->radius; i++) {
            const int32_t step = grid(g->side[i], significant);
            const double remainder = sign * (ldexp(g->real[i], g->bits) - g->side[i]) / step;
            if (step <= sign * missing && g->side[i] + sign * step >= 0 &&
                remainder > best_remainder) {
                best = i;
                best_remainder = remainder;
            }
        }
        const int32_t step = sign * grid(g->side[best], significant);
        g->side[best] += step;
        missing -= step;
    }
}

static void gauss_quantise(struct gauss *g, int bits, int significant)
{
    g->bits = bits;
    /* The centre must leave an even remainder for the two sides. */
    const double centre = ldexp(g->real[0], bits);
    const int32_t step = grid(centre, significant) > 2 ? grid(centre, significant) : 2;
    g->side[0] = (int32_t)lround(centre / step) * step;

    int32_t rest = ((1 << bits) - g->side[0]) / 2;
    if (rest == 0 || g->radius == 0) {
        g->radius = 0; /* the identity; only it has radius 0 */
        g->side[0] = 1 << bits;
        return;
    }
    for (int i = 1; i <= g->radius; i++) {
        const double real = ldexp(g->real[i], bits);
        const int32_t s = grid(real, significant);
        g->side[i] = (int32_t)floor(real / s) * s;
        rest -= g->side[i];
    }
    spread(g, rest, significant);
}

static void gauss_unfold(int32_t *weights, const struct gauss *g)
{
    for (int i = -g->radius; i <= g->radius; i++)
        weights[i + g->radius] = g->side[abs(i)];
}

static double gauss_weight(const struct gauss *g, int i)
{
    return i > g->radius ? 0 : ldexp(g->side[i], -g->bits);
}

/* Half the L1 distance of the two-dimensional masks. Both sum to 1, so this is the largest
 * difference for any input in [0, 1]. The real masks have their own, untrimmed radii. */
static double gauss_distance(const struct gauss *x, int rx, const struct gauss *y, int ry)
{
    double sum = 0;
    for (int j = 0; j <= ry; j++) {
        for (int i = 0; i <= rx; i++) {
            const double diff = gauss_weight(x, i) * gauss_weight(y, j) - x->real[i] * y->real[j];
            sum += fabs(diff) * (i ? 2 : 1) * (j ? 2 : 1);
        }
    }
    return sum / 2;
}

struct separable_format {
    int row_bits, frac, col_bits;
    int significant; /* bits of a weight */
    enum halo_accum accum;
};

/* Writes the formats of a depth, smallest first; returns their number.
 * F24: all sums below 2^24 (255 * 2^15 + 2^12, 1020 * 2^14 + 2^15), 11 significant bits so that a
 *      weight is one FP16 number.
 * I32: T has 15 bits, for 16-bit multipliers; all sums below 2^31, since (2^depth - 1) 2^frac 2^16
 *      is 2^31 - 2^(16 + frac) and the rounding constant half of that.
 * I64: T has depth + 5 bits and the sums 2 depth + 13, which are exact in doubles, too. */
static int gauss_formats(struct separable_format *ret, int depth)
{
    enum { DEEPEST_I32 = 14 };
    int n = 0;
    if (depth == 8) {
        ret[n++] = (struct separable_format){15, 2, 14, 11, HALO_ACCUM_F24};
        return n;
    }
    if (depth <= DEEPEST_I32)
        ret[n++] = (struct separable_format){16, 15 - depth, 16, 31, HALO_ACCUM_I32};
    ret[n++] = (struct separable_format){depth + 8, 5, depth + 8, 31, HALO_ACCUM_I64};
    return n;
}

/* Quantises with weights below 2^15 for 16-bit multipliers; only the weight of the identity is
 * larger. */
static void gauss_fit(struct gauss *g, int bits, const struct separable_format *f)
{
    gauss_quantise(g, bits, f->significant);
    if (f->accum == HALO_ACCUM_I32 && g->radius > 0 && g->side[0] >= 1 << 15)
        gauss_quantise(g, bits - 1, f->significant);
}

/* Quantises both directions; returns the bound on the error. */
static double gauss_bound(struct gauss *x, struct gauss *y, int depth,
                          const struct separable_format *f)
{
    const int real_rx = (int)ceil(3 * x->sigma), real_ry = (int)ceil(3 * y->sigma);
    x->radius = real_rx;
    y->radius = real_ry;
    gauss_fit(x, f->row_bits, f);
    gauss_fit(y, f->col_bits, f);
    const double distance = halo_sample_max(depth) * gauss_distance(x, real_rx, y, real_ry);
    if (x->radius == 0 && y->radius == 0)
        return distance; /* a copy does not round */
    return distance + (x->radius ? 0.5 + ldexp(1, -f->frac - 1) : 0.5);
}

int halo_conv_gauss(struct halo_conv *ret, double sigma_x, double sigma_y,
                    const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target) || !(sigma_x >= 0 && sigma_x <= HALO_MAX_SIGMA) ||
        !(sigma_y >= 0 && sigma_y <= HALO_MAX_SIGMA))
        return -EINVAL;
    if (sigma_x > HALO_MAX_SEPARABLE_SIGMA || sigma_y > HALO_MAX_SEPARABLE_SIGMA) {
        struct halo_conv conv = halo_conv_begin(HALO_CONV_DECIMATED, target);
        const int code = halo_conv_decimate(&conv, sigma_x, sigma_y);
        if (code == 0)
            *ret = conv;
        return code;
    }

    struct gauss x, y;
    gauss_real(&x, sigma_x);
    gauss_real(&y, sigma_y);
    struct separable_format formats[2];
    const int count = gauss_formats(formats, target->depth);
    const struct separable_format *f = formats;
    double bound = gauss_bound(&x, &y, target->depth, f);
    while (bound > 1 && ++f < formats + count)
        bound = gauss_bound(&x, &y, target->depth, f);
    if (bound > 1)
        return -ERANGE;

    const bool copy = x.radius == 0 && y.radius == 0;
    *ret = halo_conv_begin(copy ? HALO_CONV_COPY : HALO_CONV_SEPARABLE, target);
    ret->error_bound = bound;
    if (copy)
        return 0;
    ret->accum = f->accum;
    ret->radius_x = x.radius;
    ret->radius_y = y.radius;
    ret->row_bits = x.bits;
    ret->col_bits = y.bits;
    ret->frac = f->frac;
    gauss_unfold(ret->row, &x);
    gauss_unfold(ret->col, &y);
    return 0;
}
