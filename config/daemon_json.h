/* SPDX-License-Identifier: BSD-2-Clause
 * Settings as JSON objects, in the file's own keys: for engines, for the dump, to compare. New
 * references; NULL: out of memory (or text that is not UTF-8). */
#ifndef HALO_DAEMON_JSON_H
#define HALO_DAEMON_JSON_H

#include <jansson.h>

#include "config/daemon.h"

/* The rows that are given, defaults among them. */
json_t *halo_rows_to_json(const struct halo_option *rows, const void *settings);

/* All but the name. */
json_t *halo_stream_to_json(const struct halo_stream_settings *stream);

/* json_object_set_new that tells whether it did, NULL for value being a failure; object may be
 * NULL. */
bool halo_json_put(json_t *object, const char *key, json_t *value);

#endif
