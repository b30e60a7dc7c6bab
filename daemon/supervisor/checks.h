/* SPDX-License-Identifier: BSD-2-Clause
 * What of the daemon's file only the pipeline knows: chains and encoders. Any thread; opens
 * nothing. */
#ifndef HALO_CHECKS_H
#define HALO_CHECKS_H

#include <jansson.h>

#include "config/daemon.h"

extern const struct halo_daemon_checks halo_checks;

/* Of every chain that does not hide all of every frame, as far as that is known before there are
 * any: [{"stream", "rendition" where it is one's, "coverage" as in a status}]; a new reference. */
json_t *halo_checks_coverage(const struct halo_daemon_settings *settings);

#endif
