/* SPDX-License-Identifier: BSD-2-Clause
 * What is next in a file (judge.h). Verdicts enter the tracks in the order of frames, one frame at
 * a time, and before each of them all frames pass that no longer need it. So nothing depends on
 * when verdicts arrive. */
#include "pipeline/detect/judge_private.h"

enum {
    WINDOW_US = 600000, /* between a frame and the newest judged frame when it passes */
    UNANSWERED = 2
};

void halo_judge_file_answer(struct halo_judge *judge, enum halo_find find, int64_t n,
                            const struct answer *boxes)
{
    struct find *f = &judge->find[find];
    const halo_find_set bit = halo_find_bit(find);
    struct slot *slot = halo_judge_find_slot(judge, n);
    if (!slot || !(slot->to & ~slot->answered & bit))
        return;
    slot->answered |= bit;
    slot->masked |= boxes ? 0 : bit;
    f->unanswered--;
    for (int i = 0; i < UNANSWERED && boxes; i++) {
        struct slot *other = halo_judge_find_slot(judge, f->answer[i].n);
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
        halo_judge_restart(f);
    f->cut |= slot->cut;
    if (!(slot->answered & bit) || slot->n < f->since_n) {
        halo_judge_restart(f);
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
    halo_judge_count(f, slot->n, agrees);
    for (int i = 0; i < judge->count && f->settled; i++) {
        struct slot *other = halo_judge_slot(judge, i);
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
            halo_judge_slot(judge, i)->clear |= halo_find_bit(f);
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

void halo_judge_file_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret)
{
    for (;;) {
        int judged = 0, sent = 0;
        while (judged < judge->count && halo_judge_slot(judge, judged)->judged)
            judged++;
        while (sent < judge->count && halo_judge_slot(judge, sent)->sent)
            sent++;
        const bool all = judge->ended && judged == judge->count;
        if (all)
            finish(judge);
        if (judged && (all || judged == HALO_JUDGE_WINDOW ||
                       judge->judged_at - halo_judge_slot(judge, 0)->at >= WINDOW_US)) {
            halo_judge_pass(judge, ret);
            return;
        }
        const halo_find_set ready = ready_finds(judge);
        for (int i = judged; i < sent; i++) {
            struct slot *lost = halo_judge_slot(judge, i);
            if (lost->again & ready) {
                halo_judge_send(judge, lost, lost->again & ready, now, ret);
                return;
            }
        }
        struct slot *slot = halo_judge_slot(judge, judged);
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
        slot = halo_judge_slot(judge, sent);
        if (ready) {
            halo_judge_send(judge, slot, ready, now, ret);
            return;
        }
        slot->sent = true; /* no find is needed */
    }
}
