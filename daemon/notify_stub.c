/* SPDX-License-Identifier: BSD-2-Clause
 * Notifications in builds without libsystemd: nothing is sent. */
#include "daemon/notify.h"

void halo_notify_ready(void)
{
}

void halo_notify_reloading(void)
{
}

void halo_notify_stopping(void)
{
}

void halo_notify_extend(int ms)
{
    (void)ms;
}

void halo_notify_status(const char *text)
{
    (void)text;
}

void halo_notify_alive(void)
{
}

int halo_notify_take_sockets(struct halo_error *err)
{
    (void)err;
    return 0;
}

uint64_t halo_notify_watchdog_ms(void)
{
    return 0;
}
