/* SPDX-License-Identifier: BSD-2-Clause
 * The thread that makes the cards of a live stream: while no picture comes, what stands for it says
 * why. It also sees to it that there is something to draw them for when a source is away from the
 * start. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/live/live_private.h"

static const int64_t MS = 1000000, SECOND = INT64_C(1000000000); /* ns */

enum {
    APART_MS = 500,    /* from card to card */
    PATIENCE_MS = 100, /* in which pictures that are inside come out, and one that failed is over */
    GRACE_MS = 1000,   /* in which a source may say itself what its pictures are */
};

/* Under the lock. */
static bool is_away(const struct halo_live *live)
{
    return live->state == HALO_LIVE_WAITING || live->state == HALO_LIVE_STARTING;
}

/* When the next one is due, or a shape for it; ns; INT64_MAX: not before something changes. Under
 * the lock. */
static int64_t due(const struct halo_live *live, const struct halo_live_outline *outline)
{
    const struct halo_stream_settings *set = &live->settings;
    if (outline->forming < HALO_LIVE_FORMED)
        return live->may_make_up ? live->began + GRACE_MS * MS : INT64_MAX;
    if (outline->forming < HALO_LIVE_SHAPED || !is_away(live) ||
        set->on_error == HALO_ON_ERROR_STOP)
        return INT64_MAX;
    const bool starts = live->state == HALO_LIVE_STARTING;
    int64_t first = live->since + (starts ? GRACE_MS : PATIENCE_MS) * MS;
    if (outline->made_up && !live->shown)
        first = live->since;
    else if (set->on_error == HALO_ON_ERROR_LAST && live->shown)
        first = live->since + (int64_t)(set->last_for * (double)SECOND);
    if (live->card_wanted)
        return first;
    /* One of the time that it was away before holds none back. */
    return live->card_at < live->since ? first : FFMAX(first, live->card_at + APART_MS * MS);
}

static bool is_black(const struct halo_live *live)
{
    return live->settings.on_error == HALO_ON_ERROR_SOLID;
}

int halo_live_card_draw(const struct halo_live *live, const struct halo_output_picture *like,
                        const char *words, int64_t pts, struct halo_output_picture **ret)
{
    const char *name = live->settings.name;
    const struct halo_card card = {.line = {name && !strpbrk(name, "/:@") ? name : NULL, words}};
    return halo_gate_card(like, &card, pts, ret);
}

/* Its time is as far behind the clock as the pictures were, so that those that follow can go on
 * after it on their own line. Under the lock. */
static int64_t place(struct halo_live *live)
{
    const int64_t at = halo_now_ns() / 1000 - live->behind;
    live->line = live->line ? FFMAX(at, live->line + 1) : at;
    return live->line;
}

/* A new card for all encodings. Under the lock, which is let go of meanwhile. */
static void make(struct halo_live *live)
{
    char words[HALO_LIVE_WORDS];
    struct halo_output_picture *card = NULL, *old;
    if (!halo_live_lineups_use(live->lineups))
        return;
    const int64_t pts = place(live);
    live->card_at = halo_now_ns();
    live->card_wanted = false;
    snprintf(words, sizeof words, "%s", live->words);
    pthread_mutex_unlock(&live->lock);
    const int ret =
        is_black(live)
            ? halo_gate_card(live->shape->blank[1], &(struct halo_card){.black = true}, pts, &card)
            : halo_live_card_draw(live, live->shape->blank[1], words, pts, &card);
    pthread_mutex_lock(&live->lock);
    if (ret < 0) { /* for lack of memory: the next one */
        halo_live_lineups_used(live->lineups);
        return;
    }
    old = live->card;
    live->card = card;
    live->cards++;
    pthread_mutex_unlock(&live->lock);
    halo_live_lineups_used(live->lineups);
    halo_output_picture_destroy(old);
    halo_live_encodings_look(live->encodings);
    pthread_mutex_lock(&live->lock);
}

struct halo_output_picture *halo_live_card_take(struct halo_live_encoding *e)
{
    struct halo_live *live = e->live;
    struct halo_output_picture *ret = NULL;
    pthread_mutex_lock(&live->lock);
    const bool shown = atomic_load(&e->watched) || e->pushes;
    if (live->cards != e->cards && is_away(live) && shown)
        ret = halo_output_picture_ref(live->card);
    e->cards = live->cards;
    pthread_mutex_unlock(&live->lock);
    return ret;
}

void *halo_live_card_main(void *arg)
{
    struct halo_live *live = arg;
    halo_log_set_stream(live->settings.name);
    pthread_mutex_lock(&live->lock);
    while (!live->cards_over && !halo_live_stopped(live)) {
        const struct halo_live_outline outline = halo_live_lineups_outline(live);
        const int64_t at = due(live, &outline), now = halo_now_ns();
        const struct timespec t = {at / SECOND, at % SECOND};
        if (at == INT64_MAX) {
            pthread_cond_wait(&live->changed, &live->lock);
        } else if (now < at) {
            pthread_cond_timedwait(&live->changed, &live->lock, &t);
        } else if (outline.forming >= HALO_LIVE_FORMED) {
            make(live);
        } else {
            pthread_mutex_unlock(&live->lock);
            halo_live_make_up(live);
            pthread_mutex_lock(&live->lock);
        }
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}
