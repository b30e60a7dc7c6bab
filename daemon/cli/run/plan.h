/* SPDX-License-Identifier: BSD-2-Clause
 * What halod plan prints. */
#ifndef HALO_PLAN_H
#define HALO_PLAN_H

#include <stdbool.h>

#include "config/run.h"
#include "pipeline/stream/stream.h"

/* Prints what the trial showed, to standard output. Call this after halo_stream_join(). `stopped`:
 * the trial ended before the input. */
void halo_plan_print(const struct halo_stream *stream, const struct halo_run_settings *settings,
                     bool stopped);

/* Reads the input and prints where -segments cuts it. Returns 0, or the errors of
 * halo_cut_list_read(). Blocks. */
int halo_plan_print_cuts(const struct halo_run_settings *settings, struct halo_error *err);

#endif
