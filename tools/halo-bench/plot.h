/* SPDX-License-Identifier: BSD-2-Clause
 * Plots times against the width of the mask, as SVG. Both axes are logarithmic; each kind of mask
 * and depth has a panel with a line for each strategy, and with the copy as the lower bound. */
#ifndef HALO_BENCH_PLOT_H
#define HALO_BENCH_PLOT_H

#include "tools/halo-bench/report.h"

/* Writes the plot to the file at path, which is replaced if it exists; rows without times are left
 * out. Returns 0, or fills err and returns -errno. */
int halo_bench_plot(const char *path, const struct halo_bench_run *run,
                    const struct halo_bench_result *results, int count, struct halo_error *err);

#endif
