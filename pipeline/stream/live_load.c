/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a live stream keeps up, judged over ten seconds. */
#include "pipeline/stream/live_load.h"

#include <inttypes.h>
#include <stdio.h>

static const int64_t WINDOW = INT64_C(10000000000); /* ns */

/* It is behind if more than half is lost, and keeps up again if at most one in five is. */
void halo_live_load_judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed)
{
    if (load->since && now - load->since < WINDOW)
        return;
    const int64_t bad = lost - load->lost, good = passed - load->passed;
    if (load->since && bad > good) {
        load->behind = true;
        load->of[0] = bad;
        load->of[1] = bad + good;
    } else if (bad * 4 <= good) {
        load->behind = false;
    }
    load->since = now;
    load->lost = lost;
    load->passed = passed;
}

/* A few seconds once may come from a machine that was asleep. */
void halo_live_load_judge_decoding(struct halo_live_load *load, int64_t now, int64_t slipped)
{
    enum { MANY = 3 };
    if (load->since && now - load->since < WINDOW)
        return;
    const int64_t slips = slipped - load->lost;
    load->of[0] = slips;
    load->of[1] = (now - load->since) / 1000000000;
    load->behind = load->since && (slips >= MANY || (slips > 0 && load->behind));
    load->since = now;
    load->lost = slipped;
}

void halo_live_load_say(const struct halo_live_load *load, const char *what, char *words,
                        size_t size)
{
    if (load->behind && !words[0])
        snprintf(words, size, "%" PRId64 " of %" PRId64 " %s", load->of[0], load->of[1], what);
}
