/* SPDX-License-Identifier: BSD-2-Clause
 * Writes the status in the Prometheus text format. Needs no loop. */
#ifndef HALO_METRICS_H
#define HALO_METRICS_H

#include <jansson.h>
#include <stdint.h>

struct halo_http_numbers {
    int connections, viewers;
    int64_t pictures, dropped, bytes, cut;
};

/* status: as returned by halo_supervisor_status(); missing fields are skipped. malloc'ed; NULL: out
 * of memory. */
char *halo_metrics_write(const json_t *status, const struct halo_http_numbers *http);

#endif
