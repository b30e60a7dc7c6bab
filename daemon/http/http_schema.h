/* SPDX-License-Identifier: BSD-2-Clause
 * Descriptions for programs, made from the tables: the options of filters as JSON Schema, and the
 * API as OpenAPI. Any thread. */
#ifndef HALO_HTTP_SCHEMA_H
#define HALO_HTTP_SCHEMA_H

#include <jansson.h>

#include "daemon/control/methods.h"

/* Return new references, or NULL if out of memory. */
json_t *halo_http_filters(void);
json_t *halo_http_openapi(void);

/* Methods that exist only over HTTP: of the paths /api/login, /api/logout, /api/setup and
 * /api/call/SetPassword. Their names are those of the paths; the last one's is NULL. */
extern const struct halo_method halo_http_methods[];

#endif
