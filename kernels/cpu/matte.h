/* SPDX-License-Identifier: BSD-2-Clause
 * matte_tmpl.c, built for several instruction sets. */
#ifndef HALO_CPU_MATTE_H
#define HALO_CPU_MATTE_H

#include "kernels/matte.h"

/* Pixels of a row, and what their weights depend on. */
struct halo_matte_run {
    const int32_t *slope, *base;       /* per node, in this row of pixels */
    const int32_t *slope_on, *base_on; /* the next node's minus this node's */
    const int32_t *node, *across;      /* per pixel, from the run's first one on */
    const void *luma;                  /* the first sample of the row; NULL: unknown */
    uint8_t *weight;                   /* the first weight of the row */
    int first, count;                  /* pixels */
    int depth, shift;                  /* of luma */
};

#define HALO_MATTE_NAME_(what, isa) halo_matte_##what##_##isa
#define HALO_MATTE_NAME(what, isa)  HALO_MATTE_NAME_(what, isa)

/* run: computes the weights of a run. add: adds each sample of a row, in 12 bits, to its element of
 * sums. */
void halo_matte_run_base(const struct halo_matte_run *run);
void halo_matte_run_v3(const struct halo_matte_run *run);
void halo_matte_run_v4(const struct halo_matte_run *run);
void halo_matte_add_base(const struct halo_plane *luma, int y, uint32_t *sums);
void halo_matte_add_v3(const struct halo_plane *luma, int y, uint32_t *sums);
void halo_matte_add_v4(const struct halo_plane *luma, int y, uint32_t *sums);
/* The same with the best instruction set of this CPU. */
void halo_matte_add(const struct halo_plane *luma, int y, uint32_t *sums);

#endif
