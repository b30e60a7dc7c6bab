/* SPDX-License-Identifier: BSD-2-Clause
 * box_tmpl.c, built for several instruction sets. */
#ifndef HALO_BOX_H
#define HALO_BOX_H

#include "kernels/cpu/cpu.h"

#define HALO_BOX_NAME_(isa) halo_box_band_##isa
#define HALO_BOX_NAME(isa)  HALO_BOX_NAME_(isa)
#define HALO_BOX_BAND       HALO_BOX_NAME(HALO_ISA)

/* "running-sums" uses the best instruction set of this CPU. The others are the same code for older
 * instruction sets; they exist for tests and timing. */
extern const struct halo_cpu_strategy halo_cpu_running_sums, halo_cpu_running_sums_v3,
    halo_cpu_running_sums_base;

/* Implement `band` of halo_cpu_strategy for the kind BOX only. */
int halo_box_band_base(const struct halo_job *job, int y0, int y1,
                       struct halo_cpu_scratch *scratch);
int halo_box_band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
int halo_box_band_v4(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);

#endif
