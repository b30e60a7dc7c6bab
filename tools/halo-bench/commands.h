/* SPDX-License-Identifier: BSD-2-Clause
 * The modes of halo-bench. Each function prints its results to standard output and returns an exit
 * code; it reports a failure in one line on standard error. */
#ifndef HALO_BENCH_COMMANDS_H
#define HALO_BENCH_COMMANDS_H

#include "tools/halo-bench/settings.h"

int halo_bench_grid(const struct halo_bench_settings *settings); /* also --peers */
int halo_bench_reuse(const struct halo_bench_settings *settings);
int halo_bench_tune(const struct halo_bench_settings *settings);
int halo_bench_ring(const struct halo_bench_settings *settings);

/* Prints "halo-bench: TEXT" to standard error. */
void halo_bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens the backend that the settings select. Returns HALO_EXIT_OK, and the caller must close *ret;
 * or reports the error and returns HALO_EXIT_FAILED or HALO_BENCH_NO_DEVICE. Fills text with a
 * description of the device, or with the reason why none could be opened. */
int halo_bench_open(struct halo_backend **ret, const struct halo_bench_settings *settings,
                    char *text, size_t size);

#endif
