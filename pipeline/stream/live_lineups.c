/* SPDX-License-Identifier: BSD-2-Clause
 * The lineups of a live stream. */
#include "pipeline/stream/live_lineups.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "pipeline/base/thread.h"
#include "pipeline/stream/live_lineup.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_stream.h"

struct halo_live_lineups {
    struct halo_mutex lock; /* of all fields below */
    struct halo_cond unused;
    enum halo_live_forming forming;
    int users;                  /* of the format: threads that the stages do not join */
    struct halo_lineup *wanted; /* without gates, until the format is known */
    /* list of all that have gates, oldest first; the filter thread uses the last */
    struct halo_lineup *oldest;
    struct halo_lineup *next; /* becomes active with the next frame; not in that list */
    int64_t epochs;           /* the last epoch assigned */
    int64_t passed;
};

int halo_live_lineups_create(struct halo_live_lineups **ret)
{
    struct halo_live_lineups *all = av_mallocz(sizeof *all);
    if (!all)
        return -ENOMEM;
    *ret = all;
    return 0;
}

void halo_live_lineups_destroy(struct halo_live_lineups *all)
{
    if (!all)
        return;
    while (all->oldest) {
        struct halo_lineup *next = all->oldest->next;
        halo_lineup_destroy(all->oldest);
        all->oldest = next;
    }
    halo_lineup_destroy(all->next);
    halo_lineup_destroy(all->wanted);
    av_free(all);
}

/* ---- the format ---- */

struct halo_live_outline halo_live_lineups_outline(const struct halo_live *live)
{
    struct halo_live_lineups *all = live->lineups;
    struct halo_live_outline ret = {0};
    halo_lock(&all->lock);
    ret.forming = all->forming;
    if (ret.forming >= HALO_LIVE_FORMED) {
        ret.made_up = live->format->made_up;
        ret.width = live->format->input.width;
        ret.height = live->format->input.height;
    }
    halo_unlock(&all->lock);
    return ret;
}

bool halo_live_lineups_use(struct halo_live_lineups *all)
{
    halo_lock(&all->lock);
    const bool ret = all->forming == HALO_LIVE_SHAPED;
    all->users += ret;
    halo_unlock(&all->lock);
    return ret;
}

void halo_live_lineups_lend(struct halo_live_lineups *all)
{
    halo_lock(&all->lock);
    all->users++;
    halo_unlock(&all->lock);
}

void halo_live_lineups_used(struct halo_live_lineups *all)
{
    halo_lock(&all->lock);
    if (--all->users == 0)
        halo_cond_broadcast(&all->unused);
    halo_unlock(&all->lock);
}

/* ---- the thread that starts the stages ---- */

static void set_forming(struct halo_live_lineups *all, enum halo_live_forming forming)
{
    halo_lock(&all->lock);
    all->forming = forming;
    halo_unlock(&all->lock);
}

void halo_live_lineups_want(struct halo_live_lineups *all, struct halo_lineup *lineup)
{
    halo_lock(&all->lock);
    all->wanted = lineup;
    halo_unlock(&all->lock);
}

struct halo_lineup *halo_live_lineups_make(struct halo_live_lineups *all)
{
    halo_lock(&all->lock);
    struct halo_lineup *first = all->wanted;
    all->wanted = NULL;
    all->oldest = first;
    all->forming = HALO_LIVE_FORMED;
    halo_unlock(&all->lock);
    return first;
}

void halo_live_lineups_formatted(struct halo_live_lineups *all)
{
    set_forming(all, HALO_LIVE_SHAPED);
}

void halo_live_lineups_turn(struct halo_live_lineups *all)
{
    set_forming(all, HALO_LIVE_TURNING);
}

/* Keeps the active chains, without gates, for the next format; all frames have left. Under the
 * lock. */
