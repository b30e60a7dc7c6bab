/* SPDX-License-Identifier: BSD-2-Clause
 * What halo-bench does. Each prints to standard output and returns an exit code; what fails is said
 * in one line on standard error. */
#ifndef HALO_BENCH_COMMANDS_H
#define HALO_BENCH_COMMANDS_H

#include "tools/halo-bench/settings.h"

int halo_bench_list(const struct halo_bench_settings *settings);
int halo_bench_grid(const struct halo_bench_settings *settings); /* --peers too */
int halo_bench_reuse(const struct halo_bench_settings *settings);
int halo_bench_tune(const struct halo_bench_settings *settings);
int halo_bench_ring(const struct halo_bench_settings *settings);

/* "halo-bench: TEXT" on standard error. */
void halo_bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens settings' backend. HALO_EXIT_OK with *ret to be closed, or, said, HALO_EXIT_FAILED or
 * HALO_BENCH_NO_DEVICE; text is the device or why there is none. */
int halo_bench_open(struct halo_backend **ret, const struct halo_bench_settings *settings,
                    char *text, size_t size);

#endif
