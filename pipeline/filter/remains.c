/* SPDX-License-Identifier: BSD-2-Clause
 * The detail that convolutions leave (remains.h). */
#include "pipeline/filter/remains.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/plane.h"

enum { GRID = HALO_REMAINS_GRID, HALF = HALO_REMAINS_HALF, CANCELS = 64 };

static const double grown = 1.01; /* more than unchanged detail can become by rounding of weights */

static double angle(int k)
{
    return 2 * M_PI * k / GRID;
}

/* ---- responses along one axis ---- */

/* The response of a symmetric mask with taps `step` samples apart; side[0] is the middle one. */
static double symmetric(const int32_t *side, int reach, int step, int bits, int k)
{
    double sum = side[0];
    for (int i = 1; i <= reach; i++)
        sum += 2.0 * side[i] * cos(angle(k * i * step % GRID));
    return ldexp(sum, -bits);
}

/* The response of the mean of n samples. */
static double mean(int n, int k)
{
    const double half = angle(k) / 2;
    return k % GRID == 0 ? 1 : sin(n * half) / (n * sin(half));
}

static double axis(const struct halo_conv *conv, bool down, int k)
{
    const int radius = down ? conv->radius_y : conv->radius_x;
    const int bits = down ? conv->col_bits : conv->row_bits;
    switch (conv->kind) {
    case HALO_CONV_SEPARABLE:
        return symmetric((down ? conv->col : conv->row) + radius, radius, 1, bits, k);
    case HALO_CONV_BOX:
        return mean(2 * radius + 1, k);
    default: { /* DECIMATED: to the nodes, then the mask; the way back blurs, too: not counted */
        const int step = down ? conv->step_y : conv->step_x;
        const int32_t *side = conv->mask + (down ? conv->reach_x + 1 : 0);
        const double nodes = symmetric(side, down ? conv->reach_y : conv->reach_x, step, bits, k);
        return nodes * mean(step, k) * mean(step, k);
    }
    }
}

static void of_axes(struct halo_response *ret, const struct halo_plane_plan *plan)
{
    double down[GRID];
    for (int y = 0; y < GRID; y++)
        down[y] = axis(&plan->conv, true, y);
    for (int x = 0; x < HALF; x++) {
        const double across = axis(&plan->conv, false, x);
        for (int y = 0; y < GRID; y++)
            ret->at[x][y] = pow(across * down[y], 2.0 * plan->passes);
    }
}

/* ---- any mask ---- */

/* The sum of all weights; *ret_size: the sum of their magnitudes. */
static double sum_of(const struct halo_conv *conv, double *ret_size)
{
    const int count = (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1);
    double sum = 0;
    *ret_size = 0;
    for (int i = 0; i < count; i++) {
        sum += conv->mask[i];
        *ret_size += fabs((double)conv->mask[i]);
    }
    return sum;
}

static bool is_edges(const struct halo_conv *conv)
{
    double size;
    if (conv->kind == HALO_CONV_GRADIENT)
        return true;
    return conv->kind == HALO_CONV_DENSE && fabs(sum_of(conv, &size)) * CANCELS <= size;
}

/* The response of a dense mask: first along its rows, then down the results. */
static void of_mask(struct halo_response *ret, const struct halo_plane_plan *plan)
{
    const struct halo_conv *conv = &plan->conv;
    const int width = 2 * conv->radius_x + 1, height = 2 * conv->radius_y + 1;
    double complex turn[GRID], rows[HALO_MAX_TAPS];
    double size;
    const double sum = sum_of(conv, &size);
    for (int k = 0; k < GRID; k++)
        turn[k] = cos(angle(k)) - sin(angle(k)) * I;
    for (int x = 0; x < HALF; x++) {
        for (int j = 0; j < height; j++) {
            rows[j] = 0;
            for (int i = 0; i < width; i++)
                rows[j] += conv->mask[j * width + i] * turn[x * i % GRID];
        }
        for (int y = 0; y < GRID; y++) {
            double complex all = 0;
            for (int j = 0; j < height; j++)
                all += rows[j] * turn[y * j % GRID];
            ret->at[x][y] = pow(cabs(all) / fabs(sum), 2.0 * plan->passes);
        }
    }
}

