/* SPDX-License-Identifier: BSD-2-Clause
 * The integer contract: what a convolution is, down to the last bit.
 *
 * Every strategy of every backend computes exactly these integers, so tests compare with memcmp.
 * p(x, y) is the sample value (plane.h) at x, y of the same channel; ghost cells follow border.h.
 *
 *   COPY
 *     out = p(x, y)
 *   SEPARABLE
 *     T(x, y) = (sum_i row[i] * p(x + i - rx, y) + 2^(row_bits-frac-1)) >> (row_bits - frac)
 *     out = clamp((sum_j col[j] * T(x, y + j - ry) + 2^(col_bits+frac-1)) >> (col_bits + frac))
 *     The row weights sum to 2^row_bits and the column weights to 2^col_bits exactly, no weight is
 *     negative, and both masks are symmetric. A ghost row of constant v has T = v << frac.
 *     A direction of radius 0 is the identity; its only weight is 2^bits. If accum is not I64,
 *     all other weights and T are below 2^15; at depth 8 the weights have at most 11 significant
 *     bits, so FP16 holds them. If it is, T has depth + 5 bits and all sums stay below 2^46.
 *       depth    row_bits   frac        col_bits   accum
 *       8        15         2           14         F24
 *       9..14    16, or 15  15 - depth  16, or 15  I32   15 if a weight would reach 2^15
 *       9..16    depth + 8  5           depth + 8  I64   if I32 has an error_bound above 1
 *   DENSE
 *     out = clamp((sum_ji mask[j (2 rx + 1) + i] * p(x + i - rx, y + j - ry) + bias) >> mask_bits)
 *     bias includes the user's bias and the rounding constant 2^(mask_bits-1); >> is arithmetic.
 *     The bounds of accum apply to the sums with the bias.
 *   BOX
 *     out = floor((sum over the (2 rx + 1) by (2 ry + 1) window of p + area / 2) / area)
 *   GRADIENT
 *     a = sum_ji mask[3 j + i] * p(x + i - 1, y + j - 1), b the same with mask[9 + 3 j + i]
 *     t = (min(a^2 + b^2, limit) * scale) >> scale_bits
 *     out = clamp((isqrt(t) + bias) >> mask_bits)
 *     isqrt is the integer square root, rounded down. a and b fit 32 bits, their squares and the
 *     product with scale 63, and t is below 2^52: doubles give its root exactly. If accum is
 *     I32, a^2, b^2 and limit are below 2^32 and t is below 2^24: floats suffice.
 *   PIXELIZE
 *     The plane is cut into blocks of block_w by block_h from its upper left corner; those at the
 *     right and lower edges may be smaller. With the n samples of the block that contains x, y:
 *     out = floor((their sum + n / 2) / n), or their minimum, or their maximum
 *   SOLID
 *     out = mask[c] in channel c, whatever p is
 *   CELLS
 *     A list of boxes, each cut into n by n cells with values of their own (kernels/cells.h). With
 *     the last box of the list that reaches x, y:
 *     out = the value of the box's cell at x, y; where no box reaches, out = mask[c]
 *     p is never read: what a plane shows depends on the list alone.
 *   TABLE
 *     out = table[p(x, y)]
 *   DECIMATED
 *     A Gaussian on a plane of nodes, step_x by step_y pixels apart. In each direction, with s its
 *     step, node k lies on the left (upper) edge of pixel k s. With w(j) = 2 j + 1 for j < s and
 *     4 s - 1 - 2 j for s <= j < 2 s, which sum to 2 s^2, times the same in the other direction:
 *     R(k) = sum_j w(j) * p(k s - s + j), times 2^frac over the sum of the weights, rounded
 *     T(k) = (sum_i mask[|i|] * R(k + i) + 2^(row_bits-1)) >> row_bits, |i| <= reach_x, along rows
 *     U(k) = the same of T along columns, with mask[reach_x + 1 + |i|], reach_y and col_bits
 *     out(x) = U between the nodes k = x / s and k + 1, with i = x % s:
 *              ((2 s - 1 - 2 i) * U(k) + (2 i + 1) * U(k + 1)) / (2 s), in both directions at once,
 *              times 2^-frac, rounded
 *     Halves are rounded up. In a direction of step 1 the nodes are the pixels: R = p, out = U.
 *     Ghost cells count as pixels: R of nodes outside the plane is computed from them. Weights are
 *     not negative and sum to 2^row_bits and 2^col_bits. The sums of R, and those of out, are below
 *     2^31.
 *       depth    row_bits, col_bits  frac        accum
 *       8..14    16                  15 - depth  I32
 *       8..16    28                  5           I64   sums below 2^50, exact in doubles, too
 *
 * As in FFmpeg, the mask is not mirrored (a correlation). clamp is to [0, 2^depth - 1]. Results of
 * different kinds may differ: a Gaussian given as a dense mask may differ by 1 from the separable
 * one.
 *
 * The number formats (bits, accumulators) are chosen by a bound on the error, for all inputs,
 * compared with the same mask in real numbers: error_bound. See docs/filters.md. All functions here
 * are pure, may be called on any thread and never block. A halo_conv owns no memory and may be
 * copied. */
