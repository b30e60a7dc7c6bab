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

/* Help texts for keys that are not rows: lists, maps and the chain. */
#define HALO_HELP_FILTERS                                                                          \
    "the chain as one string, or a list of filters; none: frames pass unchanged, which requires "  \
    "privacy: off"
#define HALO_HELP_RENDITIONS "further chains of the stream, by name"
#define HALO_HELP_CAPTURE    "how a camera is opened"
#define HALO_HELP_CONTROLS                                                                         \
    "values of the camera's controls, by the names that halod devices lists: {brightness: 128}"
#define HALO_HELP_REGION_FEED                                                                      \
    "a detector sends regions over the control socket, for filters with region=feed; {} is "       \
    "enough"
#define HALO_HELP_DETECTORS                                                                        \
    "the programs that find faces and people, for filters with region=faces, people or background"
#define HALO_HELP_MQTT                                                                             \
    "a connection to an MQTT broker, for Home Assistant, which shows the streams and can hide "    \
    "them"
#define HALO_HELP_FACES   "for region=faces"
#define HALO_HELP_PEOPLE  "for region=people and region=background"
#define HALO_HELP_OUTPUTS "where the filtered frames go"
#define HALO_HELP_VIDEO   "how frames are encoded"

/* The rule that halo_is_name() checks, as a regular expression for the JSON Schema. */
#define HALO_NAME_PATTERN "^[A-Za-z0-9_-]{1,64}$"
#define HALO_NAME_MUST_BE "1 to 64 letters, digits, _ and -"

/* A regular expression for the name of a camera's control. */
#define HALO_CONTROL_PATTERN "^[a-z0-9_]{1,64}$"

/* Returns whether the row's field has a value, so that it can be written to the settings file. NULL
 * and numbers outside their range mean "not given". */
bool halo_option_is_given(const struct halo_option *row, const void *settings);

#endif
