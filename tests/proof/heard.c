/* SPDX-License-Identifier: BSD-2-Clause
 * What was in force for a frame (heard.h). */
#include "tests/proof/heard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"

enum {
    WORDS = 40,    /* that are remembered: half of them are more than is held at a time */
    MAX_TRIED = 8, /* moments; a frame that waited longer is of too many */
};

struct word {
    struct proof_update update;
    int64_t done; /* ns; INT64_MAX: it is being told */
    bool taken;
};

struct proof_heard {
    struct proof_expected_settings set;
    pthread_mutex_t lock;
    struct word word[WORDS]; /* the oldest is dropped */
    int count;
    bool dropped;
    atomic_long forgotten;
};

/* A frame under judgement, and all that may count for it. */
struct hearing {
    struct word word[WORDS];
    int count;
    const struct proof_heard *heard;
    struct proof_expected *expected;
    struct proof_place place;
    struct proof_judge *judge;
    const AVFrame *frame;
    int64_t us, now;
    unsigned number;
    bool whole; /* no word was dropped */
    bool unsure;
    struct proof_verdict *verdict;
};

struct proof_heard *proof_heard_open(const struct proof_expected_settings *settings)
{
    struct proof_heard *h = calloc(1, sizeof *h);
    if (!h)
        abort();
    h->set = *settings;
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

void proof_heard_close(struct proof_heard *h)
{
    if (!h)
        return;
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void proof_heard_begin(struct proof_heard *h, const struct proof_update *update)
{
    pthread_mutex_lock(&h->lock);
    if (h->count == WORDS) {
        memmove(h->word, h->word + 1, (size_t)--h->count * sizeof *h->word);
        h->dropped = true;
    }
    h->word[h->count++] = (struct word){*update, INT64_MAX, true};
    pthread_mutex_unlock(&h->lock);
}

void proof_heard_end(struct proof_heard *h, bool taken)
{
    pthread_mutex_lock(&h->lock);
    h->word[h->count - 1].taken = taken;
    h->word[h->count - 1].done = halo_now_ns();
    pthread_mutex_unlock(&h->lock);
}

long proof_heard_forgotten(const struct proof_heard *h)
{
    return atomic_load(&h->forgotten);
}

/* ---- a frame ---- */

static bool is_right(struct hearing *g)
{
    struct proof_region regions[2];
    unsigned number = g->number;
    proof_place_regions(&g->place, regions);
    if (!proof_judge_expect(g->judge, regions) || (g->place.known && g->place.unsure)) {
        g->unsure = true;
        return false;
    }
    proof_judge_find(g->judge, g->frame, &number, g->verdict);
    return g->verdict->wrong == 0;
}

/* By the words from `from` up to `to`; and as silence hides it, where it may have been that. */
static bool try_words(struct hearing *g, int from, int to)
{
    int64_t came = INT64_MIN;
    proof_expected_forget(g->expected);
    for (int i = from; i < to; i++)
        if (g->word[i].taken) {
            proof_expected_add(g->expected, &g->word[i].update);
            came = g->word[i].update.came;
        }
    proof_expected_at(g->expected, g->us, came, g->frame->width, g->frame->height, &g->place);
    if (is_right(g))
        return true;
    if (!g->place.known || g->now - came <= g->heard->set.limit * 1000)
        return false;
    g->place.known = false;
    return is_right(g);
}

/* Words that were told before the frame's time. */
static int count_before(const struct hearing *g)
{
    int ret = 0;
    while (ret < g->count && g->word[ret].done / 1000 < g->us)
        ret++;
    return ret;
}

static enum proof_heard_verdict judge(struct hearing *g, atomic_long *forgotten)
{
    const int first = count_before(g);
    if (g->count - first > MAX_TRIED || (first < WORDS / 2 && !g->whole))
        return PROOF_HEARD_UNKNOWN;
    for (int to = first; to <= g->count; to++)
        if (try_words(g, 0, to))
            return PROOF_HEARD_RIGHT;
    for (int to = first; to <= g->count && !g->unsure; to++)
        for (int from = to; from > 0 && from > to - MAX_TRIED; from--)
            if (try_words(g, from, to)) {
                atomic_fetch_add(forgotten, 1);
                return PROOF_HEARD_RIGHT;
            }
    return g->unsure ? PROOF_HEARD_UNKNOWN : PROOF_HEARD_WRONG;
}

enum proof_heard_verdict proof_heard_judge(struct proof_heard *h, struct proof_judge *of,
                                           const AVFrame *frame, int64_t us, unsigned number,
                                           struct proof_verdict *ret)
{
    struct hearing *g = calloc(1, sizeof *g);
    if (!g)
        abort();
    pthread_mutex_lock(&h->lock);
    g->count = h->count;
    g->whole = !h->dropped;
    memcpy(g->word, h->word, (size_t)h->count * sizeof *h->word);
    pthread_mutex_unlock(&h->lock);
    g->heard = h;
    g->judge = of;
    g->frame = frame;
    g->us = us;
    g->number = number;
    g->now = halo_now_ns();
    g->verdict = ret;
    g->expected = proof_expected_open(&h->set);
    const enum proof_heard_verdict verdict = judge(g, &h->forgotten);
    proof_expected_close(g->expected);
    free(g);
    return verdict;
}
