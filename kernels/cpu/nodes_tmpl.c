/* SPDX-License-Identifier: BSD-2-Clause
 * DECIMATED, vectorised along the row; compiled once for each instruction set (HALO_ISA).
 *
 *   columns   the plane's rows, summed down to lines of nodes: each pixel is read once
 *   R         a line's columns, with their ghosts, summed along to nodes
 *   T         R blurred along the line; kept for all lines of the band, in strips of BLOCK nodes
 *             one below the other, so that the blur down the columns stays in the cache
 *   U         T blurred down
 *   V         U interpolated down to one row of pixels, from which the row is written */
#include <errno.h>
#include <string.h>

#include "kernels/cpu/rows.h"

#define INLINE static inline __attribute__((always_inline))

struct band {
    const struct halo_job *job;
    int samples;       /* in a row of the plane, all channels */
    int count;         /* nodes along the row, between which all pixels are */
    int width;         /* the same, rounded up to whole blocks, of one channel */
    int first, lines;  /* the first line of nodes of T, and the number of lines */
    uint16_t *s8, *f8; /* S and F of the columns of a row of cells: at 8 bits, and at more */
    uint32_t *s16, *f16;
    uint32_t *rising; /* what the row of cells above adds to the line */
    uint32_t *columns;
    uint32_t *pixels; /* one channel's columns with ghosts */
    uint32_t *r, *t, *u, *v;
    uint16_t *ghosts; /* a row filled with the constant */
    uint16_t *out;    /* a row of one channel; bytes at 8 bits */
};

static int log2_of(int step)
{
    return __builtin_ctz((unsigned)step);
}

#include "kernels/cpu/nodes_gather_tmpl.h"
#include "kernels/cpu/nodes_blur_tmpl.h"
#include "kernels/cpu/nodes_spread_tmpl.h"

static void blur(const struct halo_conv *c, uint32_t *to, const uint32_t *nodes, ptrdiff_t stride,
                 bool down)
{
    const int32_t *side = down ? c->mask + c->reach_x + 1 : c->mask;
    const int reach = down ? c->reach_y : c->reach_x, bits = down ? c->col_bits : c->row_bits;
    if (c->accum == HALO_ACCUM_I32)
        blur_narrow(to, nodes, stride, side, reach, bits);
    else
        blur_wide(to, nodes, stride, side, reach, bits);
}

/* Line l of T in a strip. */
static uint32_t *strip_line(const struct band *b, int strip, int l)
{
    return b->t + ((ptrdiff_t)strip * b->lines + l) * BLOCK;
}

/* Computes line l of T; its row of cells is already summed. */
static void fill_t(const struct band *b, int l)
{
    const struct halo_conv *c = b->job->conv;
    const int strips = b->width / BLOCK;
    for (int channel = 0; channel < b->job->src.channels; channel++) {
        fill_pixels(b, channel);
        line_of_nodes(b);
        for (int s = 0; s < strips; s++)
            blur(c, strip_line(b, channel * strips + s, l), b->r + c->reach_x + s * BLOCK, 1,
                 false);
    }
}

/* Allocates aligned pieces of the scratch from data on; only counts bytes if data is NULL. */
static void *take(char *data, size_t *used, size_t bytes)
{
    void *ret = data ? data + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return ret;
}

static size_t lay_out(struct band *b, char *data)
{
    const struct halo_conv *c = b->job->conv;
    const size_t samples = (size_t)b->samples, channels = (size_t)b->job->src.channels;
    const size_t row = (size_t)b->width * channels, reach = (size_t)c->reach_x;
    const size_t cell = sizeof(uint32_t), word = sizeof(uint16_t);
    const size_t pixels = ((size_t)b->count + 2 * reach + 2) * (size_t)c->step_x;
    const size_t lines = (size_t)b->lines, inner = lines - 2 * (size_t)c->reach_y;
    size_t used = 0;
    if (b->job->src.depth == 8) {
        b->s8 = take(data, &used, samples * word);
        b->f8 = take(data, &used, samples * word);
    } else {
        b->s16 = take(data, &used, samples * cell);
        b->f16 = take(data, &used, samples * cell);
    }
    b->rising = take(data, &used, samples * cell);
    b->columns = take(data, &used, samples * cell);
    b->ghosts = take(data, &used, samples * word);
    b->pixels = take(data, &used, pixels * cell);
    b->r = take(data, &used, ((size_t)b->width + 2 * reach) * cell);
    b->t = take(data, &used, row * lines * cell);
    b->u = take(data, &used, row * inner * cell);
    b->v = take(data, &used, (row + 1) * cell);
    b->out = take(data, &used, ((size_t)b->width + 1) * (size_t)c->step_x * word);
    return used;
}

int HALO_NODES_BAND(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = job->conv;
    const int width = job->src.width, channels = job->src.channels, step = c->step_y;
    const int end = step == 1 ? y1 : (y1 - 1) / step + 2;
    struct band b = {.job = job, .samples = width * channels};
    b.count = c->step_x == 1 ? width : (width - 1) / c->step_x + 2;
    b.width = (b.count + BLOCK - 1) / BLOCK * BLOCK;
    b.first = y0 / step - c->reach_y;
    b.lines = end + c->reach_y - b.first;
    char *data = halo_cpu_scratch_get(scratch, lay_out(&b, NULL));
    if (!data)
        return -ENOMEM;
    lay_out(&b, data);
    const int v = b.job->conv->border_value;
    if (b.job->src.depth == 8)
        memset(b.ghosts, v, (size_t)b.samples);
    for (int i = 0; i < b.samples && b.job->src.depth > 8; i++)
        b.ghosts[i] = (uint16_t)(v << b.job->src.shift);

    if (step > 1) {
        sum_cells(&b, b.first - 1);
        line_of_columns(&b);
    }
    for (int l = 0; l < b.lines; l++) {
        sum_cells(&b, b.first + l);
        line_of_columns(&b);
        fill_t(&b, l);
    }
    const int row = b.width * channels;
    for (int s = 0; s < row / BLOCK; s++) {
        for (int l = c->reach_y; l < b.lines - c->reach_y; l++)
            blur(c, b.u + (ptrdiff_t)(l - c->reach_y) * row + s * BLOCK, strip_line(&b, s, l),
                 BLOCK, true);
    }
    for (int y = y0; y < y1; y++)
        write_row(&b, y);
    return 0;
}
