/* SPDX-License-Identifier: BSD-2-Clause
 * The masks the kernel check walks through. */
#ifndef HALO_TEST_MASKS_H
#define HALO_TEST_MASKS_H

#include "kernels/conv.h"

struct mask {
    const char *name;
    /* Which constructor, and what it is given. */
    enum { GAUSS, DENSE, BOX, COPY, GRADIENT, PIXELIZE, SOLID, CELLS, TABLE } kind;
    double a, b; /* sigmas, radii, or width and height; scale and delta of a gradient; cells
                  * across a box, and boxes; values of a table */
    enum { MEAN, EDGES, SHARPEN, NOISE, LARGE, HUGE_SUMS, SPIKE, SOBEL, SCHARR } weights;
    double bias;
    enum halo_pixelize mode;
};

extern const struct mask masks[];
extern const int mask_count;

/* Makes boxes of cells whose places, values, steps and reach are drawn by lot; some lie outside of
 * small planes. Returns what the constructors say. */
int random_cells(struct halo_conv *ret, int cells, int boxes, const struct halo_conv_target *target,
                 uint64_t *state);

/* Makes a table whose entries are drawn by lot, of two values or any; values 0: the samples
 * negated. Returns what the constructor says. */
int random_table(struct halo_conv *ret, int values, const struct halo_conv_target *target,
                 uint64_t *state);

/* What the constructor says. */
int mask_make(struct halo_conv *ret, const struct mask *m, const struct halo_conv_target *target);

#endif
