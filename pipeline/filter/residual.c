/* SPDX-License-Identifier: BSD-2-Clause
 * The detail that convolutions leave (residual.h). */
#include "pipeline/filter/residual.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/plane.h"

enum { GRID = HALO_RESIDUAL_GRID, HALF = HALO_RESIDUAL_HALF, CANCELS = 64 };
/* K g of a frame with four levels: they show its shapes well. */
enum { FEW_LEVELS = 16 };
enum { PARTS = 4, FINE = 2 * PARTS * GRID }; /* frequencies from one of the grid to the next; all */

static const double grown = 1.01; /* more than unchanged detail can become by rounding of weights */

static double angle(int k, int of)
{
    return 2 * M_PI * k / of;
}

/* ---- responses along one axis, at frequency 2 pi k / FINE ---- */

/* The response of a symmetric mask with taps `step` samples apart; side[0] is the middle one. */
static double symmetric(const int32_t *side, int reach, int step, int bits, int k)
{
    double sum = side[0];
    for (int i = 1; i <= reach; i++)
        sum += 2.0 * side[i] * cos(angle(k * i * step % FINE, FINE));
    return ldexp(sum, -bits);
}

/* The response of the mean of n samples. */
static double mean(int n, int k)
{
    const double half = angle(k, FINE) / 2;
    return k % FINE == 0 ? 1 : sin(n * half) / (n * sin(half));
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

/* The mean square of the frequencies around number k of the grid: a large mask has more zeros than
 * the grid has frequencies, and they may all lie on it. */
static double power(const struct halo_conv *conv, bool down, int k)
{
    double sum = 0;
    for (int i = 1 - PARTS; i < PARTS; i += 2) {
        const double one = axis(conv, down, abs(2 * PARTS * k + i));
        sum += one * one;
    }
    return sum / PARTS;
}

static void of_axes(struct halo_response *ret, const struct halo_conv *conv)
{
    double down[HALF];
    for (int y = 0; y < HALF; y++)
        down[y] = power(conv, true, y);
    for (int x = 0; x < HALF; x++) {
        const double across = power(conv, false, x);
        for (int y = 0; y < GRID; y++)
            ret->at[x][y] = across * down[y < HALF ? y : GRID - y];
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
static void of_mask(struct halo_response *ret, const struct halo_conv *conv)
{
    const int width = 2 * conv->radius_x + 1, height = 2 * conv->radius_y + 1;
    double complex turn[GRID], rows[HALO_MAX_TAPS];
    for (int k = 0; k < GRID; k++)
        turn[k] = cos(angle(k, GRID)) - sin(angle(k, GRID)) * I;
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
            const double gain = ldexp(cabs(all), -conv->mask_bits);
            ret->at[x][y] = gain * gain;
        }
    }
}

/* The same for all frequencies. */
static void of_all(struct halo_response *ret, double squared)
{
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++)
            ret->at[x][y] = squared;
}

/* The most that any frequency can have. */
static double most_of_gradient(const struct halo_conv *conv)
{
    double a = 0, b = 0;
    for (int i = 0; i < 9; i++) {
        a += abs(conv->mask[i]);
        b += abs(conv->mask[9 + i]);
    }
    return ldexp((a * a + b * b) * conv->scale, -conv->scale_bits - 2 * conv->mask_bits);
}

void halo_response_plan(struct halo_response *ret, const struct halo_plane_plan *plan)
{
    switch (plan->conv.kind) {
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_BOX:
    case HALO_CONV_DECIMATED:
        of_axes(ret, &plan->conv);
        return;
    case HALO_CONV_DENSE:
        of_mask(ret, &plan->conv);
        return;
    case HALO_CONV_GRADIENT:
        of_all(ret, most_of_gradient(&plan->conv));
        return;
    case HALO_CONV_COPY:
    case HALO_CONV_PIXELIZE:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
    case HALO_CONV_TABLE:
        break;
    }
    of_all(ret, 1);
}

/* ---- the chain ---- */

