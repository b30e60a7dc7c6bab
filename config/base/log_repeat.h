/* SPDX-License-Identifier: BSD-2-Clause
 * Suppresses repeated log lines. The caller (log.c) holds a lock. */
#ifndef HALO_LOG_REPEAT_H
#define HALO_LOG_REPEAT_H

#include <stdbool.h>

#include "config/base/log.h"

enum { HALO_LOG_REPEAT_S = 30 };

typedef void halo_log_write(enum halo_log_level level, const char *line);

/* Returns true if line should be written because it was not written in the last HALO_LOG_REPEAT_S
 * seconds; otherwise counts it and returns false. If there is no room for the line, first writes
 * the oldest line with its count and forgets it. */
bool halo_log_repeat_is_new(enum halo_log_level level, const char *line, halo_log_write *write);

/* For each line that was first written HALO_LOG_REPEAT_S seconds ago or earlier: if it has been
 * repeated since, writes it with its count; then forgets it. */
void halo_log_repeat_due(halo_log_write *write);

#endif
