/* SPDX-License-Identifier: BSD-2-Clause
 * The cards of a live stream, and their thread. */
#include "pipeline/stream/live_cards.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "config/base/thread.h"
#include "pipeline/gate/gate.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"

static const int64_t MS = 1000000, SECOND = INT64_C(1000000000); /* ns */

enum {
    APART_MS = 500, /* between two cards */
    /* time for frames that are inside to come out, and for a single failure to pass */
    PATIENCE_MS = 100,
    GRACE_MS = 1000, /* time for a source to report its own format */
};

struct halo_live_cards {
    struct halo_thread thread;
    bool started; /* the thread is to be joined */
    void (*make_up)(struct halo_live *live);
    int64_t began; /* ns: when the source was first opened */

    struct halo_mutex lock; /* of the fields below */
    struct halo_cond changed;
    bool over;
    /* a format was assumed, or cannot be; owned by the thread */
    bool made_up;
    bool shown; /* a frame has left the gate */
    /* us: timestamp of the last frame (0: none yet), and how late it was */
    int64_t line, behind;
    struct halo_output_frame *newest; /* NULL: no card yet */
    int64_t count, at;                /* number of cards so far; when: ns */
    /* a card is due before its usual time: a viewer connected */
    bool wanted;
};

int halo_live_cards_create(struct halo_live_cards **ret)
{
    struct halo_live_cards *cards = av_mallocz(sizeof *cards);
    if (!cards)
        return -ENOMEM;
    *ret = cards;
    return 0;
}

void halo_live_cards_destroy(struct halo_live_cards *cards)
{
    if (!cards)
        return;
    halo_output_frame_destroy(cards->newest);
    av_free(cards);
}

/* ---- other threads ---- */

void halo_live_cards_wake(struct halo_live_cards *cards)
{
    halo_lock(&cards->lock);
    halo_cond_broadcast(&cards->changed);
    halo_unlock(&cards->lock);
}

void halo_live_cards_want(struct halo_live_cards *cards)
{
    halo_lock(&cards->lock);
    cards->wanted = true;
    halo_cond_broadcast(&cards->changed);
    halo_unlock(&cards->lock);
}

void halo_live_cards_note(struct halo_live_cards *cards, int64_t pts)
{
    halo_lock(&cards->lock);
    cards->shown = true;
    cards->line = FFMAX(cards->line, pts);
    cards->behind = FFMAX(halo_now_us() - pts, 0);
    halo_unlock(&cards->lock);
}

int64_t halo_live_cards_drop(struct halo_live_cards *cards)
{
    halo_lock(&cards->lock);
    halo_output_frame_destroy(cards->newest);
    cards->newest = NULL;
    const int64_t ret = cards->count;
    halo_unlock(&cards->lock);
    return ret;
}

static bool is_away(const struct halo_live_standing *now)
{
    return now->state == HALO_LIVE_WAITING || now->state == HALO_LIVE_STARTING;
}

struct halo_output_frame *halo_live_card_take(struct halo_live_encoding *e)
{
    struct halo_live_cards *cards = e->live->cards;
    struct halo_output_frame *ret = NULL;
    halo_lock(&cards->lock);
    const bool shown = atomic_load(&e->watched) || e->pushes;
    const struct halo_live_standing now = halo_live_status_read(e->live->status);
    if (cards->count != e->cards && is_away(&now) && shown)
        ret = halo_output_frame_ref(cards->newest);
    e->cards = cards->count;
    halo_unlock(&cards->lock);
    return ret;
}

/* ---- drawing ---- */

static bool is_black(const struct halo_live *live)
{
    return live->settings.on_error == HALO_ON_ERROR_SOLID;
}

/* A card's timestamp is as far behind the clock as those of frames were, so that the next frames
 * can follow it with their own timestamps. Under the lock. */
static int64_t place(struct halo_live_cards *cards)
{
    const int64_t at = halo_now_ns() / 1000 - cards->behind;
    cards->line = cards->line ? FFMAX(at, cards->line + 1) : at;
    return cards->line;
}

/* Makes a new card for all encodings, unless the format has just been removed. Under the lock,
 * which is released meanwhile. */
