/* SPDX-License-Identifier: BSD-2-Clause
 * Lines that come again and again. The caller (log.c) holds a lock. */
#ifndef HALO_LOG_REPEAT_H
#define HALO_LOG_REPEAT_H

#include <stdbool.h>

#include "config/log.h"

enum { HALO_LOG_REPEAT_S = 30 };

typedef void halo_log_write(enum halo_log_level level, const char *line);

/* Whether line is to be written: it was not within the last HALO_LOG_REPEAT_S. Else it is counted.
 * Writes the one that makes room for it, with its count. */
bool halo_log_repeat_is_new(enum halo_log_level level, const char *line, halo_log_write *write);

/* Writes, with their count, lines whose time is over. */
void halo_log_repeat_due(halo_log_write *write);

#endif
