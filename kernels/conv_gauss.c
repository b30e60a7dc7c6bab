/* SPDX-License-Identifier: BSD-2-Clause
 * Gaussians: converts sigmas to two rows of integers. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/conv.h"
#include "kernels/conv_private.h"
#include "kernels/plane.h"

/* ---- decimation ---- */

/* Wide Gaussians on a plane of nodes: steps and weights, with a proven bound on the error.
 *
 * Triangles two steps wide convert pixels to nodes and, as linear interpolation, nodes to pixels.
 * Both blur: the variance that they add is subtracted from that of the Gaussian on the nodes. Their
 * remaining error is of second order in step / sigma, except at the jump at the end of the mask,
 * which they smear over a step. This jump is why deep samples need small steps. */

enum { MAX_RADIUS = 3 * (int)HALO_MAX_SIGMA };

static const double most_error = 2, largest_step = 0.3; /* in code values; as a part of sigma */

/* The mask in one direction. The arrays contain one side of a symmetric mask: [0] is its centre. */
struct axis {
    double sigma;
    int radius; /* pixels */
    double real[MAX_RADIUS + 1];
    int step, reach;
    int32_t side[MAX_RADIUS + 1]; /* side[0] + 2 sum(side[1..reach]) == 2^bits */
    int bits;
};

/* Samples exp(-i^2 / (2 sigma^2)), divided by the sum. */
static void sample(double *side, int radius, double sigma)
{
    double sum = side[0] = 1;
    for (int i = 1; i <= radius; i++) {
        side[i] = exp(-i * (double)i / (2 * sigma * sigma));
        sum += 2 * side[i];
    }
    for (int i = 0; i <= radius; i++)
        side[i] /= sum;
}

static void axis_begin(struct axis *a, double sigma)
{
    a->sigma = sigma;
    a->radius = (int)ceil(3 * sigma);
    sample(a->real, a->radius, sigma);
    a->step = 1;
    while (2 * a->step <= HALO_MAX_STEP && 2 * a->step <= largest_step * sigma)
        a->step *= 2;
}

/* The centre compensates for the rounding of the others: the sum, and so the mean of a plane, is
 * exact. */
static void axis_quantise(struct axis *a, int bits)
{
    double real[MAX_RADIUS + 1];
    const double step = a->step;
    double sigma = a->sigma;
    if (a->step > 1) /* step^2 / 6 + 1 / 12 is the variance of the triangle, on half pixels */
        sigma = sqrt(sigma * sigma - step * step / 3 - 1.0 / 6) / step;
    a->reach = a->radius / a->step;
    sample(real, a->reach, sigma);

    a->bits = bits;
    a->side[0] = 1 << bits;
    for (int i = 1; i <= a->reach; i++) {
        a->side[i] = (int32_t)lround(ldexp(real[i], bits));
        a->side[0] -= 2 * a->side[i];
    }
}

/* The weight of pixel j of the 2 step pixels around a node. */
static int triangle(int j, int step)
{
    return j < step ? 2 * j + 1 : 4 * step - 1 - 2 * j;
}

/* Half the L1 distance between the resulting mask for the pixel at `phase` of a step and the real
 * one. */
static double phase_distance(const struct axis *a, int phase)
{
    /* Pixel 0 follows node 0; `first` is the first pixel within reach. */
    int64_t weights[2 * MAX_RADIUS + 3 * HALO_MAX_STEP] = {0};
    const int step = a->step, first = -(a->reach + 1) * step;
    const int count = (2 * a->reach + 3) * step;
    for (int k = -a->reach; k <= a->reach + 1; k++) {
        const int64_t left = k <= a->reach ? a->side[abs(k)] : 0;
        const int64_t right = k > -a->reach ? a->side[abs(k - 1)] : 0;
        const int64_t node = left * (2 * step - 1 - 2 * phase) + right * (2 * phase + 1);
        for (int j = 0; j < 2 * step; j++)
            weights[k * step - step + j - first] += node * triangle(j, step);
    }
    const double unit = ldexp(1, -a->bits) / (4.0 * step * step * step);
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const int distance = abs(first + i - phase);
        sum += fabs((double)weights[i] * unit - (distance <= a->radius ? a->real[distance] : 0));
    }
    return sum / 2;
}

static double axis_distance(const struct axis *a)
{
    double worst = 0;
    if (a->step == 1) {
        for (int i = 0; i <= a->radius; i++)
            worst += fabs(ldexp(a->side[i], -a->bits) - a->real[i]) * (i ? 1 : 0.5);
        return worst;
    }
    for (int phase = 0; phase < a->step / 2; phase++) /* the others mirror these */
        worst = fmax(worst, phase_distance(a, phase));
    return worst;
}

/* In two dimensions the distances add up at most: all masks are positive and sum to 1. R, T and U
 * are rounded to 2^-frac, and out to 1. */
static double bound(struct axis *x, struct axis *y, int depth, int bits, int frac)
{
    axis_quantise(x, bits);
    axis_quantise(y, bits);
    return halo_sample_max(depth) * (axis_distance(x) + axis_distance(y)) + 0.5 + ldexp(1.5, -frac);
}

/* Whether a format keeps the bound with these steps; fills in the format. */
static bool fits(struct halo_conv *conv, struct axis *x, struct axis *y)
{
    enum { NARROW = 15, NARROW_BITS = 16, WIDE_FRAC = 5, WIDE_BITS = 28 };
    /* largest sum of the weights of R */
    const int nodes = 4 * x->step * x->step * y->step * y->step;
    if (halo_sample_max(conv->depth) > INT32_MAX / nodes)
        return false;
    conv->accum = HALO_ACCUM_I32;
    conv->frac = NARROW - conv->depth;
    if (conv->frac > 0) {
        conv->error_bound = bound(x, y, conv->depth, NARROW_BITS, conv->frac);
        if (conv->error_bound <= most_error)
            return true;
    }
    conv->accum = HALO_ACCUM_I64;
    conv->frac = WIDE_FRAC;
    conv->error_bound = bound(x, y, conv->depth, WIDE_BITS, conv->frac);
    return conv->error_bound <= most_error;
}

/* Fills in the DECIMATED fields of *conv, whose kind, depth and border must be set. Returns 0 or
 * -ERANGE. */
static int conv_decimate(struct halo_conv *conv, double sigma_x, double sigma_y)
{
    struct axis x, y;
    axis_begin(&x, sigma_x);
    axis_begin(&y, sigma_y);
    while (!fits(conv, &x, &y)) {
        if (x.step == 1 && y.step == 1)
            return -ERANGE;
        struct axis *coarser = x.step * y.sigma > y.step * x.sigma ? &x : &y;
        if (coarser->step == 1)
            coarser = coarser == &x ? &y : &x;
        coarser->step /= 2;
    }
    conv->step_x = x.step;
    conv->step_y = y.step;
    conv->reach_x = x.reach;
    conv->reach_y = y.reach;
    conv->radius_x = x.step == 1 ? x.reach : (x.reach + 2) * x.step - 1;
    conv->radius_y = y.step == 1 ? y.reach : (y.reach + 2) * y.step - 1;
    conv->row_bits = x.bits;
    conv->col_bits = y.bits;
    memcpy(conv->mask, x.side, ((size_t)x.reach + 1) * sizeof x.side[0]);
    memcpy(conv->mask + x.reach + 1, y.side, ((size_t)y.reach + 1) * sizeof y.side[0]);
    return 0;
}

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
        const int code = conv_decimate(&conv, sigma_x, sigma_y);
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
