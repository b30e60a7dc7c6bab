/* SPDX-License-Identifier: BSD-2-Clause
 * The vectorised strategies: one source, rows_tmpl.c, compiled for several instruction sets. */
#ifndef HALO_ROWS_H
#define HALO_ROWS_H

#include "kernels/cpu/cpu.h"

/* "rows" uses the best instruction set of this CPU. The others are the same code for older
 * instruction sets; they exist for tests and timing. */
extern const struct halo_cpu_strategy halo_cpu_rows, halo_cpu_rows_v3, halo_cpu_rows_base;

/* Returns the name of the instruction set that "rows" uses on this CPU, such as "AVX-512". */
const char *halo_rows_isa(void);

/* halo_has_v3() returns whether this CPU can run the code for x86-64-v3, and halo_has_v4() whether
 * it can run the code for x86-64-v4 with VNNI. */
bool halo_has_v3(void);
bool halo_has_v4(void);

/* Defined in rows_tmpl.c, which is compiled once for each value of HALO_ISA; the functions' names
 * end with this value. The functions for v3 and v4 exist, and may be called, only on x86-64. */
int halo_rows_band_base(const struct halo_job *job, int y0, int y1,
                        struct halo_cpu_scratch *scratch);
int halo_rows_band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
int halo_rows_band_v4(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);

/* ---- box_tmpl.c, built in the same way ---- */

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

/* ---- nodes_tmpl.c, built in the same way ---- */

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
