/* SPDX-License-Identifier: BSD-2-Clause
 * The judge of one stream (judge.h): the frames that it holds, its events, and the counting for
 * `enter`. */
#include "pipeline/detect/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/detect/detect_wire.h"
#include "pipeline/detect/tracks.h"

/* A frame that has arrived and has neither passed nor been dropped. */
struct slot {
    int64_t n;
    int64_t at;             /* us: its time, made to increase */
    bool cut, sent, judged; /* judged: files: its verdicts are in the tracks */
    halo_find_set to;       /* the finds to which it was sent */
    halo_find_set again;    /* files: those whose detector was lost before it answered */
    halo_find_set answered; /* those that judged it; */
    halo_find_set masked;   /* with a mask; */
    halo_find_set clear;    /* and of which `enter` frames agreed */
};

/* Files: boxes until their frame's turn comes. */
struct answer {
    int64_t n;
    int count;
    struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
};

struct find {
    const struct halo_detector_settings *settings;
    struct halo_tracks *tracks;
    bool ready, silent;
    int unanswered;
    int64_t n, at, sent; /* live: the unanswered frame, its time (us), and when it was sent (ns) */

    /* `enter`: consecutive frames that agreed, of those that were judged since the beginning. */
    int agreed, judged;
    bool settled, restarted; /* restarted: not for the first time */
    int64_t run_n;           /* the first of the frames that agreed */
    int64_t since_n;         /* verdicts about older frames do not count */
    bool cut;                /* the next verdict that counts follows a cut */

    /* The newest verdict. */
    int64_t newest_n, newest_at, step; /* step: us from the verdict before it; 0: none */
    bool any, masked;

    struct answer answer[2];
};

struct halo_judge {
    bool live, ended;
    uint64_t *tracks; /* NULL: numbers of this process */
    halo_find_set finds;
    struct find find[HALO_FINDS];
    struct slot slot[HALO_JUDGE_FRAMES]; /* a ring */
    int first, count;
    int64_t last_us, last_at, shift; /* us: of the newest frame; at = frame's time + shift */
    int64_t last_n, frames;          /* of all frames: the newest number, and how many */
    int64_t judged_at;               /* files: us, the newest frame whose verdicts are in tracks */
};

enum {
    PATIENCE = 4,       /* counting for `enter` ends after so many times `enter` frames */
    STEP_US = 40000,    /* if times go back, the next frame is later by so much */
    BEHIND_US = 1000000 /* wait: 0: the largest age of the newest verdict's frame */
};

/* ---- frames ---- */

static struct slot *slot_at(struct halo_judge *judge, int index)
{
    return &judge->slot[(judge->first + index) % HALO_JUDGE_FRAMES];
}

static struct slot *find_slot(struct halo_judge *judge, int64_t n)
{
    for (int i = 0; i < judge->count; i++)
        if (slot_at(judge, i)->n == n)
            return slot_at(judge, i);
    return NULL;
}

static void remove_slot(struct halo_judge *judge, int index)
{
    for (int i = index; i > 0; i--)
        *slot_at(judge, i) = *slot_at(judge, i - 1);
    judge->first = (judge->first + 1) % HALO_JUDGE_FRAMES;
    judge->count--;
}

/* ---- life ---- */

static void restart_entering(struct find *find)
{
    find->restarted |= find->judged > 0;
    find->agreed = find->judged = 0;
    find->settled = false;
}

/* The same, where the next frames will not be judged: those that wait for them (`ahead`) are not
 * known. */
static void lose_next(struct halo_judge *judge, enum halo_find find)
{
    struct find *f = &judge->find[find];
    restart_entering(f);
    for (int i = 0; i < judge->count && judge->live && f->settings->ahead > 0; i++)
        slot_at(judge, i)->clear &= ~halo_find_bit(find);
}

/* `enter`: counts a judged frame, or begins again. */
static void count_judged_frame(struct find *find, int64_t n, bool agrees)
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

