/* SPDX-License-Identifier: BSD-2-Clause
 * The vectorised strategies: one source, rows_tmpl.c, compiled for several instruction sets. */
#ifndef HALO_ROWS_H
#define HALO_ROWS_H

#include "kernels/cpu/cpu.h"

/* "rows" takes the best this CPU has; the others are the same code held to an older instruction
 * set, there to be tested and timed. */
extern const struct halo_cpu_strategy halo_cpu_rows, halo_cpu_rows_v3, halo_cpu_rows_base;

/* What "rows" uses here, in words: "AVX-512". */
const char *halo_rows_isa(void);

/* Whether the code for x86-64-v3, and that for v4 with VNNI, may be called here. */
bool halo_has_v3(void);
bool halo_has_v4(void);

/* rows_tmpl.c; HALO_ISA names the last part. v3 and v4 exist, and may be called, on x86-64 only. */
int halo_rows_band_base(const struct halo_job *job, int y0, int y1,
                        struct halo_cpu_scratch *scratch);
int halo_rows_band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);
int halo_rows_band_v4(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch);

#endif
