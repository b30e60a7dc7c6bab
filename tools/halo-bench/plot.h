/* SPDX-License-Identifier: BSD-2-Clause
 * Times against the width of the mask, as SVG: both axes logarithmic, one panel for each kind of
 * mask and depth, a line for each strategy, the copy as the floor. */
#ifndef HALO_BENCH_PLOT_H
#define HALO_BENCH_PLOT_H

#include "tools/halo-bench/report.h"

/* Writes path, replacing what is there; rows without times are left out. 0; -errno with err in
 * words. */
int halo_bench_plot(const char *path, const struct halo_bench_run *run,
                    const struct halo_bench_result *results, int count, struct halo_error *err);

#endif
