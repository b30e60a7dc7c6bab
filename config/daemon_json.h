/* SPDX-License-Identifier: BSD-2-Clause
 * Settings as JSON objects with the keys of the file: for engines, for the dump, and to compare.
 * Functions return new references, or NULL if memory is exhausted or a string is not UTF-8. */
#ifndef HALO_DAEMON_JSON_H
#define HALO_DAEMON_JSON_H

#include <jansson.h>

#include "config/daemon.h"

/* Returns an object with a member for each row whose field has a value, including default
 * values. */
json_t *halo_rows_to_json(const struct halo_option *rows, const void *settings);

/* Returns an object with the stream's settings, without its name. */
json_t *halo_stream_to_json(const struct halo_stream_settings *stream);

/* Calls json_object_set_new() and returns whether that succeeded. Returns false if object or value
 * is NULL. */
bool halo_json_put(json_t *object, const char *key, json_t *value);

#endif
