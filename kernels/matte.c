/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes (matte.h): the steps on the small grid. */
#include "kernels/matte.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/matte.h"

enum {
    REACH = 2,  /* nodes on each side of a node that are summed */
    COUNT = 25, /* nodes that are summed */
    FLAT = COUNT * COUNT * HALO_MATTE_FLAT,
    EMPTY = 1, /* bits of `sure` */
    FULL = 2
};

const struct halo_matte_curve halo_matte_hidden = {400, 2440};
const struct halo_matte_curve halo_matte_shown = {1229, 3276};

struct halo_matte_nodes {
    int width, height;
    bool first; /* no frame yet */
    /* One element per node: */
    int16_t *luma, *reference; /* I, R */
    uint16_t *state;           /* S */
    uint8_t *mask;             /* of the frame before */
    int16_t *p, *slope, *sum_slope;
    int32_t *base, *sum_base;
    uint8_t *sure; /* the node itself: whether p is at least SURE, or at most 4095 - SURE */
    /* One element per column, and REACH more on each side: the sums of five rows. */
    int32_t *sum[4];
    uint8_t *all_sure;
    uint32_t *column; /* one element per column of the frame */
    int columns;
};

/* Takes bytes from memory of which *used are taken already; memory may be NULL. */
static void *take(char *memory, size_t *used, size_t bytes)
{
    void *here = memory ? memory + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return here;
}

/* Sets the pointers, behind the struct itself. Returns the bytes that are needed. */
static size_t place(struct halo_matte_nodes *n, char *memory)
{
    const size_t count = (size_t)n->width * (size_t)n->height;
    const size_t row = (size_t)n->width + 2 * REACH;
    size_t used = (sizeof *n + 63) / 64 * 64;
    n->luma = take(memory, &used, count * sizeof *n->luma);
    n->reference = take(memory, &used, count * sizeof *n->reference);
    n->state = take(memory, &used, count * sizeof *n->state);
    n->mask = take(memory, &used, count);
    n->p = take(memory, &used, count * sizeof *n->p);
    n->slope = take(memory, &used, count * sizeof *n->slope);
    n->sum_slope = take(memory, &used, count * sizeof *n->sum_slope);
    n->base = take(memory, &used, count * sizeof *n->base);
    n->sum_base = take(memory, &used, count * sizeof *n->sum_base);
    n->sure = take(memory, &used, count);
    for (int i = 0; i < 4; i++)
        n->sum[i] = take(memory, &used, row * sizeof *n->sum[i]);
    n->all_sure = take(memory, &used, row);
    return used;
}

struct halo_matte_nodes *halo_matte_nodes_create(int width, int height)
{
    const struct halo_matte_nodes begin = {.width = width, .height = height, .first = true};
    struct halo_matte_nodes measured = begin;
    char *memory = calloc(1, place(&measured, NULL));
    struct halo_matte_nodes *n = (struct halo_matte_nodes *)memory;
    if (!n)
        return NULL;
    *n = begin;
    place(n, memory);
    return n;
}

void halo_matte_nodes_destroy(struct halo_matte_nodes *nodes)
{
    if (nodes)
        free(nodes->column);
    free(nodes);
}

void halo_matte_nodes_reset(struct halo_matte_nodes *nodes)
{
    nodes->first = true;
}

/* ---- SHRINK ---- */

/* Samples [*ret0, *ret1) belong to node i. */
static void part(int i, int samples, int nodes, int *ret0, int *ret1)
{
    const int end = (int)((int64_t)(i + 1) * samples / nodes);
    *ret0 = (int)((int64_t)i * samples / nodes);
    *ret1 = end > *ret0 ? end : *ret0 + 1;
}

static void shrink(struct halo_matte_nodes *n, const struct halo_plane *luma)
{
    for (int y = 0; y < n->height; y++) {
        int y0, y1, x0, x1;
        part(y, luma->height, n->height, &y0, &y1);
        memset(n->column, 0, (size_t)luma->width * sizeof *n->column);
        for (int i = y0; i < y1; i++)
            halo_matte_add(luma, i, n->column);
        for (int x = 0; x < n->width; x++) {
            uint32_t sum = 0;
            part(x, luma->width, n->width, &x0, &x1);
            for (int i = x0; i < x1; i++)
                sum += n->column[i];
            const uint32_t count = (uint32_t)((x1 - x0) * (y1 - y0));
            n->luma[y * n->width + x] = (int16_t)((sum + count / 2) / count);
        }
    }
}

/* ---- SETTLE ---- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* The largest change of luma around each node of a row: down, then across. down has an element more
 * on each side. */
