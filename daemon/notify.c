/* SPDX-License-Identifier: BSD-2-Clause
 * Notifications through libsystemd. */
#include "daemon/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/view/passed.h"
#include "kernels/clock.h"

void halo_notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void halo_notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)halo_now_us());
}

void halo_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void halo_notify_extend(int ms)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%lld", (long long)ms * 1000);
}

void halo_notify_status(const char *text)
{
    sd_notifyf(0, "STATUS=%s", text);
}

void halo_notify_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

int halo_notify_take_sockets(struct halo_error *err)
{
    char **names = NULL;
    const int count = sd_listen_fds_with_names(1, &names);
    int code = count < 0 ? halo_fail(err, count, "cannot use the service manager's sockets: %s",
                                     strerror(-count))
                         : 0;
    for (int i = 0; i < count && code == 0; i++)
        code = halo_passed_add(SD_LISTEN_FDS_START + i, names[i], err);
    for (int i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
    return code;
}

uint64_t halo_notify_watchdog_ms(void)
{
    uint64_t us;
    return sd_watchdog_enabled(0, &us) > 0 ? us / 1000 : 0;
}
