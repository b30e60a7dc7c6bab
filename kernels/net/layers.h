/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the strategies of the CPU: tensors in memory, and the code that is compiled once for
 * each instruction set. */
#ifndef HALO_NET_LAYERS_H
#define HALO_NET_LAYERS_H

#include "kernels/cpu/cpu.h"
#include "kernels/net/net.h"

/* A tensor, or some of its rows, in memory. */
struct halo_net_planes {
    float *data;   /* the first plane's row `first` */
    size_t stride; /* floats from one plane to the next */
    int planes, width;
    int height; /* of the whole tensor */
    int first;  /* the first row that is in memory */
};

static inline float *halo_net_row(const struct halo_net_planes *t, int plane, int y)
{
    return t->data + (size_t)plane * t->stride + (size_t)(y - t->first) * (size_t)t->width;
}

/* Which outputs of a layer to compute. */
struct halo_net_part {
    int plane0, plane1; /* SOFTMAX2: even numbers, or the end */
    int row0, row1;
};

/* Names of functions that are compiled for HALO_ISA. */
#define HALO_NET_NAME_(what, isa) halo_net_##what##_##isa
#define HALO_NET_NAME(what, isa)  HALO_NET_NAME_(what, isa)

/* reference.c: the definition of every layer but the input. Computes the planes part->plane0 to
 * plane1 - 1 of out, in the rows row0 to row1 - 1. `in` are the tensors that the layer reads. */
typedef void halo_net_plain_fn(const struct halo_net_layer *l, const struct halo_net_planes *in,
                               const struct halo_net_planes *out, const struct halo_net_part *part);
halo_net_plain_fn halo_net_plain_base, halo_net_plain_v3, halo_net_plain_v4;

/* ---- vectors_tmpl.c ---- */

/* A convolution as the product of a matrix of weights, with a row for each output plane, and a
 * matrix of values, with a row for each weight (channel and tap) and a column for each cell of a
 * grid of outputs. A transposed convolution is several of these, one for each remainder of the
 * outputs' coordinates divided by the strides. */
struct halo_net_dense {
    const float *bias;
    float *weights; /* of `rows` planes side by side: [planes / rows][channels * taps][rows] */
    int planes, channels, taps;
    struct {
        int x, y;
    } tap[HALO_NET_MAX_KERNEL * HALO_NET_MAX_KERNEL]; /* where it reads, for the cell 0, 0 */
    int stride_x, stride_y;                           /* from cell to cell in the input */
    int width, height;                                /* of the grid */
    int step_x, step_y, left, top; /* cell (x, y) is the pixel (x step_x + left, y step_y + top) */
    struct halo_net_act act;       /* not SOFTMAX2 */
};

/* Cells of a grid, counted row by row, for the planes plane0, a multiple of `rows`, to plane1 - 1.
 */
struct halo_net_cells {
    int first, end;
    int plane0, plane1;
};

/* The code for one instruction set. */
struct halo_net_code {
    int rows, pixels; /* planes and cells that are computed at the same time */
    halo_net_plain_fn *plain;
    /* out = act(d(in) + add) + 0.0f; add: a tensor like out, or NULL. A sum of -0, which would
     * have been stored as +0, makes no difference. panel: memory for
     * halo_net_panel_floats() floats. */
    void (*dense)(const struct halo_net_dense *d, const struct halo_net_planes *in,
                  const struct halo_net_planes *out, const struct halo_net_planes *add,
                  const struct halo_net_cells *cells, float *panel);
    /* A depthwise layer; lines: memory for halo_net_lines_floats() floats. */
    void (*depthwise)(const struct halo_net_layer *l, const struct halo_net_planes *in,
                      const struct halo_net_planes *out, const struct halo_net_part *part,
                      float *lines);
};
extern const struct halo_net_code halo_net_code_base, halo_net_code_v3, halo_net_code_v4;

enum {
    HALO_NET_TILE = 8 * 48, /* floats: the largest rows times pixels */
    HALO_NET_LINES = 4,     /* rows that a depthwise layer computes at the same time */
};

/* How many tiles' panels of this many floats are filled at the same time: about 128 KiB. */
static inline int halo_net_panels(size_t floats)
{
    const size_t most = ((size_t)1 << 15) / floats;
    return most < 1 ? 1 : most > 64 ? 64 : (int)most;
}

static inline size_t halo_net_panel_floats(const struct halo_net_dense *d, int pixels)
{
    const size_t floats = (size_t)d->channels * (size_t)d->taps * (size_t)pixels;
    return HALO_NET_TILE + floats * (size_t)halo_net_panels(floats);
}

/* A row of the input with zeros at both ends, in which columns with the same remainder follow each
 * other: the floats for each remainder. */
static inline size_t halo_net_phase_floats(int out_width)
{
    return ((size_t)out_width + HALO_NET_MAX_KERNEL + 31) / 16 * 16;
}

/* How many rows are kept at the same time: a power of 2. */
static inline int halo_net_ring_lines(const struct halo_net_layer *l)
{
    int lines = 1;
    while (lines < l->kernel_y + (HALO_NET_LINES - 1) * l->stride_y)
        lines *= 2;
    return lines;
}

/* With one more line, of zeros. */
static inline size_t halo_net_lines_floats(const struct halo_net_layer *l, int out_width)
{
    return halo_net_phase_floats(out_width) * (size_t)(l->stride_x * (halo_net_ring_lines(l) + 1));
}

#endif
