/* SPDX-License-Identifier: BSD-2-Clause
 * Plots times over the width of the mask, as SVG: both axes logarithmic, one panel for each kind of
 * mask and depth, a line for each strategy, and the copy as the lower bound. */
#ifndef HALO_BENCH_PLOT_H
#define HALO_BENCH_PLOT_H

#include "tools/halo-bench/report.h"

/* Writes path, or replaces it; rows without times are left out. 0, or -errno with err filled. */
int halo_bench_plot(const char *path, const struct halo_bench_run *run,
                    const struct halo_bench_result *results, int count, struct halo_error *err);

#endif
