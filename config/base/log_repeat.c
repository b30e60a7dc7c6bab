/* SPDX-License-Identifier: BSD-2-Clause
 * Keeps the last few different lines. If there are more, the oldest one is removed after its count
 * was written, so that no count is lost. */
#include "config/base/log_repeat.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/clock.h"

enum { KEPT = 16, LINE_SIZE = 2048 };

static struct kept {
    char line[LINE_SIZE]; /* "": free */
    enum halo_log_level level;
    int64_t since; /* ns */
    int more;
} kept[KEPT];

static void say(const struct kept *what, halo_log_write *write)
{
    char line[LINE_SIZE + 32];
    snprintf(line, sizeof line, "%s (%d time%s more)", what->line, what->more,
             what->more == 1 ? "" : "s");
    write(what->level, line);
}

static struct kept *make_room(halo_log_write *write)
{
    struct kept *oldest = &kept[0];
    for (int i = 0; i < KEPT; i++) {
        if (!kept[i].line[0])
            return &kept[i];
        if (kept[i].since < oldest->since)
            oldest = &kept[i];
    }
    if (oldest->more > 0)
        say(oldest, write);
    return oldest;
}

bool halo_log_repeat_is_new(enum halo_log_level level, const char *line, halo_log_write *write)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i].line[0] && !strcmp(kept[i].line, line)) {
            kept[i].more++;
            return false;
        }
    struct kept *at = make_room(write);
    snprintf(at->line, sizeof at->line, "%s", line);
    at->level = level;
    at->since = halo_now_ns();
    at->more = 0;
    return true;
}

void halo_log_repeat_due(halo_log_write *write)
{
    const int64_t now = halo_now_ns();
    for (int i = 0; i < KEPT; i++) {
        if (!kept[i].line[0] || now - kept[i].since < HALO_LOG_REPEAT_S * INT64_C(1000000000))
            continue;
        if (kept[i].more > 0)
            say(&kept[i], write);
        kept[i].line[0] = '\0';
    }
}
