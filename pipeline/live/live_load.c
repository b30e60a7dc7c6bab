/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a live stream keeps up, judged over some seconds; and what else it lacks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/live/live_private.h"

static const int64_t WINDOW = INT64_C(10000000000); /* ns */

/* Behind: most are lost. It keeps up again: hardly one in five is. */
static void judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed)
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

static void say(struct halo_live_stats *ret, enum halo_lack lack, const struct halo_live_load *load,
                const char *what)
{
    if (load->behind && !ret->lack[lack][0])
        snprintf(ret->lack[lack], sizeof ret->lack[lack], "%" PRId64 " of %" PRId64 " %s",
                 load->of[0], load->of[1], what);
}

/* A few seconds, once, may be a machine's that was asleep. */
static void judge_decoding(struct halo_live *live, int64_t now)
{
    enum { MANY = 3 };
    struct halo_live_load *load = &live->decoding;
    if (load->since && now - load->since < WINDOW)
        return;
    const int64_t slips = live->slipped - load->lost;
    load->of[0] = slips;
    load->of[1] = (now - load->since) / 1000000000;
    load->behind = load->since && (slips >= MANY || (slips > 0 && load->behind));
    load->since = now;
    load->lost = live->slipped;
}

static void look_at_encodings(struct halo_live *live, struct halo_live_stats *ret, int64_t now)
{
    for (int i = 0; i < live->encodings; i++) {
        struct halo_live_encoding *e = &live->encoder[i];
        judge(&e->load, now, e->late, e->made);
        if (!halo_live_encoding_runs(e))
            e->load.behind = false;
        say(ret, HALO_LACK_LATE_ENCODER, &e->load, "pictures came too soon for an encoding");
        const enum halo_lack lack = e->no_session ? HALO_LACK_SESSIONS : HALO_LACK_ENCODER;
        if (e->instead[0] && !ret->lack[lack][0])
            snprintf(ret->lack[lack], sizeof ret->lack[lack], "%s", e->instead);
    }
}

void halo_live_look(struct halo_live *live, struct halo_live_stats *ret)
{
    const int64_t now = halo_now_ns();
    judge(&live->filters, now, live->stats.dropped[HALO_DROP_LATE], live->stats.filtered);
    say(ret, HALO_LACK_LATE, &live->filters, "pictures came too soon for the filters");
    judge_decoding(live, now);
    if (live->decoding.behind)
        snprintf(ret->lack[HALO_LACK_LATE_DECODER], HALO_LACK_WORDS,
                 "%" PRId64 " seconds of %" PRId64 " were lost: pictures are not decoded in time",
                 live->decoding.of[0], live->decoding.of[1]);
    look_at_encodings(live, ret, now);
}

void halo_live_lack(struct halo_live *live, enum halo_lack lack, const char *why)
{
    pthread_mutex_lock(&live->counting);
    snprintf(live->stats.lack[lack], sizeof live->stats.lack[lack], "%s", why);
    halo_sanitise(live->stats.lack[lack]);
    pthread_mutex_unlock(&live->counting);
}
