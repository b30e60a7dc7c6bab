/* SPDX-License-Identifier: BSD-2-Clause
 * Notifications to a service manager (sd_notify(3)). Without libsystemd or without a manager these
 * functions do nothing. Loop thread only. */
#ifndef HALO_NOTIFY_H
#define HALO_NOTIFY_H

#include <stdint.h>

#include "config/error.h"

void halo_notify_ready(void);
void halo_notify_reloading(void); /* until the next halo_notify_ready() */
void halo_notify_stopping(void);
void halo_notify_extend(int ms); /* from now on, the current step may take this much longer */
void halo_notify_status(const char *text); /* one line */
void halo_notify_alive(void);

/* Adds the listening sockets that the manager passed to the table in passed.h. Call it once. 0, or
 * -errno with err filled. */
int halo_notify_take_sockets(struct halo_error *err);

/* The watchdog's interval in milliseconds: halo_notify_alive() must be called at least that often.
 * 0: no watchdog. */
uint64_t halo_notify_watchdog_ms(void);

#endif
