/* SPDX-License-Identifier: BSD-2-Clause
 * What is next in a live stream (judge.h). Frames are held in this order: those that have all the
 * verdicts that they will get, and wait for the frames after them (`ahead`); the one that is at the
 * detectors for whose verdicts frames wait; and the newest ones, which wait for their turn. */
#include "pipeline/detect/judge_private.h"

enum {
    WAITING = 8,      /* frames that may wait while the detectors have another one */
    GAP_US = 1000000, /* a gap in the times of judged frames is at least so long, */
    GAP_STEPS = 4     /* and so many times as long as the step before it */
};

static int64_t deadline_of(const struct find *find)
{
    return find->sent + (int64_t)(find->settings->wait * 1e9);
}

/* Detectors whose verdict is overdue are silent. */
static void mark_silent(struct halo_judge *judge, int64_t now)
{
    for (int f = 0; f < HALO_FINDS; f++) {
        struct find *find = &judge->find[f];
        if (!(judge->finds & halo_find_bit(f)) || find->silent || !find->unanswered ||
            find->settings->wait <= 0 || now < deadline_of(find))
            continue;
        find->silent = true;
        halo_judge_lose(judge, f);
    }
}

static bool is_gap(const struct find *find, int64_t at)
{
    const int64_t step = at - find->newest_at;
    return find->any && step > GAP_US && (!find->step || step > GAP_STEPS * find->step);
}

void halo_judge_live_answer(struct halo_judge *judge, enum halo_find find, int64_t n,
                            const struct answer *boxes, int64_t now)
{
    struct find *f = &judge->find[find];
    const halo_find_set bit = halo_find_bit(find);
    struct slot *slot = halo_judge_find_slot(judge, n);
    mark_silent(judge, now);
    if (!f->unanswered || f->n != n)
        return;
    const bool late = f->silent, counts = n >= f->since_n && !late, cut = f->cut && n >= f->since_n;
    f->unanswered = 0;
    f->silent = false;
    if (!(judge->finds & bit))
        return;
    if (is_gap(f, f->at))
        halo_judge_lose(judge, find);
    const bool agrees = !boxes || halo_tracks_add(f->tracks, f->at, cut, boxes->box, boxes->count);
    f->cut &= !cut;
    f->step = f->any ? f->at - f->newest_at : 0;
    f->newest_n = n;
    f->newest_at = f->at;
    f->masked = !boxes;
    f->any = true;
    if (counts)
        halo_judge_count(f, n, agrees);
    if (!slot || !(slot->to & bit))
        return;
    slot->answered |= bit;
    slot->masked |= boxes ? 0 : bit;
    slot->clear |= counts && f->settled ? bit : 0;
}

/* The finds whose verdicts about this frame are awaited. */
static halo_find_set awaited(const struct halo_judge *judge, const struct slot *slot)
{
    halo_find_set set = 0;
    for (int f = 0; f < HALO_FINDS; f++) {
        const struct find *find = &judge->find[f];
        if (find->settings && find->settings->wait > 0 && find->unanswered && find->n == slot->n &&
            !find->silent)
            set |= halo_find_bit(f);
    }
    return set & judge->finds & slot->to;
}

/* Detectors that can receive a frame, and for whose verdicts frames wait or do not wait. */
static halo_find_set can_receive(const struct halo_judge *judge, bool wait)
{
    halo_find_set set = 0;
    for (int f = 0; f < HALO_FINDS; f++) {
        const struct find *find = &judge->find[f];
        if (judge->finds & halo_find_bit(f) && find->ready && !find->unanswered &&
            (find->settings->wait > 0) == wait)
            set |= halo_find_bit(f);
    }
    return set;
}

static void drop(struct halo_judge *judge, int index, struct halo_judge_step *ret)
{
    ret->what = HALO_JUDGE_DROP;
    ret->n = halo_judge_slot(judge, index)->n;
    halo_judge_remove(judge, index);
}

static void wait_for(const struct halo_judge *judge, halo_find_set finds,
                     struct halo_judge_step *ret)
{
    for (int f = 0; f < HALO_FINDS; f++)
        if (finds & halo_find_bit(f) && deadline_of(&judge->find[f]) < ret->time)
            ret->time = deadline_of(&judge->find[f]);
}

/* The number of frames, from the oldest on, that have all the verdicts that they will get. */
static int count_judged(struct halo_judge *judge)
{
    int count = 0;
    while (count < judge->count) {
        const struct slot *slot = halo_judge_slot(judge, count);
        if (!slot->sent || awaited(judge, slot))
            break;
        count++;
    }
    return count;
}

/* Whether enough of the frames after this one were judged (`ahead`). */
static bool is_seen_ahead(const struct halo_judge *judge, const struct slot *slot)
{
    bool seen = true;
    for (int f = 0; f < HALO_FINDS; f++) {
        const struct find *find = &judge->find[f];
        if (!(judge->finds & halo_find_bit(f)))
            continue;
        if (find->settings->wait <= 0)
            return true;
        if (slot->clear & ~slot->masked & halo_find_bit(f) &&
            find->newest_at - slot->at < (int64_t)(find->settings->ahead * 1e6))
            seen = false;
    }
    return seen;
}

void halo_judge_live_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret)
{
    mark_silent(judge, now);
    for (;;) {
        const int judged = count_judged(judge), waiting = judge->count - judged;
        if (judged && (judged >= HALO_JUDGE_WINDOW || (judge->ended && !waiting) ||
                       is_seen_ahead(judge, halo_judge_slot(judge, 0)))) {
            halo_judge_pass(judge, ret);
            return;
        }
        if (!waiting)
            return;
        struct slot *oldest = halo_judge_slot(judge, judged),
                    *newest = halo_judge_slot(judge, judge->count - 1);
        const halo_find_set pending = awaited(judge, oldest);
        const halo_find_set now_to = can_receive(judge, true), behind = can_receive(judge, false);
        if (pending && waiting > 1 + WAITING)
            drop(judge, judged + 1, ret);
        else if (pending)
            wait_for(judge, pending, ret);
        else if (now_to && oldest != newest)
            drop(judge, judged, ret);
        else if (now_to)
            halo_judge_send(judge, oldest, now_to | behind, now, ret);
        else if (behind && !newest->sent)
            halo_judge_send(judge, newest, behind, now, ret);
        else {
            oldest->sent = true; /* no detector can receive it */
            continue;
        }
        return;
    }
}
