/* SPDX-License-Identifier: BSD-2-Clause
 * Pages of HTTP without pictures. Loop thread only. */
#ifndef HALO_HTTP_PAGES_H
#define HALO_HTTP_PAGES_H

#include <microhttpd.h>

#include "daemon/control/http_request.h"
#include "daemon/control/metrics.h"
#include "daemon/supervisor/supervisor.h"

/* METRICS, HEALTH, STATUS or INDEX; *status is changed where it is not 200. NULL: no memory. */
struct MHD_Response *halo_http_page(enum halo_http_what what, const struct halo_supervisor *sv,
                                    const struct halo_http_numbers *numbers, int *status);

struct MHD_Response *halo_http_text(const char *type, const char *text); /* NULL: no memory */

#endif
