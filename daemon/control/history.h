/* SPDX-License-Identifier: BSD-2-Clause
 * The last hour in samples, for graphs: rates and latencies of streams, memory of GPUs and of the
 * processes. Loop thread only. */
#ifndef HALO_HISTORY_H
#define HALO_HISTORY_H

#include <jansson.h>

enum { HALO_HISTORY_SAMPLES = 360, HALO_HISTORY_S = 10 }; /* samples, and seconds between them */

struct halo_history;

struct halo_history *halo_history_create(void); /* NULL: out of memory */
void halo_history_destroy(struct halo_history *history);
/* Adds a sample from the daemon's status, every HALO_HISTORY_S seconds. */
void halo_history_add(struct halo_history *history, const json_t *status);
/* Returns {"interval", "streams": {NAME: {"rate": [...], ...}}, "gpus": {NUMBER: {"used": [...],
 * "size"}}, "memory": [...]}, all lists with the newest last; a new reference. With a name, only
 * this stream is in "streams". */
json_t *halo_history_read(const struct halo_history *history, const char *name);

#endif
