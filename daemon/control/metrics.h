/* SPDX-License-Identifier: BSD-2-Clause
 * Status as Prometheus reads it. Needs no loop. */
#ifndef HALO_METRICS_H
#define HALO_METRICS_H

#include <jansson.h>
#include <stdint.h>

struct halo_http_numbers {
    int connections, viewers;
    int64_t pictures, dropped, bytes, cut;
};

/* status as of halo_supervisor_status(); what it lacks is left out. malloc'ed, NULL: no memory. */
char *halo_metrics_write(const json_t *status, const struct halo_http_numbers *http);

#endif
