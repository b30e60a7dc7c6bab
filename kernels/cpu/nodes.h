/* SPDX-License-Identifier: BSD-2-Clause
 * nodes_tmpl.c, built for several instruction sets. */
#ifndef HALO_NODES_H
#define HALO_NODES_H

#include "kernels/cpu/cpu.h"

#define HALO_NODES_NAME_(isa) halo_nodes_band_##isa
#define HALO_NODES_NAME(isa)  HALO_NODES_NAME_(isa)
#define HALO_NODES_BAND       HALO_NODES_NAME(HALO_ISA)

/* Implement `band` of halo_cpu_strategy for the kind DECIMATED only. */
int halo_nodes_band_base(const struct halo_job *job, int y0, int y1,
                         struct halo_cpu_scratch *scratch);
int halo_nodes_band_v3(const struct halo_job *job, int y0, int y1,
                       struct halo_cpu_scratch *scratch);
int halo_nodes_band_v4(const struct halo_job *job, int y0, int y1,
                       struct halo_cpu_scratch *scratch);

#endif
