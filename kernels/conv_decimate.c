/* SPDX-License-Identifier: BSD-2-Clause
 * Wide Gaussians on a plane of nodes: steps and weights, with a proven bound on the error.
 *
 * Triangles two steps wide convert pixels to nodes and, as linear interpolation, nodes to pixels.
 * Both blur: the variance that they add is subtracted from that of the Gaussian on the nodes. Their
 * remaining error is of second order in step / sigma, except at the jump at the end of the mask,
 * which they smear over a step. This jump is why deep samples need small steps. */
#include "kernels/conv_decimate.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/plane.h"

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

int halo_conv_decimate(struct halo_conv *conv, double sigma_x, double sigma_y)
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
