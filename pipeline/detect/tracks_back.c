/* SPDX-License-Identifier: BSD-2-Clause
 * What frames in the window hide of tracks that were found only after them (tracks_private.h). */
#include <math.h>

#include "pipeline/detect/tracks_private.h"

struct frame *halo_tracks_frame(struct halo_tracks *tracks, int index)
{
    return &tracks->frame[(tracks->first + index) % tracks->window];
}

static void remove_marks(struct frame *frame, uint64_t track, enum mark_kind kind, int64_t of)
{
    int kept = 0;
    for (int i = 0; i < frame->marks; i++)
        if (frame->mark[i].track != track || frame->mark[i].kind != kind || frame->mark[i].of != of)
            frame->mark[kept++] = frame->mark[i];
    frame->marks = kept;
}

/* The box of the frame that is nearest to where the track may be then, or NULL: none is near. */
static const struct sight *box_near(const struct frame *frame, struct halo_box expected,
                                    struct halo_box anchor, double seconds)
{
    const struct sight *best = NULL;
    double least = halo_near_after(seconds);
    for (int i = 0; i < frame->boxes; i++) {
        const double d = fmin(halo_box_distance(expected, frame->box[i].box),
                              halo_box_distance(anchor, frame->box[i].box));
        if (d < least) {
            least = d;
            best = &frame->box[i];
        }
    }
    return best;
}

void halo_track_back(struct halo_tracks *tracks, const struct track *track)
{
    struct sight anchor = track->first;
    const struct speed speed = halo_track_speed(track);
    int i = tracks->frames - 1;
    while (i >= 0 && halo_tracks_frame(tracks, i)->at >= track->first.at)
        i--;
    for (; i >= 0 && !halo_tracks_frame(tracks, i + 1)->cut; i--) {
        struct frame *frame = halo_tracks_frame(tracks, i);
        const double seconds = (double)(frame->at - anchor.at) / 1e6;
        const struct halo_box expected = halo_box_after(anchor.box, &speed, seconds);
        const struct sight *box = box_near(frame, expected, anchor.box, seconds);
        remove_marks(frame, track->id, MARK_BACK, track->first.at);
        if (box)
            anchor = *box;
        else if (frame->at < anchor.at - BACK_US)
            continue; /* an earlier call may have led further back */
        halo_mark_put(frame,
                      &(struct mark){.track = track->id,
                                     .kind = MARK_BACK,
                                     .of = track->first.at,
                                     .from = anchor.box,
                                     .to = box ? box->box : expected,
                                     .growth = box ? 0 : halo_growth_after(&speed, seconds)});
    }
}

static double between(double a, double b, double part)
{
    return a + (b - a) * part;
}

void halo_track_between(struct halo_tracks *tracks, const struct track *track,
                        const struct sight *last)
{
    const struct sight *now = &track->sight[track->sights - 1];
    const struct speed speed = halo_track_speed(track);
    for (int i = tracks->frames - 2; i >= 0 && halo_tracks_frame(tracks, i)->at > last->at; i--) {
        struct frame *frame = halo_tracks_frame(tracks, i);
        const double part = (double)(frame->at - last->at) / (double)(now->at - last->at);
        const double seconds =
            (double)(frame->at - last->at < now->at - frame->at ? frame->at - last->at
                                                                : now->at - frame->at) /
            1e6;
        const struct halo_box a = last->box, b = now->box;
        const struct halo_box box = {between(a.x0, b.x0, part), between(a.y0, b.y0, part),
                                     between(a.x1, b.x1, part), between(a.y1, b.y1, part)};
        remove_marks(frame, track->id, MARK_HELD, 0);
        halo_mark_put(frame, &(struct mark){.track = track->id,
                                            .kind = MARK_BETWEEN,
                                            .from = box,
                                            .to = box,
                                            .growth = halo_growth_after(&speed, seconds)});
    }
}
