/* SPDX-License-Identifier: BSD-2-Clause
 * HTTP pages without video. Loop thread only. */
#ifndef HALO_HTTP_PAGES_H
#define HALO_HTTP_PAGES_H

#include <jansson.h>
#include <microhttpd.h>

#include "daemon/http/http_request.h"
#include "daemon/http/metrics.h"
#include "daemon/supervisor/supervisor.h"

struct halo_http;

/* Makes the response for the page `what`, which must be HALO_HTTP_METRICS, HALO_HTTP_HEALTH,
 * HALO_HTTP_STATUS, HALO_HTTP_FILTERS, HALO_HTTP_OPENAPI or HALO_HTTP_INDEX, as `role` may see it:
 * without one, /healthz says only whether everything is well. Sets *status if the HTTP status is
 * not 200. Returns NULL if out of memory. */
struct MHD_Response *halo_http_page(struct halo_http *http, enum halo_http_what what,
                                    enum halo_role role, int *status);

/* Returns the status as this role may see it, as JSON text that is valid until the loop goes on or
 * halo_http_forget() is called; NULL if out of memory. */
const char *halo_http_status(struct halo_http *http, enum halo_role role);
/* Frees what may have changed. */
void halo_http_forget(struct halo_http *http);
/* Frees everything that was made. */
void halo_http_made_finish(struct halo_http *http);

/* Makes a response with this JSON, whose reference it takes. Returns NULL if out of memory. */
struct MHD_Response *halo_http_json(json_t *json);

/* Makes a response with this text and content type. Returns NULL if out of memory. */
struct MHD_Response *halo_http_text(const char *type, const char *text);

#endif
