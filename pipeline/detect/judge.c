/* SPDX-License-Identifier: BSD-2-Clause
 * The judge of one stream (judge.h): the frames that it holds, its events, and the counting for
 * `enter`. */
#include "pipeline/detect/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/detect/judge_private.h"

enum {
    PATIENCE = 4,       /* counting for `enter` ends after so many times `enter` frames */
    STEP_US = 40000,    /* if times go back, the next frame is later by so much */
    BEHIND_US = 1000000 /* wait: 0: the largest age of the newest verdict's frame */
};

/* ---- frames ---- */

struct slot *halo_judge_slot(struct halo_judge *judge, int index)
{
    return &judge->slot[(judge->first + index) % HALO_JUDGE_FRAMES];
}

struct slot *halo_judge_find_slot(struct halo_judge *judge, int64_t n)
{
    for (int i = 0; i < judge->count; i++)
        if (halo_judge_slot(judge, i)->n == n)
            return halo_judge_slot(judge, i);
    return NULL;
}

void halo_judge_remove(struct halo_judge *judge, int index)
{
    for (int i = index; i > 0; i--)
        *halo_judge_slot(judge, i) = *halo_judge_slot(judge, i - 1);
    judge->first = (judge->first + 1) % HALO_JUDGE_FRAMES;
    judge->count--;
}

/* ---- life ---- */

int halo_judge_create(struct halo_judge **ret, const struct halo_judge_settings *settings)
{
    struct halo_judge *judge = calloc(1, sizeof *judge);
    if (!judge)
        return -ENOMEM;
    judge->live = settings->live;
    judge->tracks = settings->tracks;
    judge->last_n = judge->judged_at = INT64_MIN;
    for (int f = 0; f < HALO_FINDS; f++)
        judge->find[f].settings = settings->detector[f];
    const int code = halo_judge_finds(judge, settings->finds, 0);
    if (code < 0) {
        halo_judge_destroy(judge);
        return code;
    }
    *ret = judge;
    return 0;
}

void halo_judge_destroy(struct halo_judge *judge)
{
    for (int f = 0; judge && f < HALO_FINDS; f++)
        halo_tracks_destroy(judge->find[f].tracks);
    free(judge);
}

/* A find that was not needed before knows nothing, whatever its detector answers about frames that
 * it was sent earlier. */
static void forget(struct halo_judge *judge, enum halo_find find)
{
    struct find *f = &judge->find[find];
    halo_judge_restart(f);
    halo_tracks_reset(f->tracks);
    f->any = f->cut = false;
    f->since_n = judge->last_n == INT64_MIN ? INT64_MIN : judge->last_n + 1;
    for (int i = 0; i < judge->count; i++)
        halo_judge_slot(judge, i)->clear &= ~halo_find_bit(find);
}

/* Whether frames after a frame may change its shapes. */
static bool is_followed(const struct halo_judge *judge, const struct find *find)
{
    return !judge->live || find->settings->ahead > 0;
}

int halo_judge_finds(struct halo_judge *judge, halo_find_set finds, int64_t now)
{
    (void)now;
    for (int f = 0; f < HALO_FINDS; f++) {
        struct find *find = &judge->find[f];
        if (!(finds & halo_find_bit(f)) || find->tracks)
            continue;
        if (halo_tracks_create(&find->tracks, f, find->settings,
                               is_followed(judge, find) ? HALO_JUDGE_WINDOW : 1) < 0)
            return -ENOMEM;
        halo_tracks_number(find->tracks, judge->tracks);
    }
    for (int f = 0; f < HALO_FINDS; f++)
        if (finds & ~judge->finds & halo_find_bit(f))
            forget(judge, f);
    judge->finds = finds;
    return 0;
}

/* ---- events ---- */

bool halo_judge_has_room(const struct halo_judge *judge)
{
    int waiting = 0;
    for (int i = 0; i < judge->count; i++)
        waiting += !judge->slot[(judge->first + i) % HALO_JUDGE_FRAMES].sent;
    return judge->live || waiting < 2;
}

int halo_judge_arrive(struct halo_judge *judge, int64_t n, int64_t frame_us, int64_t now)
{
    (void)now;
    if (judge->count == HALO_JUDGE_FRAMES)
        return -ENOBUFS;
    const bool back = judge->frames && frame_us < judge->last_us;
    if (back)
        judge->shift = judge->last_at + STEP_US - frame_us;
    int64_t at = frame_us + judge->shift;
    if (judge->frames && at <= judge->last_at)
        at = judge->last_at + 1;
    judge->last_us = frame_us;
    judge->last_at = at;
    judge->last_n = n;
    judge->frames++;
    *halo_judge_slot(judge, judge->count++) = (struct slot){.n = n, .at = at, .cut = back};
    if (back && judge->live)
        halo_judge_cut(judge, n);
    return 0;
}

void halo_judge_ready(struct halo_judge *judge, enum halo_find find, int64_t now)
{
    struct find *f = &judge->find[find];
    if (f->ready)
        halo_judge_gone(judge, find, now);
    f->ready = true;
    f->silent = false;
}

void halo_judge_gone(struct halo_judge *judge, enum halo_find find, int64_t now)
{
    (void)now;
    struct find *f = &judge->find[find];
    f->ready = f->silent = false;
    f->unanswered = 0;
    if (judge->live)
        halo_judge_lose(judge, find);
    for (int i = 0; i < judge->count; i++) {
        struct slot *slot = halo_judge_slot(judge, i);
        const halo_find_set lost = slot->to & ~slot->answered & halo_find_bit(find);
        slot->to &= ~lost;
        slot->again |= judge->live ? 0 : lost;
    }
}

