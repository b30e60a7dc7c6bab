/* SPDX-License-Identifier: BSD-2-Clause
 * halod -c: the daemon, which is not here yet. */
#include "config/log.h"
#include "daemon/commands.h"

int halo_command_daemon(struct halo_daemon_settings *settings, const char *path)
{
    (void)path;
    halo_log(HALO_LOG_ERROR, "the daemon is not built in");
    halo_daemon_settings_destroy(settings);
    return HALO_EXIT_FAILED;
}