static void keep_chains(struct halo_live_lineups *all)
{
    if (all->next) {
        all->next->next = all->oldest;
        all->oldest = all->next;
        all->next = NULL;
    }
    for (struct halo_lineup *l = all->oldest, *next; l; l = next) {
        next = l->next;
        struct halo_lineup *older = all->wanted;
        if (older && older->epoch > l->epoch) {
            halo_lineup_destroy(l);
            continue;
        }
        all->wanted = l;
        halo_lineup_destroy(older);
    }
    all->oldest = NULL;
    halo_lineup_strip(all->wanted);
}

void halo_live_lineups_keep(struct halo_live_lineups *all)
{
    halo_lock(&all->lock);
    while (all->users)
        halo_cond_wait(&all->unused, &all->lock, INT64_MAX);
    keep_chains(all);
    halo_unlock(&all->lock);
}

void halo_live_lineups_turned(struct halo_live_lineups *all)
{
    set_forming(all, HALO_LIVE_UNFORMED);
}

/* ---- frames ---- */

struct halo_lineup *halo_live_lineups_enter(struct halo_live_lineups *all, struct halo_lineup *now)
{
    halo_lock(&all->lock);
    if (!now)
        now = all->oldest;
    if (all->next) {
        now->next = all->next;
        now = all->next;
        all->next = NULL;
    }
    now->inside += now->gates;
    halo_unlock(&all->lock);
    return now;
}

void halo_live_lineups_leave(struct halo_live_lineups *all, struct halo_lineup *lineup, bool whole)
{
    halo_lock(&all->lock);
    lineup->inside--;
    if (whole)
        all->passed = lineup->epoch;
    halo_unlock(&all->lock);
}

void halo_live_lineups_forget_older(struct halo_live_lineups *all, const struct halo_lineup *lineup)
{
    for (;;) {
        halo_lock(&all->lock);
        struct halo_lineup *old = all->oldest;
        const bool goes = old != lineup;
        if (goes)
            all->oldest = old->next;
        halo_unlock(&all->lock);
        if (!goes)
            return;
        halo_lineup_destroy(old);
    }
}

void halo_live_lineups_needs(struct halo_live_lineups *all, struct halo_chain_needs *ret)
{
    *ret = (struct halo_chain_needs){0};
    halo_lock(&all->lock);
    const struct halo_lineup *lineup = all->next;
    for (const struct halo_lineup *l = all->oldest; l && !all->next; l = l->next)
        lineup = l;
    for (int i = 0; lineup && i < lineup->chains; i++)
        halo_chain_add_needs(lineup->chain[i], ret);
    halo_unlock(&all->lock);
}

/* ---- extra thread ---- */

int64_t halo_live_lineups_oldest(struct halo_live_lineups *all)
{
    int64_t oldest = INT64_MAX;
    halo_lock(&all->lock);
    for (const struct halo_lineup *l = all->oldest; l && oldest == INT64_MAX; l = l->next)
        if (l->inside)
            oldest = l->epoch;
    halo_unlock(&all->lock);
    return oldest;
}

int64_t halo_live_lineups_passed(struct halo_live_lineups *all)
{
    halo_lock(&all->lock);
    const int64_t ret = all->passed;
    halo_unlock(&all->lock);
    return ret;
}

enum halo_live_forming halo_live_lineups_take_up(struct halo_live_lineups *all,
                                                 struct halo_lineup *lineup)
{
    struct halo_lineup *old = NULL;
    halo_lock(&all->lock);
    const enum halo_live_forming ret = all->forming;
    if (ret != HALO_LIVE_TURNING)
        lineup->epoch = ++all->epochs; /* stays unused if its gates cannot be built */
    if (ret == HALO_LIVE_UNFORMED) {
        old = all->wanted;
        all->wanted = lineup;
    } else if (ret != HALO_LIVE_TURNING) {
        all->users++;
    }
    halo_unlock(&all->lock);
    halo_lineup_destroy(old);
    return ret;
}

void halo_live_lineups_put(struct halo_live_lineups *all, struct halo_lineup *lineup)
{
    halo_lock(&all->lock);
    struct halo_lineup *unused = all->next;
    all->next = lineup;
    halo_unlock(&all->lock);
    halo_lineup_destroy(unused);
}
