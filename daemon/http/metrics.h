/* SPDX-License-Identifier: BSD-2-Clause
 * Writes the status in the Prometheus text format. No event loop is needed. */
#ifndef HALO_METRICS_H
#define HALO_METRICS_H

#include <jansson.h>
#include <stdint.h>

struct halo_http_numbers {
    int connections, viewers;
    int64_t pictures, dropped, bytes, cut;
};

/* Returns the metrics as text, which the caller frees, or NULL if out of memory. status is the
 * result of halo_supervisor_status(); missing fields are skipped. */
char *halo_metrics_write(const json_t *status, const struct halo_http_numbers *http);

#endif
