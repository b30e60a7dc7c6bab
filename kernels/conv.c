/* SPDX-License-Identifier: BSD-2-Clause
 * Masks: from real weights to the integers of conv.h, with a proof of how far off they may be. */
#include "conv.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conv_decimate.h"
#include "plane.h"

static bool target_ok(const struct halo_conv_target *t)
{
    return t->depth >= 8 && t->depth <= 16 && (int)t->border >= 0 &&
           t->border < HALO_BORDER_COUNT && t->border_value >= 0 &&
           t->border_value <= halo_sample_max(t->depth);
}

static struct halo_conv begin(enum halo_conv_kind kind, const struct halo_conv_target *t)
{
    return (struct halo_conv){
        .kind = kind,
        .depth = t->depth,
        .border = t->border,
        .border_value = t->border_value,
    };
}

int halo_conv_copy(struct halo_conv *ret, const struct halo_conv_target *target)
{
    if (!target_ok(target))
        return -EINVAL;
    *ret = begin(HALO_CONV_COPY, target);
    return 0;
}

int halo_conv_box(struct halo_conv *ret, int radius_x, int radius_y,
                  const struct halo_conv_target *target)
{
    if (!target_ok(target) || radius_x < 0 || radius_x > HALO_MAX_BOX_RADIUS || radius_y < 0 ||
        radius_y > HALO_MAX_BOX_RADIUS)
        return -EINVAL;

    const int64_t area = (int64_t)(2 * radius_x + 1) * (2 * radius_y + 1);
    const int64_t largest = area * halo_sample_max(target->depth) + area / 2;
    *ret = begin(HALO_CONV_BOX, target);
    ret->radius_x = radius_x;
    ret->radius_y = radius_y;
    ret->accum = largest < 1 << 24    ? HALO_ACCUM_F24
                 : largest <= INT_MAX ? HALO_ACCUM_I32
                                      : HALO_ACCUM_I64;
    ret->error_bound = 0.5; /* the sum is exact, the one rounding is to nearest */
    return 0;
}

/* ---- Gaussians */

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

/* Distance between integers of `significant` bits around v. */
static int32_t grid(double v, int significant)
{
    int exponent;
    frexp(v, &exponent);
    return v >= 1 && exponent > significant ? 1 << (exponent - significant) : 1;
}

/* Hands the missing weight out, one grid step at a time, to the weight farthest from its real
 * value: largest remainder, on both sides at once. The outermost weight of a Gaussian is always
 * below 2^11, so a step of 1 exists and the loop ends with the exact sum. */
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
    /* The centre must leave an even rest for the two sides. */
    const double centre = ldexp(g->real[0], bits);
    const int32_t step = grid(centre, significant) > 2 ? grid(centre, significant) : 2;
    g->side[0] = (int32_t)lround(centre / step) * step;

    int32_t rest = ((1 << bits) - g->side[0]) / 2;
    if (rest == 0 || g->radius == 0) {
        g->radius = 0; /* the identity; nothing else has radius 0 */
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

/* Half the L1 distance of the two-dimensional masks. Both sum to 1, so this is the worst that any
 * input in [0, 1] can make of the difference. The real masks keep their own, untrimmed radii. */
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
 * I64: T has depth + 5 bits and the sums 2 depth + 13, which doubles hold as well. */
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

/* With weights below 2^15 for 16-bit multipliers; only the identity's is larger. */
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
        return distance; /* a copy rounds nothing */
    return distance + (x->radius ? 0.5 + ldexp(1, -f->frac - 1) : 0.5);
}