/* Records that a frame is sent, and fills the step. */
static void send_frame(struct halo_judge *judge, struct slot *slot, halo_find_set to, int64_t now,
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
        restart_entering(find); /* a silence */
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

/* Fills the step with the oldest frame, passed or hidden, and removes it. */
static void pass_oldest(struct halo_judge *judge, struct halo_judge_step *ret)
{
    const struct slot *slot = slot_at(judge, 0);
    for (int f = 0; f < HALO_FINDS; f++)
        if (judge->finds & halo_find_bit(f))
            pass_find(judge, slot, f, ret);
    ret->what = ret->known ? HALO_JUDGE_PASS : HALO_JUDGE_HIDE;
    ret->n = slot->n;
    remove_slot(judge, 0);
}

/* ---- files ---- */

/* What is next in a file (judge.h). Verdicts enter the tracks in the order of frames, one frame at
 * a time, and before each of them all frames pass that no longer need it. So nothing depends on
 * when verdicts arrive. */

enum {
    WINDOW_US = 600000, /* between a frame and the newest judged frame when it passes */
    UNANSWERED = 2
};

static void judge_file_answer(struct halo_judge *judge, enum halo_find find, int64_t n,
                              const struct answer *boxes)
{
    struct find *f = &judge->find[find];
    const halo_find_set bit = halo_find_bit(find);
    struct slot *slot = find_slot(judge, n);
    if (!slot || !(slot->to & ~slot->answered & bit))
        return;
    slot->answered |= bit;
    slot->masked |= boxes ? 0 : bit;
    f->unanswered--;
    for (int i = 0; i < UNANSWERED && boxes; i++) {
        struct slot *other = find_slot(judge, f->answer[i].n);
        if (other && !other->judged && other->answered & ~other->masked & bit && other != slot)
            continue; /* its turn has not come yet */
        f->answer[i] = *boxes;
        break;
    }
}

/* Enters a frame's verdict about one find. */
static void judge_one(struct halo_judge *judge, struct slot *slot, enum halo_find find)
{
    struct find *f = &judge->find[find];
    const halo_find_set bit = halo_find_bit(find);
    if (slot->cut)
        restart_entering(f);
    f->cut |= slot->cut;
    if (!(slot->answered & bit) || slot->n < f->since_n) {
        restart_entering(f);
        return;
    }
    bool agrees = true;
    for (int i = 0; i < UNANSWERED && !(slot->masked & bit); i++)
        if (f->answer[i].n == slot->n) {
            agrees =
                halo_tracks_add(f->tracks, slot->at, f->cut, f->answer[i].box, f->answer[i].count);
            break;
        }
    f->cut = false;
    const bool settled = f->settled;
    count_judged_frame(f, slot->n, agrees);
    for (int i = 0; i < judge->count && f->settled; i++) {
        struct slot *other = slot_at(judge, i);
        if (other->n <= slot->n && other->n >= (settled ? slot->n : f->run_n))
            other->clear |= bit;
    }
}

/* The file has ended. If it is shorter than `enter` frames, all of them must agree. */
static void finish(struct halo_judge *judge)
{
    for (int f = 0; f < HALO_FINDS; f++) {
        const struct find *find = &judge->find[f];
        const bool all = !find->restarted && find->agreed == judge->frames;
        for (int i = 0; i < judge->count && all; i++)
            slot_at(judge, i)->clear |= halo_find_bit(f);
    }
}

/* The finds whose detectors can receive another frame. */
static halo_find_set ready_finds(const struct halo_judge *judge)
{
    halo_find_set set = 0;
    for (int f = 0; f < HALO_FINDS; f++)
        if (judge->find[f].ready && judge->find[f].unanswered < UNANSWERED)
            set |= halo_find_bit(f);
    return set & judge->finds;
}

static void judge_file_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret)
{
    for (;;) {
        int judged = 0, sent = 0;
        while (judged < judge->count && slot_at(judge, judged)->judged)
            judged++;
        while (sent < judge->count && slot_at(judge, sent)->sent)
            sent++;
        const bool all = judge->ended && judged == judge->count;
        if (all)
            finish(judge);
        if (judged && (all || judged == HALO_JUDGE_WINDOW ||
                       judge->judged_at - slot_at(judge, 0)->at >= WINDOW_US)) {
            pass_oldest(judge, ret);
            return;
        }
        const halo_find_set ready = ready_finds(judge);
        for (int i = judged; i < sent; i++) {
            struct slot *lost = slot_at(judge, i);
            if (lost->again & ready) {
                send_frame(judge, lost, lost->again & ready, now, ret);
                return;
            }
        }
        struct slot *slot = slot_at(judge, judged);
        if (judged < sent && !((slot->to | slot->again) & ~slot->answered & judge->finds)) {
            for (int f = 0; f < HALO_FINDS; f++)
                if (judge->finds & halo_find_bit(f))
                    judge_one(judge, slot, f);
            slot->judged = true;
            judge->judged_at = slot->at;
            continue;
        }
        if (sent == judge->count || sent - judged >= UNANSWERED || ready != judge->finds)
            return;
        slot = slot_at(judge, sent);
        if (ready) {
            send_frame(judge, slot, ready, now, ret);
            return;
        }
        slot->sent = true; /* no find is needed */
    }
}