void halo_response_plan(struct halo_response *ret, const struct halo_plane_plan *plan)
{
    switch (plan->conv.kind) {
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_BOX:
    case HALO_CONV_DECIMATED:
        of_axes(ret, plan);
        return;
    case HALO_CONV_DENSE:
        if (!is_edges(&plan->conv)) {
            of_mask(ret, plan);
            return;
        }
        break;
    case HALO_CONV_COPY:
    case HALO_CONV_GRADIENT:
    case HALO_CONV_PIXELIZE:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
        break;
    }
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++)
            ret->at[x][y] = 1;
}

/* ---- the chain ---- */

void halo_remains_begin(struct halo_remains *ret, int depth)
{
    ret->changed = ret->edges = ret->flat = false;
    ret->least = 0;
    ret->most = halo_sample_max(depth);
    ret->blocks = 1;
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++)
            ret->response.at[x][y] = 1;
}

static int64_t clamp(int64_t v, int depth)
{
    return v < 0 ? 0 : v > halo_sample_max(depth) ? halo_sample_max(depth) : v;
}

/* Updates the range of sample values for a dense mask. */
static void limit(struct halo_remains *r, const struct halo_conv *conv)
{
    const int count = (2 * conv->radius_x + 1) * (2 * conv->radius_y + 1);
    int64_t above = 0, below = 0;
    for (int i = 0; i < count; i++) {
        above += conv->mask[i] > 0 ? conv->mask[i] : 0;
        below += conv->mask[i] < 0 ? conv->mask[i] : 0;
    }
    const int64_t least = above * r->least + below * r->most + conv->bias;
    const int64_t most = above * r->most + below * r->least + conv->bias;
    r->least = clamp(least >> conv->mask_bits, conv->depth);
    r->most = clamp(most >> conv->mask_bits, conv->depth);
}

void halo_remains_add(struct halo_remains *r, const struct halo_plane_plan *plan,
                      const struct halo_response *response)
{
    const struct halo_conv *conv = &plan->conv;
    if (conv->kind == HALO_CONV_COPY)
        return;
    r->changed = true;
    r->edges |= is_edges(conv);
    if (conv->border == HALO_BORDER_CONSTANT) {
        r->least = conv->border_value < r->least ? conv->border_value : r->least;
        r->most = conv->border_value > r->most ? conv->border_value : r->most;
    }
    if (conv->kind == HALO_CONV_DENSE) {
        limit(r, conv);
    } else if (conv->kind == HALO_CONV_GRADIENT) {
        r->least = 0;
        r->most = halo_sample_max(conv->depth);
    }
    /* CELLS shows nothing of its input: what its boxes show is bounded by halo_chain_leaves(). */
    r->flat |= conv->kind == HALO_CONV_SOLID || conv->kind == HALO_CONV_CELLS ||
               r->least == r->most ||
               (conv->kind == HALO_CONV_GRADIENT && (conv->limit == 0 || conv->scale == 0));
    if (conv->kind == HALO_CONV_PIXELIZE)
        r->blocks = fmax(r->blocks, (double)conv->block_w * conv->block_h);
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++)
            r->response.at[x][y] *= response->at[x][y];
}

double halo_remains_detail(const struct halo_remains *r)
{
    double sum = 0;
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++)
            sum += (x % (HALF - 1) ? 2 : 1) * r->response.at[x][y]; /* the other half is the same */
    sum /= GRID * GRID;
    return r->flat ? 0 : r->blocks > 1 ? fmin(sum, 1 / r->blocks) : sum;
}

enum halo_effect halo_remains_effect(const struct halo_remains *r, double most)
{
    const double detail = halo_remains_detail(r);
    if (detail <= most)
        return HALO_EFFECT_HIDES;
    if (!r->changed)
        return HALO_EFFECT_IDENTITY;
    return detail > grown && !r->edges ? HALO_EFFECT_SHARPENS : HALO_EFFECT_UNDOABLE;
}
