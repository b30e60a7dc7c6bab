/* SPDX-License-Identifier: BSD-2-Clause
 * Replay (replay.h). Frame number n of the judge is frame n - 1 of the detections. */
#include "pipeline/detect/replay.h"

#include <errno.h>
#include <stdlib.h>

struct halo_replay {
    struct halo_replay_settings settings;
    struct halo_judge *judge;
    uint64_t tracks;             /* the newest track's number: the same in every process */
    int64_t arrived, next;       /* frames that the judge has, and the one that is due */
    struct halo_judge_step step; /* large, so not on the stack */
};

int halo_replay_create(struct halo_replay **ret, const struct halo_replay_settings *settings)
{
    struct halo_replay *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->settings = *settings;
    r->next = settings->from;
    struct halo_judge_settings judge = {.finds = settings->detections->finds, .tracks = &r->tracks};
    for (int find = 0; find < HALO_FINDS; find++)
        judge.detector[find] = &settings->detector[find];
    if (halo_judge_create(&r->judge, &judge) < 0) {
        free(r);
        return -ENOMEM;
    }
    for (int find = 0; find < HALO_FINDS; find++)
        if (judge.finds & halo_find_bit(find))
            halo_judge_ready(r->judge, find, 0);
    *ret = r;
    return 0;
}

void halo_replay_destroy(struct halo_replay *replay)
{
    if (!replay)
        return;
    halo_judge_destroy(replay->judge);
    free(replay);
}

/* What the detectors answered. A find that did not judge the frame is as if its detector had ended
 * before that, and had been started again. */
static void answer(struct halo_replay *r, int64_t n)
{
    const struct halo_detections *d = r->settings.detections;
    const struct halo_detections_frame *frame = &d->frame[n - 1];
    const struct halo_detect_box *box = d->box + frame->box;
    if (frame->looked && frame->cut)
        halo_judge_cut(r->judge, n);
    for (int find = 0; find < HALO_FINDS; box += frame->count[find++]) {
        if (!(d->finds & halo_find_bit(find)))
            continue;
        if (frame->answered & halo_find_bit(find)) {
            halo_judge_boxes(r->judge, find, n, box, frame->count[find], 0);
        } else {
            halo_judge_gone(r->judge, find, 0);
            while (halo_judge_give_up(r->judge, find)) /* nobody will look at it */
                ;
            halo_judge_ready(r->judge, find, 0);
        }
    }
}

/* Gives the judge another frame, or says that there is none. */
static void arrive(struct halo_replay *r)
{
    const struct halo_detections *d = r->settings.detections;
    if (r->arrived == d->frames) {
        halo_judge_finish(r->judge);
        return;
    }
    const int64_t time = d->frame[r->arrived++].time_us;
    (void)halo_judge_arrive(r->judge, r->arrived, time, 0); /* it has room: it waits */
}

/* Runs the judge until frame n passes. */
static void run(struct halo_replay *r, int64_t n)
{
    do {
        halo_judge_next(r->judge, 0, &r->step);
        if (r->step.what == HALO_JUDGE_SEND)
            answer(r, r->step.n);
        else if (r->step.what == HALO_JUDGE_WAIT)
            arrive(r);
    } while (r->step.what == HALO_JUDGE_SEND || r->step.what == HALO_JUDGE_WAIT || r->step.n < n);
}

int halo_replay_next(struct halo_replay *r, int64_t pts, const struct halo_judge_step **ret,
                     struct halo_error *err)
{
    const struct halo_detections *d = r->settings.detections;
    if (r->next == r->settings.from + r->settings.count || d->frame[r->next].pts != pts)
        return halo_fail(err, -ESTALE,
                         "frame %lld differs from the frame that detectors examined, so their "
                         "results do not apply to it",
                         (long long)r->next);
    run(r, ++r->next);
    *ret = &r->step;
    return 0;
}

int halo_replay_end(const struct halo_replay *r, struct halo_error *err)
{
    const int64_t missing = r->settings.from + r->settings.count - r->next;
    return missing ? halo_fail(
                         err, -ESTALE,
                         "the input ends %lld frames before the last frame that detectors examined",
                         (long long)missing)
                   : 0;
}

int64_t halo_replay_frame(const struct halo_replay *r)
{
    return r->next - 1;
}
