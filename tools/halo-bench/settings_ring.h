/* SPDX-License-Identifier: BSD-2-Clause
 * Options of --ring on the command line. */
#ifndef HALO_BENCH_SETTINGS_RING_H
#define HALO_BENCH_SETTINGS_RING_H

#include "tools/halo-bench/settings.h"

/* Checks the options of --ring and fills its lists, after the masks have been read. 0 or -EINVAL
 * (usage), with err filled. Pure. */
int halo_bench_resolve_ring(struct halo_bench_settings *settings, struct halo_error *err);

#endif
