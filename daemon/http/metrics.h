/* SPDX-License-Identifier: BSD-2-Clause
 * Writes the status in the Prometheus text format. No event loop is needed. */
#ifndef HALO_METRICS_H
#define HALO_METRICS_H

#include <jansson.h>

/* Returns the metrics as text, which the caller frees, or NULL if out of memory. status is the
 * result of halo_supervisor_status(), and http an object with the numbers of the HTTP server, which
 * the rows' paths call `http`; missing fields are skipped. */
char *halo_metrics_write(const json_t *status, json_t *http);

#endif
