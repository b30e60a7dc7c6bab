/* SPDX-License-Identifier: BSD-2-Clause
 * Cells: boxes of few values, in place of what a region hides, defined to the last bit (conv.h,
 * CELLS). The maker of the list chooses the values; nothing here reads a frame.
 *
 * A box is [x0, x1) by [y0, y1) in luma pixels. Sample x of a plane whose samples lie `step_x` luma
 * pixels apart belongs to the box's column
 *
 *   i(x) = floor(t n / (x1 - x0)),   t = x step_x - x0, limited to 0 .. x1 - x0 - 1
 *
 * and the same along y. So the cells of all planes lie on the same pixels, and each of them is as
 * wide as the others to within a pixel. The box reaches those samples for which x0 - reach <=
 * x step_x < x1 + reach: past its edges, its outer cells go on.
 *
 * In struct halo_conv, mask[0] and mask[1] are the values outside of all boxes; each box follows as
 * HALO_CELLS_HEAD + n^2 numbers: x0, y0, x1, y1, and the cells row by row, each with the value of
 * channel 0 in its lower 16 bits and that of channel 1 in the upper ones.
 *
 * All functions may be called on any thread and never block. */
#ifndef HALO_CELLS_H
#define HALO_CELLS_H

#include "kernels/conv.h"
#include "kernels/region.h"

enum {
    HALO_MAX_CELLS = 16,          /* across a box */
    HALO_MAX_CELLS_REACH = 1024,  /* luma pixels */
    HALO_MAX_CELLS_BOX = 1 << 24, /* largest coordinate */
    HALO_CELLS_HEAD = 4,          /* numbers before the cells of a box */
};

struct halo_cells_layout {
    int cells;          /* across a box, and down: 1 to HALO_MAX_CELLS */
    int reach;          /* luma pixels, 0 to HALO_MAX_CELLS_REACH */
    int step_x, step_y; /* luma pixels from one sample to the next, 1 to HALO_MAX_STEP */
};

/* The number of boxes for which a convolution has room: 15 of 16 by 16 cells, 99 of 6 by 6. */
static inline int halo_cells_room(int cells)
{
    return (HALO_MAX_DENSE * HALO_MAX_DENSE - 2) / (HALO_CELLS_HEAD + cells * cells);
}

/* Makes CELLS without boxes, which is the same as SOLID. Returns 0 or -EINVAL; see conv.h. */
int halo_conv_cells(struct halo_conv *ret, const struct halo_cells_layout *layout,
                    const int values[2], const struct halo_conv_target *target);

/* Adds a box, which covers those before it. `values` holds two values for each cell, row by row:
 * one for each channel. Returns 0; or, and nothing changed, -EINVAL (the box is empty or has
 * negative coordinates, or a value is too large) or -ENOSPC (there is no room). */
int halo_conv_add_cells(struct halo_conv *conv, const struct halo_rect *box,
                        const uint16_t *values);

/* The numbers of box `number`: HALO_CELLS_HEAD + n^2 of them. */
static inline const int32_t *halo_cells_box(const struct halo_conv *conv, int number)
{
    return conv->mask + 2 + number * (HALO_CELLS_HEAD + conv->cells * conv->cells);
}

/* The column of the cell in which luma pixel `at` lies, of n between x0 and x1; or the row. */
static inline HALO_HOST_DEVICE int halo_cell_of(int at, int x0, int x1, int n)
{
    const int t = at < x0 ? 0 : at < x1 ? at - x0 : x1 - x0 - 1;
    return t * n / (x1 - x0);
}

/* The first sample at or after luma pixel `at`, which may be negative; the samples are `step` luma
 * pixels apart. */
static inline HALO_HOST_DEVICE int halo_cell_sample(int at, int step)
{
    return at <= 0 ? 0 : (at + step - 1) / step;
}

#endif
