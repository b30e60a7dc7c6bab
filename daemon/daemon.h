/* SPDX-License-Identifier: BSD-2-Clause
 * The daemon's process. */
#ifndef HALO_DAEMON_H
#define HALO_DAEMON_H

#include "config/daemon.h"

/* Runs the daemon until it receives SIGTERM or SIGINT. Returns the exit code: 0 after SIGTERM, 130
 * after SIGINT. Takes ownership of settings. path is the settings file, which a reload reads again;
 * it must stay valid. */
int halo_command_daemon(struct halo_daemon_settings *settings, const char *path);
/* Works like halo_command_daemon(), but starts engines from the executable `program`; for tests. */
int halo_run_daemon(struct halo_daemon_settings *settings, const char *path, const char *program);

#endif
