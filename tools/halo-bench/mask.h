/* SPDX-License-Identifier: BSD-2-Clause
 * Masks by name, as on the command line: gauss:15, dense:7, box:63. Functions here are pure. */
#ifndef HALO_BENCH_MASK_H
#define HALO_BENCH_MASK_H

#include "config/error.h"
#include "kernels/conv.h"

enum { HALO_BENCH_MAX_MASKS = 128 };

enum halo_bench_kind {
    HALO_BENCH_GAUSS,    /* taps, 3 to 1201, sigma = radius / 3; above 127 DECIMATED */
    HALO_BENCH_DENSE,    /* width and height, 3 to 63; weights of both signs, no two alike */
    HALO_BENCH_BOX,      /* width and height, 3 to 2049 */
    HALO_BENCH_GRADIENT, /* width and height 3: Sobel's masks */
    HALO_BENCH_KIND_COUNT,
};

struct halo_bench_mask {
    enum halo_bench_kind kind;
    int width; /* odd */
};

const char *halo_bench_kind_name(enum halo_bench_kind kind);

/* Reads KIND:WIDTH[,[KIND:]WIDTH]...; a width alone has the kind of the one before it. Fills at
 * most HALO_BENCH_MAX_MASKS of ret and returns their number, or -EINVAL with err in words
 * (usage). */
int halo_bench_masks_parse(struct halo_bench_mask *ret, const char *text, struct halo_error *err);

/* Calls halo_conv_gauss() or the constructor of the mask's kind. 0, or -ERANGE if no number format
 * can represent the mask. */
int halo_bench_mask_make(struct halo_conv *ret, const struct halo_bench_mask *mask, int depth);

/* The same mask in real numbers, for other libraries: the taps of a Gaussian (width values) or the
 * rows of a dense mask (width squared). Not for other kinds. The sum of the weights (Gaussian) or
 * of their magnitudes (dense) is 1. */
void halo_bench_mask_weights(double *ret, const struct halo_bench_mask *mask);

#endif
