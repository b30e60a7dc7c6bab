/* SPDX-License-Identifier: BSD-2-Clause
 * Notifications to a service manager (sd_notify(3)). Without libsystemd or without a manager these
 * functions do nothing. Loop thread only. */
#ifndef HALO_NOTIFY_H
#define HALO_NOTIFY_H

#include <stdint.h>

#include "config/base/error.h"

void halo_notify_ready(void);
void halo_notify_reloading(void); /* a reload begins; the next halo_notify_ready() ends it */
void halo_notify_stopping(void);
/* Extends the time limit of the current step to ms milliseconds from now. */
void halo_notify_extend(int ms);
void halo_notify_status(const char *text); /* one line */
void halo_notify_alive(void);

/* Adds the listening sockets passed by the manager to the table that passed.h describes. Call it
 * once. Returns 0, or -errno with err filled. */
int halo_notify_take_sockets(struct halo_error *err);

/* Returns the watchdog's interval in milliseconds, or 0 if there is no watchdog.
 * halo_notify_alive() must be called at least once per interval. */
uint64_t halo_notify_watchdog_ms(void);

#endif
