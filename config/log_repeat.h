/* SPDX-License-Identifier: BSD-2-Clause
 * Suppresses repeated log lines. The caller (log.c) holds a lock. */
#ifndef HALO_LOG_REPEAT_H
#define HALO_LOG_REPEAT_H

#include <stdbool.h>

#include "config/log.h"

enum { HALO_LOG_REPEAT_S = 30 };

typedef void halo_log_write(enum halo_log_level level, const char *line);

/* Returns whether line is to be written, because it was not written in the last HALO_LOG_REPEAT_S
 * seconds; otherwise only counts it. If there is no room for the line, first writes and forgets the
 * oldest line, with its count. */
bool halo_log_repeat_is_new(enum halo_log_level level, const char *line, halo_log_write *write);

/* Writes the lines whose time is over, with their counts. */
void halo_log_repeat_due(halo_log_write *write);

#endif