/* The largest difference between neighbours in a table, at least 1. */
static int steepest(const struct halo_conv *conv)
{
    int most = 1;
    for (int i = 0; i < halo_sample_max(conv->depth); i++) {
        const int step = abs(conv->table[i + 1] - conv->table[i]);
        most = step > most ? step : most;
    }
    return most;
}

void halo_residual_begin(struct halo_residual *ret, int depth)
{
    ret->changed = ret->edges = ret->flat = false;
    ret->least = 0;
    ret->most = halo_sample_max(depth);
    ret->blocks = 1;
    ret->contrast = (double)ret->most * (double)ret->most;
    ret->rounding = 1;
    of_all(&ret->response, 1);
    of_all(&ret->noise, 0);
}

static int64_t clamp(int64_t v, int depth)
{
    return v < 0 ? 0 : v > halo_sample_max(depth) ? halo_sample_max(depth) : v;
}

/* Updates the range of sample values for a dense mask. */
static void limit(struct halo_residual *r, const struct halo_conv *conv)
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

/* The mean over all frequencies, of their squared responses or of what can be brought back. */
static double mean_of(const struct halo_residual *r, bool back)
{
    double sum = 0;
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++) {
            const double g = r->response.at[x][y], k = r->contrast * g, n = r->noise.at[x][y];
            sum += (x % (HALF - 1) ? 2 : 1) * (!back ? g : n > 0 ? k / (k + n) : 1);
        } /* the other half is the same */
    sum /= GRID * GRID;
    return r->flat ? 0 : r->blocks > 1 ? fmin(sum, 1 / r->blocks) : sum;
}

void halo_residual_add(struct halo_residual *r, const struct halo_plane_plan *plan,
                       const struct halo_response *response)
{
    const struct halo_conv *conv = &plan->conv;
    if (conv->kind == HALO_CONV_COPY)
        return;
    r->changed = true;
    if (conv->kind == HALO_CONV_TABLE) {
        r->least = 0;
        r->most = halo_sample_max(conv->depth);
        r->rounding /= pow(steepest(conv), 2.0 * plan->passes);
        return;
    }
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
    /* CELLS shows nothing of its input: what its boxes show is bounded by halo_chain_disclosure().
     * */
    r->flat |= conv->kind == HALO_CONV_SOLID || conv->kind == HALO_CONV_CELLS ||
               r->least == r->most ||
               (conv->kind == HALO_CONV_GRADIENT && (conv->limit == 0 || conv->scale == 0));
    if (conv->kind == HALO_CONV_PIXELIZE)
        r->blocks = fmax(r->blocks, (double)conv->block_w * conv->block_h);
    for (int x = 0; x < HALF; x++)
        for (int y = 0; y < GRID; y++)
            for (int pass = 0; pass < plan->passes; pass++) {
                r->response.at[x][y] *= response->at[x][y];
                r->noise.at[x][y] = r->noise.at[x][y] * response->at[x][y] + r->rounding;
            }
    /* Rounding is no noise where it leaves few levels: a threshold shows shapes, too. They count as
     * if the frame had that much contrast. */
    const double left = r->contrast * mean_of(r, false);
    for (int x = 0; x < HALF && left > 0 && left < FEW_LEVELS; x++)
        for (int y = 0; y < GRID; y++)
            r->response.at[x][y] *= FEW_LEVELS / left;
}

double halo_residual_share(const struct halo_residual *r)
{
    return mean_of(r, true);
}

double halo_residual_detail(const struct halo_residual *r)
{
    return mean_of(r, false);
}

enum halo_effect halo_residual_effect(const struct halo_residual *r, double most)
{
    if (halo_residual_share(r) <= most)
        return HALO_EFFECT_HIDES;
    if (!r->changed)
        return HALO_EFFECT_IDENTITY;
    return halo_residual_detail(r) > grown && !r->edges ? HALO_EFFECT_SHARPENS
                                                        : HALO_EFFECT_UNDOABLE;
}
