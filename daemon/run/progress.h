/* SPDX-License-Identifier: BSD-2-Clause
 * Progress of halod run: a bar on a terminal, plain lines otherwise, and FFmpeg's key=value blocks
 * for programs (-progress). Used only by the loop thread. */
#ifndef HALO_PROGRESS_H
#define HALO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/error.h"
#include "pipeline/run/stream.h"

struct halo_progress;

/* target: the -progress argument, "-" for standard output, or NULL; it must outlive the progress. 0
 * or -errno with err filled. If the target cannot be written later, a warning is logged and it is
 * no longer used. */
int halo_progress_open(struct halo_progress **ret, const char *target, struct halo_error *err);
void halo_progress_close(struct halo_progress *p); /* NULL: does nothing */

/* Called twice a second, and once more at the end with last = true. */
void halo_progress_show(struct halo_progress *p, const struct halo_stream_stats *stats, bool last);

/* Formats a number of bytes as "12.3 MB". Returns text. */
const char *halo_progress_size(long long bytes, char *text, size_t size);

/* Frames per second since the start. */
double halo_progress_rate(const struct halo_progress *p, const struct halo_stream_stats *stats);

#endif