static void find_moved(const struct halo_matte_nodes *n, int y, int32_t *down, int32_t *ret)
{
    const int width = n->width;
    const int y0 = most(y - 1, 0), y1 = least(y + 1, n->height - 1);
    memset(down, 0, ((size_t)width + 2) * sizeof *down);
    for (int i = y0; i <= y1; i++) {
        const int16_t *restrict luma = n->luma + (ptrdiff_t)i * width;
        const int16_t *restrict reference = n->reference + (ptrdiff_t)i * width;
        for (int x = 0; x < width; x++)
            down[x + 1] = most(down[x + 1], abs(luma[x] - reference[x]));
    }
    for (int x = 0; x < width; x++)
        ret[x] = most(most(down[x], down[x + 1]), down[x + 2]);
}

static int share(int moved, int now, int before)
{
    const bool same_side = (now > 0) == (before > 0);
    const int apart = same_side ? least(abs(now), abs(before)) >> 8 : 0;
    const int by_luma = 256 * (moved - HALO_MATTE_STILL) / (HALO_MATTE_MOVING - HALO_MATTE_STILL);
    const int by_mask = 256 * (apart - HALO_MATTE_SAME) / (HALO_MATTE_OTHER - HALO_MATTE_SAME);
    return least(most(HALO_MATTE_SLOW, most(by_luma, by_mask)), 256);
}

/* reference must not change before the row below has been compared with it: `moved` is of row y,
 * and is computed one row ahead. */
static void settle_row(struct halo_matte_nodes *n, int y, const uint8_t *mask, const int32_t *moved)
{
    const ptrdiff_t row = (ptrdiff_t)y * n->width;
    for (int x = 0; x < n->width; x++) {
        const ptrdiff_t i = row + x;
        const int now = 256 * mask[i] - n->state[i], before = 256 * n->mask[i] - n->state[i];
        const int k = share(moved[x], now, before);
        n->state[i] = (uint16_t)(n->state[i] + (k * now >> 8));
        n->reference[i] = (int16_t)(n->reference[i] + (k * (n->luma[i] - n->reference[i]) >> 8));
    }
}

static void settle(struct halo_matte_nodes *n, const uint8_t *mask)
{
    int32_t *moved = n->sum[0], *next = n->sum[1];
    find_moved(n, 0, n->sum[2], moved);
    for (int y = 0; y < n->height; y++) {
        int32_t *done = moved;
        if (y + 1 < n->height)
            find_moved(n, y + 1, n->sum[2], next);
        settle_row(n, y, mask, moved);
        moved = next;
        next = done;
    }
}

int halo_matte_settle(struct halo_matte_nodes *n, const uint8_t *mask,
                      const struct halo_plane *luma)
{
    const size_t count = (size_t)n->width * (size_t)n->height;
    if (luma && n->columns < luma->width) {
        free(n->column);
        n->column = malloc((size_t)luma->width * sizeof *n->column);
        n->columns = n->column ? luma->width : 0;
        if (!n->column) {
            n->first = true;
            return -ENOMEM;
        }
    }
    if (luma)
        shrink(n, luma);
    else
        memset(n->luma, 0, count * sizeof *n->luma);
    if (n->first || !luma) {
        for (size_t i = 0; i < count; i++)
            n->state[i] = (uint16_t)(256 * mask[i]);
        memcpy(n->reference, n->luma, count * sizeof *n->luma);
    } else {
        settle(n, mask);
    }
    n->first = !luma;
    memcpy(n->mask, mask, count);
    return 0;
}

/* ---- FIT ---- */

/* Repeats the first and the last element of a row of sums. */
static void extend(int32_t *sums, int width)
{
    for (int i = 0; i < REACH; i++) {
        sums[i] = sums[REACH];
        sums[REACH + width + i] = sums[REACH + width - 1];
    }
}

static int32_t five(const int32_t *sums)
{
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4];
}

/* Row y + i, or the nearest one of the grid. */
static ptrdiff_t row_near(const struct halo_matte_nodes *n, int y, int i)
{
    return (ptrdiff_t)least(most(y + i, 0), n->height - 1) * n->width;
}

/* The sums of I, p, I I and I p down the columns. */
static void sum_down(struct halo_matte_nodes *n, int y)
{
    const int width = n->width;
    int32_t *restrict sum_i = n->sum[0] + REACH, *restrict sum_p = n->sum[1] + REACH;
    int32_t *restrict sum_ii = n->sum[2] + REACH, *restrict sum_ip = n->sum[3] + REACH;
    for (int k = 0; k < 4; k++)
        memset(n->sum[k], 0, ((size_t)width + 2 * REACH) * sizeof *n->sum[k]);
    for (int i = -REACH; i <= REACH; i++) {
        const int16_t *restrict luma = n->luma + row_near(n, y, i);
        const int16_t *restrict p = n->p + row_near(n, y, i);
        for (int x = 0; x < width; x++) {
            sum_i[x] += luma[x];
            sum_p[x] += p[x];
            sum_ii[x] += luma[x] * luma[x];
            sum_ip[x] += luma[x] * p[x];
        }
    }
    for (int k = 0; k < 4; k++)
        extend(n->sum[k], width);
}