int halo_conv_gauss(struct halo_conv *ret, double sigma_x, double sigma_y,
                    const struct halo_conv_target *target)
{
    if (!target_ok(target) || !(sigma_x >= 0 && sigma_x <= HALO_MAX_SIGMA) ||
        !(sigma_y >= 0 && sigma_y <= HALO_MAX_SIGMA))
        return -EINVAL;
    if (sigma_x > HALO_MAX_SEPARABLE_SIGMA || sigma_y > HALO_MAX_SEPARABLE_SIGMA) {
        struct halo_conv conv = begin(HALO_CONV_DECIMATED, target);
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
    *ret = begin(copy ? HALO_CONV_COPY : HALO_CONV_SEPARABLE, target);
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

/* ---- dense masks */

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
    int count, max; /* weights, largest sample */
    double bias;
    double sum, sum_abs, largest; /* of the real weights */

    int bits;
    int32_t mask[HALO_MAX_DENSE * HALO_MAX_DENSE];
    int64_t fixed_bias;
    struct remainder order[HALO_MAX_DENSE * HALO_MAX_DENSE];
};

/* The sum of the integers is the rounded sum of the reals: a flat picture keeps its level. */
static void dense_quantise(struct dense *d)
{
    int64_t missing = llround(ldexp(d->sum, d->bits));
    for (int i = 0; i < d->count; i++) {
        const double real = ldexp(d->weights[i], d->bits);
        d->mask[i] = (int32_t)floor(real);
        d->order[i] = (struct remainder){real - floor(real), i};
        missing -= d->mask[i];
    }
    qsort(d->order, (size_t)d->count, sizeof(d->order[0]), by_remainder);
    for (int i = 0; i < d->count && missing > 0; i++, missing--)
        d->mask[d->order[i].index]++;
    d->fixed_bias = llround(ldexp(d->bias, d->bits)) + (INT64_C(1) << (d->bits - 1));
}

/* Quantises with this many bits and says whether every partial sum, in whatever order and with the
 * bias first or last, stays below the limit. */
static bool dense_fits(struct dense *d, int bits, double limit)
{
    /* In doubles first: nothing below may overflow an integer. */
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

/* 0.5 for the last rounding, and the worst input: white where the weights came out too large and
 * black elsewhere, or the other way round. */
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

/* Weights that 16 bits hold, or two signed bytes, are faster on every backend: fewer bits are taken
 * where that is nearly as exact. */
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
    for (size_t c = 0; c < sizeof(classes) / sizeof(classes[0]); c++) {
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

/* What strategies ask of the weights, found once. */
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
    if (!target_ok(target) || dense_check(weights, width, height, bias) < 0)
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

    *ret = begin(HALO_CONV_DENSE, target);
    ret->accum = accum;
    ret->error_bound = bound;
    ret->radius_x = width / 2;
    ret->radius_y = height / 2;
    ret->mask_bits = d.bits;
    ret->bias = d.fixed_bias;
    memcpy(ret->mask, d.mask, (size_t)d.count * sizeof(d.mask[0]));
    dense_describe(ret, d.count);
    return 0;
}

/* ---- gradients */

enum { MOST_DELTA_BITS = 8 };

struct gradient {
    double square; /* largest a^2 + b^2 */
    double sum;    /* largest |a| or |b| */
    double factor; /* of a^2 + b^2, before the root: scale^2 4^bits */
    double top;    /* the root that gives the largest sample, in its units of 2^-bits */
    double over;   /* code values by which out may be too high before it is rounded down */
    int bits;      /* fractional bits of the root and of the bias */
    int64_t bias;
    uint64_t limit;
    uint32_t scale;
    int scale_bits;
};

/* a^2 + b^2 is convex: it is largest where each sample is black or white. */
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

/* The most fractional bits of the factor that 32 bits hold and whose product with limit is below
 * 2^62. The factor is rounded up, so that an exact root never falls below its integer. Both can be
 * met: top is at most 2^25, so limit times the factor is at most top^2 + 2 factor < 2^50 + 2^34.
 * The product has room for 11 bits below that: the largest t, limit * scale >> scale_bits, is more
 * by less than one part in 2^10, and so below 2^52. */
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
 * all roundings down act as one at the end, which takes less than 1 away. The factor and the bias
 * are rounded up and may add `over`: the result lies between 1 below and `over` above. */
static void gradient_quantise(struct gradient *g, double scale, double delta, int max)
{
    g->bits = delta == floor(delta) ? 0 : MOST_DELTA_BITS;
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
    if (!target_ok(target) || !gradient_ok(mx) || !gradient_ok(my) ||
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
    *ret = begin(HALO_CONV_GRADIENT, target);
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

/* ---- blocks of one colour */

int halo_conv_pixelize(struct halo_conv *ret, int block_w, int block_h, enum halo_pixelize mode,
                       const struct halo_conv_target *target)
{
    if (!target_ok(target) || block_w < 1 || block_w > HALO_MAX_BLOCK || block_h < 1 ||
        block_h > HALO_MAX_BLOCK || (int)mode < 0 || mode > HALO_PIXELIZE_MAX)
        return -EINVAL;
    if (block_w == 1 && block_h == 1)
        return halo_conv_copy(ret, target);

    const int64_t area = (int64_t)block_w * block_h;
    const int64_t largest = area * halo_sample_max(target->depth) + area / 2;
    *ret = begin(HALO_CONV_PIXELIZE, target);
    ret->accum = largest < 1 << 24    ? HALO_ACCUM_F24
                 : largest <= INT_MAX ? HALO_ACCUM_I32
                                      : HALO_ACCUM_I64;
    ret->error_bound = mode == HALO_PIXELIZE_MEAN ? 0.5 : 0;
    ret->block_w = block_w;
    ret->block_h = block_h;
    ret->mode = mode;
    return 0;
}

/* ---- one colour */

int halo_conv_solid(struct halo_conv *ret, const int values[2],
                    const struct halo_conv_target *target)
{
    if (!target_ok(target))
        return -EINVAL;
    for (int c = 0; c < 2; c++)
        if (values[c] < 0 || values[c] > halo_sample_max(target->depth))
            return -EINVAL;
    *ret = begin(HALO_CONV_SOLID, target);
    ret->mask[0] = values[0];
    ret->mask[1] = values[1];
    return 0;
}
