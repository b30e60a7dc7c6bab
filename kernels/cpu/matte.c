/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes on the CPU (kernels/matte.h): DRAW. Most cells of the grid, which lie between four nodes,
 * have the same weight everywhere, whatever the frame is. Only the others are computed pixel by
 * pixel. */
#include "kernels/cpu/matte.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/rows.h"

enum {
    EMPTY = 1, /* every pixel's weight is 0 */
    FULL = 2,  /* every pixel's weight is 255 */
    /* Interpolating may change a slope by 1, and so A * luma + B by 4095, and B by 1. */
    MARGIN = 8192
};

struct drawing {
    const struct halo_matte_grid *grid;
    const struct halo_plane *luma, *dst;
    void (*run)(const struct halo_matte_run *run);
    int32_t *node, *across;    /* per column of pixels */
    int32_t *slope, *slope_on; /* per node, in a row of pixels */
    int32_t *base, *base_on;
    int32_t *start; /* per column of cells: its first pixel; and the end */
    uint8_t *kind;  /* per cell of a row: EMPTY, FULL or 0 */
};

void halo_matte_draw_plainly(const struct halo_matte_grid *grid, const struct halo_plane *luma,
                             const struct halo_plane *dst)
{
    for (int y = 0; y < dst->height; y++) {
        uint8_t *to = halo_plane_row(dst, y);
        const int at_y = halo_matte_at(y, dst->height, grid->height);
        for (int x = 0; x < dst->width; x++) {
            int sample = 0;
            if (luma)
                sample =
                    halo_matte_luma(halo_row_get(luma, halo_plane_row(luma, y), x), luma->depth);
            to[x] = (uint8_t)halo_matte_pixel(grid, halo_matte_at(x, dst->width, grid->width), at_y,
                                              sample);
        }
    }
}

static void place_columns(struct drawing *d)
{
    const int width = d->dst->width, nodes = d->grid->width;
    int filled = 0;
    for (int x = 0; x < width; x++) {
        const int at = halo_matte_at(x, width, nodes);
        d->node[x] = at >> 7;
        d->across[x] = at & 127;
        for (; filled <= d->node[x]; filled++)
            d->start[filled] = x;
    }
    for (; filled <= nodes; filled++)
        d->start[filled] = width;
}

static int kind_of(const struct halo_matte_grid *grid, size_t node)
{
    const int32_t dark = grid->base[node], bright = dark + grid->slope[node] * 4095;
    const int32_t least = dark < bright ? dark : bright, most = dark < bright ? bright : dark;
    return most <= -MARGIN ? EMPTY : least >= 255 * 2048 + MARGIN ? FULL : 0;
}

/* The cells below row y0 of nodes, down to row y1. */
static void find_kinds(struct drawing *d, int y0, int y1)
{
    const size_t width = (size_t)d->grid->width;
    int left = kind_of(d->grid, (size_t)y0 * width) & kind_of(d->grid, (size_t)y1 * width);
    for (size_t x = 0; x < width; x++) {
        const size_t next = x + (x + 1 < width);
        const int right = kind_of(d->grid, (size_t)y0 * width + next) &
                          kind_of(d->grid, (size_t)y1 * width + next);
        d->kind[x] = (uint8_t)(left & right);
        left = right;
    }
}

/* Interpolates the nodes of the cells first .. end - 1 down to a row of pixels. */
static void interpolate_down(struct drawing *d, int y0, int y1, int down, int first, int end)
{
    const struct halo_matte_grid *grid = d->grid;
    const int last = end < grid->width ? end : grid->width - 1;
    const ptrdiff_t above = (ptrdiff_t)y0 * grid->width, below = (ptrdiff_t)y1 * grid->width;
    for (int x = first; x <= last; x++) {
        d->slope[x] = halo_matte_between(grid->slope[above + x], grid->slope[below + x], down);
        d->base[x] = halo_matte_between(grid->base[above + x], grid->base[below + x], down);
    }
    for (int x = first; x < end; x++) {
        const int next = x < last ? x + 1 : x;
        d->slope_on[x] = d->slope[next] - d->slope[x];
        d->base_on[x] = d->base[next] - d->base[x];
    }
}

static void draw_row(struct drawing *d, int y, int y0, int y1, int down)
{
    const int cells = d->grid->width;
    struct halo_matte_run run = {.slope = d->slope,
                                 .base = d->base,
                                 .slope_on = d->slope_on,
                                 .base_on = d->base_on,
                                 .luma = d->luma ? halo_plane_row(d->luma, y) : NULL,
                                 .weight = halo_plane_row(d->dst, y),
                                 .depth = d->luma ? d->luma->depth : 8,
                                 .shift = d->luma ? d->luma->shift : 0};
    for (int first = 0, end; first < cells; first = end) {
        const int kind = d->kind[first];
        for (end = first + 1; end < cells && d->kind[end] == kind; end++)
            ;
        run.first = d->start[first];
        run.count = d->start[end] - run.first;
        if (kind) {
            memset(run.weight + run.first, kind == FULL ? 255 : 0, (size_t)run.count);
            continue;
        }
        interpolate_down(d, y0, y1, down, first, end);
        run.node = d->node + run.first;
        run.across = d->across + run.first;
        d->run(&run);
    }
}

static int draw(struct drawing *d)
{
    const size_t width = (size_t)d->dst->width, nodes = (size_t)d->grid->width;
    int32_t *memory = malloc((2 * width + 5 * nodes + 1) * sizeof *memory + nodes);
    if (!memory)
        return -ENOMEM;
    d->node = memory;
    d->across = d->node + width;
    d->slope = d->across + width;
    d->slope_on = d->slope + nodes;
    d->base = d->slope_on + nodes;
    d->base_on = d->base + nodes;
    d->start = d->base_on + nodes;
    d->kind = (uint8_t *)(d->start + nodes + 1);
    place_columns(d);
    for (int y = 0, known = -1; y < d->dst->height; y++) {
        const int at = halo_matte_at(y, d->dst->height, d->grid->height);
        const int y0 = at >> 7, y1 = y0 + (y0 + 1 < d->grid->height);
        if (y0 != known)
            find_kinds(d, y0, y1);
        known = y0;
        draw_row(d, y, y0, y1, at & 127);
    }
    free(memory);
    return 0;
}

int halo_matte_draw_as(int level, const struct halo_matte_grid *grid, const struct halo_plane *luma,
                       const struct halo_plane *dst)
{
    struct drawing d = {.grid = grid, .luma = luma, .dst = dst, .run = halo_matte_run_base};
    if ((level >= 1 && !halo_has_v3()) || (level >= 2 && !halo_has_v4()))
        return -ENOTSUP;
#ifdef __x86_64__
    if (level >= 1)
        d.run = level >= 2 ? halo_matte_run_v4 : halo_matte_run_v3;
#endif
    return draw(&d);
}

int halo_matte_draw(const struct halo_matte_grid *grid, const struct halo_plane *luma,
                    const struct halo_plane *dst)
{
    return halo_matte_draw_as(halo_has_v4() ? 2 : halo_has_v3() ? 1 : 0, grid, luma, dst);
}

void halo_matte_add(const struct halo_plane *luma, int y, uint32_t *sums)
{
#ifdef __x86_64__
    if (halo_has_v4()) {
        halo_matte_add_v4(luma, y, sums);
        return;
    }
    if (halo_has_v3()) {
        halo_matte_add_v3(luma, y, sums);
        return;
    }
#endif
    halo_matte_add_base(luma, y, sums);
}