#ifndef HALO_CONV_H
#define HALO_CONV_H

#include <stdint.h>

#include "kernels/border.h"

#define HALO_MAX_TAPS                                                                              \
    127                        /* largest size of a separable mask, or of a dense mask with only
                                * one row or column */
#define HALO_MAX_DENSE      63 /* largest width and height of a dense mask */
#define HALO_MAX_BOX_RADIUS 1024
#define HALO_MAX_BLOCK      1024 /* largest width and height of a PIXELIZE block */
#define HALO_MAX_SIGMA      200.0
#define HALO_MAX_TABLE      4096 /* most entries of a TABLE: samples of 12 bits */
#define HALO_MAX_STEP       16   /* largest distance between DECIMATED nodes, in pixels */

/* Gaussians up to this sigma are SEPARABLE, because 127 taps cover three sigma on each side. */
#define HALO_MAX_SEPARABLE_SIGMA 21.0

enum halo_conv_kind {
    HALO_CONV_COPY,
    HALO_CONV_SEPARABLE,
    HALO_CONV_DENSE,
    HALO_CONV_BOX,
    HALO_CONV_GRADIENT,
    HALO_CONV_PIXELIZE,
    HALO_CONV_DECIMATED,
    HALO_CONV_SOLID,
    HALO_CONV_CELLS,
    HALO_CONV_TABLE,
};

enum halo_pixelize { HALO_PIXELIZE_MEAN, HALO_PIXELIZE_MIN, HALO_PIXELIZE_MAX };

/* A type that is proved to hold the sums of a mask, in whatever order the terms are added. */
enum halo_accum {
    HALO_ACCUM_F24, /* every partial sum is below 2^24, so it is exact in float, in int32 and on
                     * tensor cores */
    HALO_ACCUM_I32, /* below 2^31 */
    HALO_ACCUM_I64, /* below 2^62 */
};

struct halo_conv {
    enum halo_conv_kind kind;
    enum halo_accum accum;
    int depth;              /* of the samples: 8 .. 16 */
    int radius_x, radius_y; /* pixels */
    enum halo_border border;
    int border_value;   /* HALO_BORDER_CONSTANT: the sample value of ghost cells */
    double error_bound; /* upper bound, for all inputs, on the difference from the result of the
                         * same mask in real numbers; in code values */

    int32_t row[HALO_MAX_TAPS], col[HALO_MAX_TAPS]; /* SEPARABLE: 2 radius + 1 weights each */
    int row_bits, frac, col_bits;

    union {
        int32_t mask[HALO_MAX_DENSE * HALO_MAX_DENSE]; /* DENSE: rows of 2 radius_x + 1 weights */
        uint16_t table[HALO_MAX_TABLE]; /* TABLE: the result for each sample value; the others 0 */
    };
    int mask_bits;
    int64_t bias;
    int32_t mask_least, mask_most; /* DENSE: smallest and largest weight */
    int mask_zeros;                /* DENSE: number of low bits that are 0 in all weights */

    uint64_t limit; /* GRADIENT: upper limit of a^2 + b^2. GRADIENT also uses mask (its two 3x3
                     * masks), mask_bits and bias */
    uint32_t scale;
    int scale_bits;

    int block_w, block_h; /* PIXELIZE */
    enum halo_pixelize mode;

