/* SPDX-License-Identifier: BSD-2-Clause
 * Sends log lines to the journal through libsystemd. */
#define SD_JOURNAL_SUPPRESS_LOCATION /* it would always be this line */
#include <stdio.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include "config/base/journal.h"

/* Finds the stream of a line: all lines about a stream begin with "stream NAME: ", where NAME
 * matches HALO_NAME_PATTERN. */
static int stream_of(const char *line, char *ret, size_t size)
{
    static const char word[] = "stream ";
    const size_t skip = sizeof word - 1;
    if (strncmp(line, word, skip) != 0)
        return 0;
    const size_t length = strspn(line + skip, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_-");
    if (length == 0 || line[skip + length] != ':' || length >= size)
        return 0;
    snprintf(ret, size, "%.*s", (int)length, line + skip);
    return 1;
}

int halo_journal_send(int priority, const char *line)
{
    char stream[80];
    if (stream_of(line, stream, sizeof stream))
        return sd_journal_send("MESSAGE=%s", line, "PRIORITY=%d", priority,
                               "SYSLOG_IDENTIFIER=halod", "HALOD_STREAM=%s", stream, NULL);
    return sd_journal_send("MESSAGE=%s", line, "PRIORITY=%d", priority, "SYSLOG_IDENTIFIER=halod",
                           NULL);
}
