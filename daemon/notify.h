/* SPDX-License-Identifier: BSD-2-Clause
 * What a service manager is told (sd_notify(3)). Without libsystemd, or without a manager, nothing
 * happens. Loop thread only. */
#ifndef HALO_NOTIFY_H
#define HALO_NOTIFY_H

#include <stdint.h>

#include "config/error.h"

void halo_notify_ready(void);
void halo_notify_reloading(void); /* until ready comes again */
void halo_notify_stopping(void);
void halo_notify_extend(int ms); /* what it does now may take so much longer from here on */
void halo_notify_status(const char *text); /* one line */
void halo_notify_alive(void);

/* The listening sockets that it passed, into the table of passed.h. -errno with err filled.
 * Once. */
int halo_notify_take_sockets(struct halo_error *err);

/* Milliseconds within which alive has to come again and again; 0: nobody watches. */
uint64_t halo_notify_watchdog_ms(void);

#endif
