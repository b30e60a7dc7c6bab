/* SPDX-License-Identifier: BSD-2-Clause
 * The rows of the daemon's file, used by loading, checks, the dump, the JSON Schema and the JSON
 * for engines. For config/daemon_*.c. */
#ifndef HALO_DAEMON_TABLES_H
#define HALO_DAEMON_TABLES_H

#include "config/daemon.h"

extern const struct halo_option halo_daemon_options[];
extern const struct halo_option halo_control_options[];
extern const struct halo_option halo_http_options[];
extern const struct halo_option halo_mqtt_options[];
extern const struct halo_option halo_log_options[];
extern const struct halo_option halo_stream_options[];
extern const struct halo_option halo_capture_options[]; /* except controls */
extern const struct halo_option halo_region_feed_options[];
extern const struct halo_option halo_output_options[];
extern const struct halo_option halo_video_options[];

/* The rule that halo_is_name() checks, as a regular expression for the JSON Schema. */
#define HALO_NAME_PATTERN "^[A-Za-z0-9_-]{1,64}$"
#define HALO_NAME_MUST_BE "1 to 64 letters, digits, _ and -"

/* Returns whether the row's field has a value, so that it can be written to the settings file. NULL
 * and numbers outside their range mean "not given". */
bool halo_option_is_given(const struct halo_option *row, const void *settings);

#endif
