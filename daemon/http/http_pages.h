/* SPDX-License-Identifier: BSD-2-Clause
 * HTTP pages without video. Loop thread only. */
#ifndef HALO_HTTP_PAGES_H
#define HALO_HTTP_PAGES_H

#include <jansson.h>
#include <microhttpd.h>

#include "daemon/http/http_request.h"
#include "daemon/http/metrics.h"
#include "daemon/supervisor/supervisor.h"

/* Makes the response for the page `what`, which must be HALO_HTTP_METRICS, HALO_HTTP_HEALTH,
 * HALO_HTTP_STATUS, HALO_HTTP_FILTERS, HALO_HTTP_OPENAPI or HALO_HTTP_INDEX, as
 * `role` may see it. Sets *status if the HTTP status is not 200. Returns NULL if out of memory. */
struct MHD_Response *halo_http_page(enum halo_http_what what, enum halo_role role,
                                    const struct halo_supervisor *sv,
                                    const struct halo_http_numbers *numbers, int *status);

/* Makes the response for /healthz that says only whether everything is well. */
struct MHD_Response *halo_http_health_word(const struct halo_supervisor *sv, int *status);

/* Makes a response with this JSON, whose reference it takes. Returns NULL if out of memory. */
struct MHD_Response *halo_http_json(json_t *json);

/* Makes a response with this text and content type. Returns NULL if out of memory. */
struct MHD_Response *halo_http_text(const char *type, const char *text);

#endif
