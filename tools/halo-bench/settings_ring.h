/* SPDX-License-Identifier: BSD-2-Clause
 * The command-line options that belong to --ring. */
#ifndef HALO_BENCH_SETTINGS_RING_H
#define HALO_BENCH_SETTINGS_RING_H

#include "tools/halo-bench/settings.h"

/* Checks the options of --ring and fills its lists. Must be called after the masks have been
 * parsed. Returns 0, or fills err (a usage error) and returns -EINVAL. Pure. */
int halo_bench_resolve_ring(struct halo_bench_settings *settings, struct halo_error *err);

#endif
