/* SPDX-License-Identifier: BSD-2-Clause
 * box_tmpl.c, built for several instruction sets. */
#ifndef HALO_BOX_H
#define HALO_BOX_H

#include "kernels/cpu/cpu.h"

#define HALO_BOX_NAME_(isa) halo_box_band_##isa
#define HALO_BOX_NAME(isa)  HALO_BOX_NAME_(isa)
#define HALO_BOX_BAND       HALO_BOX_NAME(HALO_ISA)

/* Implement `band` of halo_cpu_strategy for the kind BOX only. */
int halo_box_band_base(const struct halo_job *job, int y0, int y1,
                       struct halo_cpu_scratch *scratch);
int halo_box_band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
int halo_box_band_v4(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);

#endif
