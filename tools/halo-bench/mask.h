/* SPDX-License-Identifier: BSD-2-Clause
 * Masks by name, as on the command line: gauss:15, dense:7, box:63. Functions here are pure. */
#ifndef HALO_BENCH_MASK_H
#define HALO_BENCH_MASK_H

#include "config/base/error.h"
#include "kernels/conv.h"

enum { HALO_BENCH_MAX_MASKS = 128 };

enum halo_bench_kind {
    HALO_BENCH_GAUSS,    /* 3 to 1201 taps (above 127: DECIMATED), sigma = radius / 3 */
    HALO_BENCH_DENSE,    /* 3x3 to 63x63; weights of both signs, all different */
    HALO_BENCH_BOX,      /* 3x3 to 2049x2049 */
    HALO_BENCH_GRADIENT, /* Sobel's two 3x3 masks */
    HALO_BENCH_KIND_COUNT,
};

struct halo_bench_mask {
    enum halo_bench_kind kind;
    int width; /* odd */
};

/* Returns the kind's name on the command line, such as "gauss". */
const char *halo_bench_kind_name(enum halo_bench_kind kind);

/* Parses KIND:WIDTH[,[KIND:]WIDTH]...; a width without a kind uses the previous kind. Fills at most
 * HALO_BENCH_MAX_MASKS elements of ret and returns their number; or fills err (a usage error) and
 * returns -EINVAL. */
int halo_bench_masks_parse(struct halo_bench_mask *ret, const char *text, struct halo_error *err);

/* Calls the constructor for the mask's kind, such as halo_conv_gauss(). Returns 0, or -ERANGE if no
 * number format can represent the mask. */
int halo_bench_mask_make(struct halo_conv *ret, const struct halo_bench_mask *mask, int depth);

/* Fills ret with the same mask in real numbers, for other libraries: the taps of a Gaussian (width
 * values) or the rows of a dense mask (width squared values). Must not be called for other kinds.
 * The sum of the weights (Gaussian) or of their magnitudes (dense) is 1. */
void halo_bench_mask_weights(double *ret, const struct halo_bench_mask *mask);

#endif