static void fit_row(struct halo_matte_nodes *n, int y)
{
    int16_t *slope_row = n->slope + (ptrdiff_t)y * n->width;
    int32_t *base_row = n->base + (ptrdiff_t)y * n->width;
    sum_down(n, y);
    for (int x = 0; x < n->width; x++) {
        const int32_t i = five(n->sum[0] + x), p = five(n->sum[1] + x);
        int32_t slope = 0;
        if (p > 0 && p < COUNT * 4095) { /* otherwise the product below is 0 */
            const int64_t ii = five(n->sum[2] + x), ip = five(n->sum[3] + x);
            const int64_t both = COUNT * ip - (int64_t)i * p;
            const int64_t own = COUNT * ii - (int64_t)i * i + FLAT;
            const int64_t exact = 2048 * both / own;
            slope = exact > HALO_MATTE_STEEPEST    ? HALO_MATTE_STEEPEST
                    : exact < -HALO_MATTE_STEEPEST ? -HALO_MATTE_STEEPEST
                                                   : (int32_t)exact;
        }
        slope_row[x] = (int16_t)slope;
        base_row[x] = (2048 * p - slope * i) / COUNT;
    }
}

/* The sums of slope and base down the columns, and what all five rows are sure of. */
static void join_down(struct halo_matte_nodes *n, int y)
{
    const int width = n->width;
    int32_t *restrict slopes = n->sum[0] + REACH, *restrict bases = n->sum[1] + REACH;
    uint8_t *restrict all = n->all_sure + REACH;
    memset(n->sum[0], 0, ((size_t)width + 2 * REACH) * sizeof *n->sum[0]);
    memset(n->sum[1], 0, ((size_t)width + 2 * REACH) * sizeof *n->sum[1]);
    memset(n->all_sure, EMPTY | FULL, (size_t)width + 2 * REACH);
    for (int i = -REACH; i <= REACH; i++) {
        const int16_t *restrict slope = n->slope + row_near(n, y, i);
        const int32_t *restrict base = n->base + row_near(n, y, i);
        const uint8_t *restrict sure = n->sure + row_near(n, y, i);
        for (int x = 0; x < width; x++) {
            slopes[x] += slope[x];
            bases[x] += base[x];
            all[x] &= sure[x];
        }
    }
    extend(n->sum[0], width);
    extend(n->sum[1], width);
}

static void join_row(struct halo_matte_nodes *n, int y, const struct halo_matte_curve *curve)
{
    const int factor = 255 * 65536 / (COUNT * (curve->high - curve->low));
    const int32_t shift = COUNT * 2048 * curve->low;
    int16_t *slope = n->sum_slope + (ptrdiff_t)y * n->width;
    int32_t *base = n->sum_base + (ptrdiff_t)y * n->width;
    join_down(n, y);
    for (int x = 0; x < n->width; x++) {
        const uint8_t *s = n->all_sure + x;
        const uint8_t sure = s[0] & s[1] & s[2] & s[3] & s[4];
        const int64_t b = (int64_t)five(n->sum[1] + x) - shift;
        slope[x] = (int16_t)(sure ? 0 : (five(n->sum[0] + x) * factor + 32768) >> 16);
        base[x] = sure & FULL ? 260 * 2048
                  : sure      ? -5 * 2048
                              : (int32_t)((b * factor + 32768) >> 16);
    }
}

void halo_matte_fit(struct halo_matte_nodes *n)
{
    const int count = n->width * n->height;
    for (int i = 0; i < count; i++) {
        const int p = (n->state[i] - 2048) * 4387 >> 16;
        n->p[i] = (int16_t)(p < 0 ? 0 : p > 4095 ? 4095 : p);
        n->sure[i] = (uint8_t)((n->p[i] >= HALO_MATTE_SURE) * FULL |
                               (n->p[i] <= 4095 - HALO_MATTE_SURE) * EMPTY);
    }
    for (int y = 0; y < n->height; y++)
        fit_row(n, y);
}

void halo_matte_grid(struct halo_matte_nodes *n, const struct halo_matte_curve *curve,
                     struct halo_matte_grid *ret)
{
    for (int y = 0; y < n->height; y++)
        join_row(n, y, curve);
    *ret = (struct halo_matte_grid){n->width, n->height, n->sum_slope, n->sum_base};
}
