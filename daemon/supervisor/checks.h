/* SPDX-License-Identifier: BSD-2-Clause
 * Checks of the settings file that need the pipeline: chains, encoders, cameras. Any thread; opens
 * no device. */
#ifndef HALO_CHECKS_H
#define HALO_CHECKS_H

#include <jansson.h>

#include "config/daemon.h"

extern const struct halo_daemon_checks halo_checks;

/* Lists every chain that does not hide all of every frame, as far as this is known before the first
 * frame: [{"stream", "rendition" if the chain is a rendition's, "coverage" as in the status}]; a
 * new reference. */
json_t *halo_checks_coverage(const struct halo_daemon_settings *settings);

#endif