static void make(struct halo_live *live, const char *words)
{
    struct halo_live_cards *cards = live->cards;
    struct halo_output_frame *card = NULL;
    if (!halo_graphs_use(live->graphs))
        return;
    const int64_t pts = place(cards);
    cards->at = halo_now_ns();
    cards->wanted = false;
    halo_unlock(&cards->lock);
    const struct halo_output_frame *blank = live->format->blank[1];
    const int code = is_black(live)
                         ? halo_gate_card(blank, &(struct halo_card){.black = true}, pts, &card)
                         : halo_live_card_draw(live, blank, words, pts, &card);
    halo_lock(&cards->lock);
    if (code >= 0) { /* otherwise out of memory: the next card may succeed */
        struct halo_output_frame *old = cards->newest;
        cards->newest = card;
        cards->count++;
        halo_unlock(&cards->lock);
        halo_output_frame_destroy(old);
        live->post(live, HALO_LIVE_CARD, 0);
        halo_lock(&cards->lock);
    }
    halo_graphs_used(live->graphs);
}

/* ---- the thread ---- */

/* When the next card, or an assumed format for it, is due; ns; INT64_MAX: not before a change.
 * Under the lock. */
static int64_t due(const struct halo_live *live, const struct halo_outline *outline,
                   const struct halo_live_standing *now)
{
    const struct halo_live_cards *cards = live->cards;
    const struct halo_stream_settings *set = &live->settings;
    if (outline->forming < HALO_FORMED)
        return live->may_make_up && !cards->made_up ? cards->began + GRACE_MS * MS : INT64_MAX;
    if (outline->forming < HALO_SHAPED || !is_away(now) || set->on_error == HALO_ON_ERROR_STOP)
        return INT64_MAX;
    const bool starts = now->state == HALO_LIVE_STARTING;
    int64_t first = now->since + (starts ? GRACE_MS : PATIENCE_MS) * MS;
    if (outline->made_up && !cards->shown)
        first = now->since;
    else if (set->on_error == HALO_ON_ERROR_LAST && cards->shown)
        first = now->since + (int64_t)(set->last_for * (double)SECOND);
    if (cards->wanted)
        return first;
    /* A card from an earlier interruption does not delay this one. */
    return cards->at < now->since ? first : FFMAX(first, cards->at + APART_MS * MS);
}

/* Makes what is due now, or waits for it; under the lock, which is released meanwhile. */
static void do_one(struct halo_live *live)
{
    struct halo_live_cards *cards = live->cards;
    /* Read in this order: setting the format restarts the time of the state. */
    const struct halo_outline outline = halo_graphs_outline(live->graphs);
    const struct halo_live_standing now = halo_live_status_read(live->status);
    const int64_t at = due(live, &outline, &now);
    if (halo_now_ns() < at) {
        halo_cond_wait(&cards->changed, &cards->lock, at);
    } else if (outline.forming >= HALO_FORMED) {
        make(live, now.words);
    } else {
        cards->made_up = true;
        halo_unlock(&cards->lock);
        cards->make_up(live);
        halo_lock(&cards->lock);
    }
}

static void *run(void *arg)
{
    struct halo_live *live = arg;
    struct halo_live_cards *cards = live->cards;
    halo_log_set_stream(live->settings.name);
    halo_lock(&cards->lock);
    while (!cards->over && !halo_live_stopped(live))
        do_one(live);
    halo_unlock(&cards->lock);
    return NULL;
}

int halo_live_cards_start(struct halo_live *live, void (*make_up)(struct halo_live *live),
                          struct halo_error *err)
{
    if (!live->live)
        return 0;
    live->cards->began = halo_now_ns();
    live->cards->make_up = make_up;
    halo_live_status_say(live->status, "connecting");
    const int code = halo_thread_start(&live->cards->thread, "card", run, live, err);
    live->cards->started = code == 0;
    return code;
}

void halo_live_cards_end(struct halo_live_cards *cards)
{
    halo_lock(&cards->lock);
    cards->over = true;
    halo_cond_broadcast(&cards->changed);
    halo_unlock(&cards->lock);
    if (cards->started)
        halo_thread_join(cards->thread);
}
