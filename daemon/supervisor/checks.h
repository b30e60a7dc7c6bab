/* SPDX-License-Identifier: BSD-2-Clause
 * Checks of the settings file that need the pipeline: of chains, encoders and cameras. Any thread.
 * No device is opened. */
#ifndef HALO_CHECKS_H
#define HALO_CHECKS_H

#include <jansson.h>

#include "config/daemon.h"

extern const struct halo_daemon_checks halo_checks;

/* Returns a list of the chains that do not hide the whole of every frame, as far as this can be
 * known before the first frame: [{"stream", "rendition", "coverage"}]. "rendition" is present only
 * for a rendition's chain; "coverage" has the same form as in the status. The result is a new
 * reference. */
json_t *halo_checks_coverage(const struct halo_daemon_settings *settings);

/* Returns what a chain hides of frames of this size (0: any), as in a status; a new reference.
 * NULL: err is filled. */
json_t *halo_checks_hides(const char *chain, int width, int height, struct halo_error *err);

/* Returns what a chain leaves of what its regions hide (disclosure.h): [{"where", "words",
 * "bounded"}]; a new reference. [] if it is not a chain. */
json_t *halo_checks_disclosure(const char *chain);

/* Returns a list of the detectors that the settings' filters need: [{"stream", "find", "command"}].
 * Without "command", it is halo-detect. A detector that several streams need is listed for the
 * first one only. The result is a new reference. */
json_t *halo_checks_detectors(const struct halo_daemon_settings *settings);

#endif
