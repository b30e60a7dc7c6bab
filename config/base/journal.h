/* SPDX-License-Identifier: BSD-2-Clause
 * systemd's journal. Any thread. */
#ifndef HALO_JOURNAL_H
#define HALO_JOURNAL_H

#include <stdbool.h>

/* Returns whether standard error is connected to the journal (JOURNAL_STREAM, systemd.exec(5)). */
bool halo_journal_is_there(void);

/* Sends the line to the journal with the field PRIORITY and, if the line begins with "stream
 * NAME:", the field HALOD_STREAM. Returns 0 or -errno, which is -ENOSYS in builds without
 * libsystemd. */
int halo_journal_send(int priority, const char *line);

#endif