    int step_x, step_y;   /* DECIMATED: pixels from one node to the next: 1, 2, 4, 8 or 16.
                           * DECIMATED also uses row_bits, frac and col_bits */
    int reach_x, reach_y; /* DECIMATED: radius of the masks in nodes; mask holds reach_x + 1
                           * weights, followed by reach_y + 1 weights */

    /* CELLS: cells across a box, and down; number of boxes; how far the cells at a box's edges
     * reach past it, in luma pixels. CELLS also uses step_x and step_y: luma pixels from one sample
     * to the next. */
    int cells, boxes, reach;
};

/* The sample format and the border of the planes for which a convolution is made. */
struct halo_conv_target {
    int depth; /* 8 .. 16 */
    enum halo_border border;
    int border_value; /* 0 .. 2^depth - 1 */
};

/* Each constructor fills *ret and returns 0. On failure, it leaves *ret untouched and returns
 * -EINVAL (an argument is outside the range given here) or -ERANGE (no number format keeps the
 * error_bound of this mask within 1, or within 2 for DECIMATED). */

/* out = in. */
int halo_conv_copy(struct halo_conv *ret, const struct halo_conv_target *target);

/* Makes a Gaussian. The sigmas are 0 to HALO_MAX_SIGMA, in pixels of this plane, and each radius is
 * ceil(3 sigma). The weights are samples of exp(-x^2 / (2 sigma^2)), divided by their sum. Sigmas
 * so small that the mask rounds to the identity in both directions give COPY; a sigma above
 * HALO_MAX_SEPARABLE_SIGMA gives DECIMATED. */
int halo_conv_gauss(struct halo_conv *ret, double sigma_x, double sigma_y,
                    const struct halo_conv_target *target);

/* Makes a convolution with any mask: out = round(sum w p + bias), with bias in code values of this
 * depth. The mask's width and height are odd; either both are at most HALO_MAX_DENSE, or one is at
 * most HALO_MAX_TAPS and the other is 1. The weights are finite real numbers, row by row. */
int halo_conv_dense(struct halo_conv *ret, const double *weights, int width, int height,
                    double bias, const struct halo_conv_target *target);

/* Makes the convolution that averages a window of (2 radius_x + 1) by (2 radius_y + 1) samples.
 * The radii are 0 to HALO_MAX_BOX_RADIUS. */
int halo_conv_box(struct halo_conv *ret, int radius_x, int radius_y,
                  const struct halo_conv_target *target);

/* Makes an edge detector: out = floor(scale * sqrt(a^2 + b^2) + delta), where a and b are the sums
 * of the 3x3 masks mx and my. The masks are stored row by row, and the magnitudes of each mask's
 * weights sum to at most 32767. scale is 0 to 65535; delta is -65535 to 65535, in code values of
 * this depth. The result is exact if scale^2 is a binary fraction and delta is an integer. Also
 * returns -ERANGE if a^2 + b^2 can reach 2^50. This is impossible if, in each mask, the sum of the
 * positive weights is at most 256 and the sum of the negative weights is at least -256. If one of
 * these sums is 256 or -256, every scale is accepted up to depth 15; at depth 16, only exact scales
 * are accepted. */
int halo_conv_gradient(struct halo_conv *ret, const int mx[9], const int my[9], double scale,
                       double delta, const struct halo_conv_target *target);

/* Makes a filter whose output consists of blocks of block_w by block_h pixels, each of one colour.
 * Both sizes are 1 to HALO_MAX_BLOCK; blocks of one pixel give COPY. */
int halo_conv_pixelize(struct halo_conv *ret, int block_w, int block_h, enum halo_pixelize mode,
                       const struct halo_conv_target *target);

/* Makes a filter whose output is a plane of one colour, with one or two channels: every sample of
 * channel c is values[c], which is 0 to 2^depth - 1. */
int halo_conv_solid(struct halo_conv *ret, const int values[2],
                    const struct halo_conv_target *target);

/* Makes a filter that looks up each sample by itself, in all channels of the plane: p becomes
 * table[p]. The table has 2^depth entries of 0 to 2^depth - 1; if each of them is its own index,
 * this gives COPY. Returns -ERANGE above depth 12. */
int halo_conv_table(struct halo_conv *ret, const uint16_t *table,
                    const struct halo_conv_target *target);

#endif
