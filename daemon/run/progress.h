/* SPDX-License-Identifier: BSD-2-Clause
 * Progress of halod run: a bar on a terminal, plain lines elsewhere, and FFmpeg's key=value blocks
 * for programs (-progress). One thread: the loop's. */
#ifndef HALO_PROGRESS_H
#define HALO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/error.h"
#include "pipeline/run/stream.h"

struct halo_progress;

/* target: the -progress argument, "-" for standard output, or NULL; it must outlive the
 * progress. 0 or -errno with err filled. A target that later cannot be written is left, with a
 * warning. */
int halo_progress_open(struct halo_progress **ret, const char *target, struct halo_error *err);
void halo_progress_close(struct halo_progress *p); /* NULL is nothing to do */

/* Twice a second, and once more at the end with last = true. */
void halo_progress_show(struct halo_progress *p, const struct halo_stream_stats *stats, bool last);

/* "12.3 MB" of a number of bytes. Returns text. */
const char *halo_progress_size(long long bytes, char *text, size_t size);

/* Pictures a second since the start. */
double halo_progress_rate(const struct halo_progress *p, const struct halo_stream_stats *stats);

#endif
