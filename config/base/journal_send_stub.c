/* SPDX-License-Identifier: BSD-2-Clause
 * Replaces journal_send.c in builds without libsystemd. */
#include <errno.h>

#include "config/base/journal.h"

int halo_journal_send(int priority, const char *line)
{
    (void)priority;
    (void)line;
    return -ENOSYS;
}