/* ---- live streams ---- */

/* What is next in a live stream (judge.h). Frames are held in this order: those that have all the
 * verdicts that they will get, and wait for the frames after them (`ahead`); the one that is at the
 * detectors for whose verdicts frames wait; and the newest ones, which wait for their turn. */

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
        lose_next(judge, f);
    }
}

static bool is_gap(const struct find *find, int64_t at)
{
    const int64_t step = at - find->newest_at;
    return find->any && step > GAP_US && (!find->step || step > GAP_STEPS * find->step);
}

static void judge_live_answer(struct halo_judge *judge, enum halo_find find, int64_t n,
                              const struct answer *boxes, int64_t now)
{
    struct find *f = &judge->find[find];
    const halo_find_set bit = halo_find_bit(find);
    struct slot *slot = find_slot(judge, n);
    mark_silent(judge, now);
    if (!f->unanswered || f->n != n)
        return;
    const bool late = f->silent, counts = n >= f->since_n && !late, cut = f->cut && n >= f->since_n;
    f->unanswered = 0;
    f->silent = false;
    if (!(judge->finds & bit))
        return;
    if (is_gap(f, f->at))
        lose_next(judge, find);
    const bool agrees = !boxes || halo_tracks_add(f->tracks, f->at, cut, boxes->box, boxes->count);
    f->cut &= !cut;
    f->step = f->any ? f->at - f->newest_at : 0;
    f->newest_n = n;
    f->newest_at = f->at;
    f->masked = !boxes;
    f->any = true;
    if (counts)
        count_judged_frame(f, n, agrees);
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
    ret->n = slot_at(judge, index)->n;
    remove_slot(judge, index);
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
        const struct slot *slot = slot_at(judge, count);
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

static void judge_live_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret)
{
    mark_silent(judge, now);
    for (;;) {
        const int judged = count_judged(judge), waiting = judge->count - judged;
        if (judged && (judged >= HALO_JUDGE_WINDOW || (judge->ended && !waiting) ||
                       is_seen_ahead(judge, slot_at(judge, 0)))) {
            pass_oldest(judge, ret);
            return;
        }
        if (!waiting)
            return;
        struct slot *oldest = slot_at(judge, judged), *newest = slot_at(judge, judge->count - 1);
        const halo_find_set pending = awaited(judge, oldest);
        const halo_find_set now_to = can_receive(judge, true), behind = can_receive(judge, false);
        if (pending && waiting > 1 + WAITING)
            drop(judge, judged + 1, ret);
        else if (pending)
            wait_for(judge, pending, ret);
        else if (now_to && oldest != newest)
            drop(judge, judged, ret);
        else if (now_to)
            send_frame(judge, oldest, now_to | behind, now, ret);
        else if (behind && !newest->sent)
            send_frame(judge, newest, behind, now, ret);
        else {
            oldest->sent = true; /* no detector can receive it */
            continue;
        }
        return;
    }
}

/* ---- judge.h ---- */

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
    restart_entering(f);
    halo_tracks_reset(f->tracks);
    f->any = f->cut = false;
    f->since_n = judge->last_n == INT64_MIN ? INT64_MIN : judge->last_n + 1;
    for (int i = 0; i < judge->count; i++)
        slot_at(judge, i)->clear &= ~halo_find_bit(find);
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
    *slot_at(judge, judge->count++) = (struct slot){.n = n, .at = at, .cut = back};
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
        lose_next(judge, find);
    for (int i = 0; i < judge->count; i++) {
        struct slot *slot = slot_at(judge, i);
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
        struct slot *slot = slot_at(judge, i);
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
        judge_live_answer(judge, find, n, &answer, now);
    else
        judge_file_answer(judge, find, n, &answer);
}

void halo_judge_mask(struct halo_judge *judge, enum halo_find find, int64_t n, int64_t now)
{
    if (judge->live)
        judge_live_answer(judge, find, n, NULL, now);
    else
        judge_file_answer(judge, find, n, NULL);
}

void halo_judge_cut(struct halo_judge *judge, int64_t n)
{
    struct slot *slot = find_slot(judge, n);
    if (slot)
        slot->cut = true;
    for (int f = 0; f < HALO_FINDS && judge->live; f++) {
        restart_entering(&judge->find[f]);
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

void halo_judge_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret)
{
    *ret = (struct halo_judge_step){.what = HALO_JUDGE_WAIT, .time = INT64_MAX};
    if (judge->live)
        judge_live_next(judge, now, ret);
    else
        judge_file_next(judge, now, ret);
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
