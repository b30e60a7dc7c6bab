/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes: from a small mask of weights and the frame to which it belongs, weights of the
 * frame's size whose edges are the frame's, defined to the last bit.
 *
 * The method is the fast guided filter (K. He and J. Sun, 2015): around each node of a small grid,
 * the mask is fitted by a line over the brightness of the frame, and these lines are applied to
 * the frame at its full size. Four steps, with w x h for the mask and the grid, W x H for the
 * frame, all integers; >> rounds down, / rounds towards 0:
 *
 *   SHRINK   I[y][x], 12 bits: the mean of the samples of columns x * W / w to (x + 1) * W / w - 1
 *            (at least one column) and rows likewise, as (2 * sum + n) / (2 * n), where a sample of
 *            depth d counts as HALO_MATTE_LUMA of it: 12 bits
 *   SETTLE   in time, per node, with mask M (0 .. 255), the mask M' of the frame before, and the
 *            state S (0 .. 255 * 256) and R (12 bits), which are 256 * M and I in the first frame:
 *              moved = max |I - R| over the node and its neighbours (3 x 3)
 *              apart = min(|256 M - S|, |256 M' - S|) >> 8 if M and M' are on the same side of S,
 *                      otherwise 0
 *              k     = max(SLOW, 256 * (moved - STILL) / (MOVING - STILL),
 *                          256 * (apart - SAME) / (OTHER - SAME)), at most 256
 *              S    += k * (256 M - S) >> 8        R += k * (I - R) >> 8
 *   FIT      with p = (S - 2048) * 4387 >> 16, limited to 0 .. 4095, and sums over 5 x 5 nodes
 *            (beyond the edges: the nearest node):
 *              slope = 2048 * (25 sum(I p) - sum(I) sum(p)) / (25 sum(I I) - sum(I)^2 + 625 FLAT)
 *                      limited to +-STEEPEST
 *              base  = (2048 * sum(p) - slope * sum(I)) / 25
 *            and then, for a curve that maps p from `low` to `high` to 0 .. 255:
 *              G = 255 * 65536 / (25 * (high - low))
 *              A = sum(slope) * G + 32768 >> 16
 *              B = (sum(base) - 25 * 2048 * low) * G + 32768 >> 16
 *            where all 25 p are at least SURE, A = 0 and B = 260 * 2048, and where all are at most
 *            4095 - SURE, A = 0 and B = -5 * 2048: nothing in the frame can change what is sure
 *   DRAW     per pixel: A and B are interpolated (HALO_MATTE_AT, halo_matte_between(), first down,
 *            then across), weight = (A * luma + B + 1024) >> 11, limited to 0 .. 255
 *
 * Functions may be called on any thread and never block. */
#ifndef HALO_MATTE_H
#define HALO_MATTE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/plane.h"

enum {
    HALO_MATTE_MIN_SIDE = 16,     /* of a mask */
    HALO_MATTE_MAX_SIDE = 1024,   /* of a mask */
    HALO_MATTE_MAX_FRAME = 16384, /* largest width and height of a frame */
    /* The constants of the definition: */
    HALO_MATTE_SLOW = 10,
    HALO_MATTE_STILL = 32,
    HALO_MATTE_MOVING = 128,
    HALO_MATTE_SAME = 64,
    HALO_MATTE_OTHER = 128,
    HALO_MATTE_FLAT = 100000, /* a variance of luma; where it is less, the frame counts as flat */
    HALO_MATTE_STEEPEST = 12288,
    HALO_MATTE_SURE = 3900
};

/* What is made of a mask: a struct for each size of masks. The arrays have width x height elements,
 * rows without gaps. */
struct halo_matte_grid {
    int width, height;
    int16_t *slope; /* A: -2047 .. 2047 */
    int32_t *base;  /* B: less than 2^23 from 0 */
};

/* The state in time, and memory for the steps up to FIT. */
struct halo_matte_nodes;

/* Creates the nodes for masks of this size. Returns NULL if memory runs out. */
struct halo_matte_nodes *halo_matte_nodes_create(int width, int height);
void halo_matte_nodes_destroy(struct halo_matte_nodes *nodes); /* NULL is ignored */
/* The next frame will be the first one. */
void halo_matte_nodes_reset(struct halo_matte_nodes *nodes);

/* SHRINK and SETTLE. mask has one weight per node, rows without gaps. luma has one channel and is
 * in host memory; NULL: unknown, which counts as 0 everywhere, and this frame and the next one as
 * first frames. Returns 0; or -ENOMEM, and the next frame will be the first one. */
int halo_matte_settle(struct halo_matte_nodes *nodes, const uint8_t *mask,
                      const struct halo_plane *luma);

/* The ramp from weight 0 to weight 255, in 1/4095 of the mask's weight. high - low is at least
 * 2040. */
struct halo_matte_curve {
    int low, high;
};
/* For weights of which 0 must be certain: anything that may belong to a person has a weight. For
 * weights of which 255 must be certain. */
extern const struct halo_matte_curve halo_matte_hidden, halo_matte_shown;

/* FIT, up to the curve; and the curve. *ret is valid as long as the nodes and until the next call
 * for the same nodes. */
void halo_matte_fit(struct halo_matte_nodes *nodes);
void halo_matte_grid(struct halo_matte_nodes *nodes, const struct halo_matte_curve *curve,
                     struct halo_matte_grid *ret);

/* DRAW. dst has depth 8, one channel and luma's size; both planes are in host memory and do not
 * overlap. luma is NULL if it is unknown. Returns 0 or -ENOMEM. */
int halo_matte_draw(const struct halo_matte_grid *grid, const struct halo_plane *luma,
                    const struct halo_plane *dst);
/* The same, one pixel at a time: the definition. */
void halo_matte_draw_plainly(const struct halo_matte_grid *grid, const struct halo_plane *luma,
                             const struct halo_plane *dst);
/* The same with the code for one instruction set: 0 is for all processors, 1 for x86-64-v3 and 2
 * for x86-64-v4. Returns -ENOTSUP if this processor cannot run it. */
int halo_matte_draw_as(int level, const struct halo_matte_grid *grid, const struct halo_plane *luma,
                       const struct halo_plane *dst);

/* ---- the definition of DRAW ---- */

/* A sample, in 12 bits. */
static inline HALO_HOST_DEVICE int halo_matte_luma(int sample, int depth)
{
    return depth <= 12 ? sample << (12 - depth) : sample >> (depth - 12);
}

/* Where pixel x of `pixels` lies among `nodes`: in 1/128 of the distance of two nodes, from the
 * first node. */
static inline HALO_HOST_DEVICE int halo_matte_at(int x, int pixels, int nodes)
{
    const int at = (int)((2 * (int64_t)x + 1) * nodes * 64 / pixels) - 64;
    const int most = (nodes - 1) * 128;
    return at < 0 ? 0 : at > most ? most : at;
}

/* The value between two nodes, at 0 .. 127. It is never beyond either of them. */
static inline HALO_HOST_DEVICE int32_t halo_matte_between(int32_t a, int32_t b, int at)
{
    return a + (((b - a) * at + 64) >> 7);
}

static inline HALO_HOST_DEVICE int halo_matte_weight(int32_t slope, int32_t base, int luma)
{
    const int32_t weight = (slope * luma + base + 1024) >> 11;
    return weight < 0 ? 0 : weight > 255 ? 255 : weight;
}

/* The weight of a pixel: at_x, at_y are from halo_matte_at(). */
static inline HALO_HOST_DEVICE int halo_matte_pixel(const struct halo_matte_grid *grid, int at_x,
                                                    int at_y, int luma)
{
    const int x0 = at_x >> 7, x1 = x0 + (x0 + 1 < grid->width);
    const int y0 = at_y >> 7, y1 = y0 + (y0 + 1 < grid->height);
    const int16_t *slope0 = grid->slope + (ptrdiff_t)y0 * grid->width;
    const int16_t *slope1 = grid->slope + (ptrdiff_t)y1 * grid->width;
    const int32_t *base0 = grid->base + (ptrdiff_t)y0 * grid->width;
    const int32_t *base1 = grid->base + (ptrdiff_t)y1 * grid->width;
    const int down = at_y & 127, across = at_x & 127;
    const int32_t slope =
        halo_matte_between(halo_matte_between(slope0[x0], slope1[x0], down),
                           halo_matte_between(slope0[x1], slope1[x1], down), across);
    const int32_t base = halo_matte_between(halo_matte_between(base0[x0], base1[x0], down),
                                            halo_matte_between(base0[x1], base1[x1], down), across);
    return halo_matte_weight(slope, base, luma);
}

#endif
