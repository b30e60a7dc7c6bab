/* SPDX-License-Identifier: BSD-2-Clause
 * Descriptions for programs, made from the tables: the options of filters as JSON Schema, and the
 * API as OpenAPI. Any thread. */
#ifndef HALO_HTTP_SCHEMA_H
#define HALO_HTTP_SCHEMA_H

#include <jansson.h>

/* Return new references, or NULL if out of memory. */
json_t *halo_http_filters(void);
json_t *halo_http_openapi(void);

#endif
