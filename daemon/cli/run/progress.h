/* SPDX-License-Identifier: BSD-2-Clause
 * Shows the progress of halod run: a bar on a terminal, otherwise plain lines; and FFmpeg's
 * key=value blocks for programs (-progress). Loop thread only. */
#ifndef HALO_PROGRESS_H
#define HALO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/base/error.h"
#include "pipeline/stream/stream.h"

struct halo_progress;

/* Starts to show progress. target is the -progress argument ("-" for standard output), or NULL; it
 * must outlive *ret. Returns 0, or -errno with err filled. If writing to the target fails later, a
 * warning is logged and the target is no longer used. */
int halo_progress_open(struct halo_progress **ret, const char *target, struct halo_error *err);
void halo_progress_close(struct halo_progress *p); /* NULL: does nothing */

/* Shows the progress. Called twice a second, and once more at the end with last = true. */
void halo_progress_show(struct halo_progress *p, const struct halo_stream_stats *stats, bool last);

/* Formats a number of bytes as "12.3 MB". Returns text. */
const char *halo_progress_size(long long bytes, char *text, size_t size);

/* Returns the average number of frames per second since the start. */
double halo_progress_rate(const struct halo_progress *p, const struct halo_stream_stats *stats);

#endif
