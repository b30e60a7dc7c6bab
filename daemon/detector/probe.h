/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a detector could be started, for `haloctl doctor` and `halod --check-config`. */
#ifndef HALO_DETECTOR_PROBE_H
#define HALO_DETECTOR_PROBE_H

#include <jansson.h>

/* Finds out which detectors of a list cannot be started: [{"stream", "find", "command"}], as
 * halo_checks_detectors() returns it. These receive the member "error", one line that says what is
 * wrong and what to do. "command" is removed from all.
 *
 * It looks for the program (command.h). If that is halo-detect, it also runs `halo-detect check`
 * with the command's arguments, as this user, to find out whether its models are installed. It sees
 * no frames, so it is not confined. Other programs are not run. What has not ended after timeout_ms
 * for all of them is killed, and is no error. Blocks. Any thread. */
void halo_detector_probe(json_t *detectors, int timeout_ms);

#endif