void halo_judge_pause(struct halo_judge *judge, enum halo_find find, int64_t now)
{
    if (judge->live)
        halo_judge_gone(judge, find, now);
    else
        judge->find[find].ready = false;
}

bool halo_judge_give_up(struct halo_judge *judge, enum halo_find find)
{
    for (int i = 0; i < judge->count; i++) {
        struct slot *slot = halo_judge_slot(judge, i);
        if (!(slot->again & halo_find_bit(find)))
            continue;
        slot->again &= ~halo_find_bit(find);
        return true;
    }
    return false;
}

void halo_judge_boxes(struct halo_judge *judge, enum halo_find find, int64_t n,
                      const struct halo_detect_box *boxes, int count, int64_t now)
{
    struct answer answer = {.n = n, .count = count};
    if (count > 0)
        memcpy(answer.box, boxes, (size_t)count * sizeof *boxes);
    if (judge->live)
        halo_judge_live_answer(judge, find, n, &answer, now);
    else
        halo_judge_file_answer(judge, find, n, &answer);
}

void halo_judge_mask(struct halo_judge *judge, enum halo_find find, int64_t n, int64_t now)
{
    if (judge->live)
        halo_judge_live_answer(judge, find, n, NULL, now);
    else
        halo_judge_file_answer(judge, find, n, NULL);
}

void halo_judge_cut(struct halo_judge *judge, int64_t n)
{
    struct slot *slot = halo_judge_find_slot(judge, n);
    if (slot)
        slot->cut = true;
    for (int f = 0; f < HALO_FINDS && judge->live; f++) {
        halo_judge_restart(&judge->find[f]);
        judge->find[f].cut = true;
        if (judge->find[f].since_n < n)
            judge->find[f].since_n = n;
    }
}

void halo_judge_finish(struct halo_judge *judge)
{
    judge->ended = true;
}

/* ---- enter ---- */

void halo_judge_restart(struct find *find)
{
    find->restarted |= find->judged > 0;
    find->agreed = find->judged = 0;
    find->settled = false;
}

void halo_judge_lose(struct halo_judge *judge, enum halo_find find)
{
    struct find *f = &judge->find[find];
    halo_judge_restart(f);
    for (int i = 0; i < judge->count && judge->live && f->settings->ahead > 0; i++)
        halo_judge_slot(judge, i)->clear &= ~halo_find_bit(find);
}

void halo_judge_count(struct find *find, int64_t n, bool agrees)
{
    const int enter = find->settings->enter;
    find->judged++;
    if (find->judged == 1 || !agrees) {
        find->agreed = 0;
        find->run_n = n;
    }
    find->agreed++;
    if (find->settled || (find->agreed < enter && find->judged < PATIENCE * enter))
        return;
    if (find->agreed < enter)
        find->run_n = n;
    find->settled = true;
    halo_tracks_settle(find->tracks);
}

/* ---- answers ---- */

void halo_judge_send(struct halo_judge *judge, struct slot *slot, halo_find_set to, int64_t now,
                     struct halo_judge_step *ret)
{
    slot->sent = true;
    slot->to |= to;
    slot->again &= ~to;
    for (int f = 0; f < HALO_FINDS; f++) {
        if (!(to & halo_find_bit(f)))
            continue;
        judge->find[f].unanswered++;
        judge->find[f].n = slot->n;
        judge->find[f].at = slot->at;
        judge->find[f].sent = now;
    }
    ret->what = HALO_JUDGE_SEND;
    ret->n = slot->n;
    ret->to = to;
}

/* wait: 0: whether the newest verdict is good for a frame at this time. */
static bool is_behind(struct find *find, int64_t at)
{
    if (!find->any || !find->settled)
        return false;
    if (at - find->newest_at > BEHIND_US) {
        halo_judge_restart(find); /* a silence */
        return false;
    }
    return true;
}

/* What a frame's verdict knows of a find. */
static void pass_find(struct halo_judge *judge, const struct slot *slot, enum halo_find find,
                      struct halo_judge_step *ret)
{
    struct find *f = &judge->find[find];
    const halo_find_set bit = halo_find_bit(find);
    const bool waits = !judge->live || f->settings->wait > 0;
    if (waits ? !(slot->answered & slot->clear & bit) : !is_behind(f, slot->at))
        return;
    if (waits ? (slot->masked & bit) != 0 : f->masked) {
        ret->masked |= bit;
        ret->mask_n[find] = waits ? slot->n : f->newest_n;
        ret->known |= bit;
    } else if (halo_tracks_get(f->tracks, slot->at, &ret->hidden[find], &ret->shown[find])) {
        ret->known |= bit;
    }
}

void halo_judge_pass(struct halo_judge *judge, struct halo_judge_step *ret)
{
    const struct slot *slot = halo_judge_slot(judge, 0);
    for (int f = 0; f < HALO_FINDS; f++)
        if (judge->finds & halo_find_bit(f))
            pass_find(judge, slot, f, ret);
    ret->what = ret->known ? HALO_JUDGE_PASS : HALO_JUDGE_HIDE;
    ret->n = slot->n;
    halo_judge_remove(judge, 0);
}

void halo_judge_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret)
{
    *ret = (struct halo_judge_step){.what = HALO_JUDGE_WAIT, .time = INT64_MAX};
    if (judge->live)
        halo_judge_live_next(judge, now, ret);
    else
        halo_judge_file_next(judge, now, ret);
}

const char *halo_judge_why(const struct halo_judge *judge, enum halo_find find)
{
    const struct find *f = &judge->find[find];
    if (!f->ready)
        return "not ready";
    if (f->silent)
        return "silent";
    return f->settled ? NULL : "entering";
}
