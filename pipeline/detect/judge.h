/* SPDX-License-Identifier: BSD-2-Clause
 * The judge of one stream decides what happens to each of its frames: whether detectors receive it,
 * whether it passes, and with which shapes, or whether it is hidden entirely or dropped. It is a
 * state machine without clock, thread or frames: the caller reports events with their times, and
 * carries out what halo_judge_next() answers.
 *
 *   frame ──► arrive() ──► SEND ──► detectors ──► boxes(), mask() ──► PASS, HIDE or DROP
 *
 * Live streams:
 *
 *   own        A frame waits for the verdict about itself. The next frame is sent when the previous
 *              one was judged by all finds (the slowest decides), and it is always the newest;
 *              frames that were passed over are dropped.
 *   silence    If a verdict takes longer than `wait`, the detector is silent: all waiting frames
 *              and all following ones are hidden at once, until it judges a frame in time again.
 *   gone       Frames do not wait for a find whose detector is not ready; they are hidden.
 *   enter      At the beginning, and after a cut, a silence, a detector that was gone, or a gap
 *              in the frames' times, everything is hidden until `enter` consecutive judged frames
 *              agree. A frame agrees unless a track begins in it (tracks.h): a face that the
 *              frames before did not show proves that they were not judged well enough, and
 *              counting starts again with that frame. A detector that sees things that do not exist
 *              would hide everything forever, so counting ends after 4 x `enter` judged frames in
 *              any case; by then everything found is on a track, and is hidden. Frames that masks
 *              answer always agree. The frame that completes the count is shown.
 *   ahead      If it is not 0, a frame that was judged waits until a frame that is later by so much
 *              was judged, too (or HALO_JUDGE_WINDOW frames), and gets shapes from the frames in
 *              between. If these are not judged, because the detector is silent or gone, or because
 *              of a gap, it is hidden. Answers by masks have no tracks, so they do not wait; and no
 *              frame waits if a find that is needed has `wait: 0`.
 *   wait: 0    Frames do not wait for this find. They pass at once with the shapes of the newest
 *              verdict, moved and grown as after an omission (tracks.h), or with the newest mask;
 *              and are hidden if that verdict's frame is older by more than a second.
 *
 * Files (`live` is false):
 *
 *   Every frame is sent, at most two are unanswered, and no time but the frames' own counts, so the
 *   same verdicts always give the same shapes. If a detector is lost, frames wait for another one,
 *   which is sent what the first did not answer. A frame passes when a frame that is 0.6 s later
 *   was judged (or HALO_JUDGE_WINDOW frames, or all), and until then it gets shapes from the frames
 *   after it. `enter` is applied backwards as well: the frames that complete the count are all
 *   shown, not only the last of them; so a first frame is shown if the frames after it agree. What
 *   disagrees, and a scene that is shorter than `enter` frames, is hidden entirely; a file that
 *   is shorter is shown if all of its frames agree.
 *
 * Each find is judged by itself: a frame passes with those finds that are known (`known` below),
 * and filters of other finds hide all of it.
 *
 * One thread at a time. Nothing allocates memory except create() and finds(). `now` is in ns of any
 * clock that does not go back, frames' times in us. */
#ifndef HALO_JUDGE_H
#define HALO_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/detectors.h"
#include "pipeline/region/verdict.h"

enum {
    HALO_JUDGE_WINDOW = 128, /* maximum number of judged frames that have not passed */
    HALO_JUDGE_FRAMES = HALO_JUDGE_WINDOW + 16 /* maximum number of frames that a judge holds */
};

struct halo_detect_box; /* detect_wire.h */
struct halo_judge;

struct halo_judge_settings {
    const struct halo_detector_settings *detector[HALO_FINDS]; /* of all finds that may be needed;
                                                                * must exist as long as the judge */
    halo_find_set finds;                                       /* those that are needed now */
    bool live;
    uint64_t *tracks; /* halo_tracks_number() */
};

int halo_judge_create(struct halo_judge **ret, const struct halo_judge_settings *settings);
void halo_judge_destroy(struct halo_judge *judge); /* NULL is ignored */

/* ---- events. After each of them, and when the time of WAIT has come, call halo_judge_next() until
 * it returns WAIT. ---- */

/* A frame arrived. n must increase. Times that go back count as a cut. Returns 0; or -ENOBUFS, and
 * the caller must drop the frame (live) or should have asked halo_judge_has_room() (files). */
int halo_judge_arrive(struct halo_judge *judge, int64_t n, int64_t frame_us, int64_t now);
/* Whether a frame may arrive: always in live streams; in files, only if fewer than two frames wait
 * to be sent. */
bool halo_judge_has_room(const struct halo_judge *judge);

/* A find's detector is ready for frames; or it is not any more (it ended, or broke the contract),
 * and unanswered frames count as never sent to it (files: they are sent again when it is ready); or
 * it must first answer another `hello`: in live streams, that is the same, but in files its answers
 * still count, and frames wait until it is ready. */
void halo_judge_ready(struct halo_judge *judge, enum halo_find find, int64_t now);
void halo_judge_gone(struct halo_judge *judge, enum halo_find find, int64_t now);
void halo_judge_pause(struct halo_judge *judge, enum halo_find find, int64_t now);

/* Files: the oldest frame that must be sent again to this find will not be, and is hidden. Returns
 * whether there was one. */
bool halo_judge_give_up(struct halo_judge *judge, enum halo_find find);

/* A detector's verdict about frame n. For a mask, the caller keeps the mask (`mask_n` below).
 * Verdicts about frames that the find was not sent are ignored. */
void halo_judge_boxes(struct halo_judge *judge, enum halo_find find, int64_t n,
                      const struct halo_detect_box *boxes, int count, int64_t now);
void halo_judge_mask(struct halo_judge *judge, enum halo_find find, int64_t n, int64_t now);

/* Frame n shows another scene than the frame sent before it, or is the first frame after the source
 * was opened again. Call this between SEND of the frame and the next call of halo_judge_next(). */
void halo_judge_cut(struct halo_judge *judge, int64_t n);

/* No more frames arrive. */
void halo_judge_finish(struct halo_judge *judge);

/* Other finds are needed, because the filters changed. Finds that were not needed before are as at
 * the beginning. Returns 0; or -ENOMEM, and nothing changed. */
int halo_judge_finds(struct halo_judge *judge, halo_find_set finds, int64_t now);

/* ---- answers ---- */

enum halo_judge_do {
    HALO_JUDGE_WAIT, /* nothing to do until the next event or `time` */
    HALO_JUDGE_SEND, /* send frame n to the finds `to` */
    HALO_JUDGE_PASS, /* frame n passes with a verdict about the finds `known` */
    HALO_JUDGE_HIDE, /* frame n passes without a verdict, and is hidden entirely */
    HALO_JUDGE_DROP, /* frame n is not shown; it is never sent */
};

struct halo_judge_step {
    enum halo_judge_do what;
    int64_t n;
    int64_t time;     /* WAIT: ns; INT64_MAX: only an event changes anything */
    halo_find_set to; /* SEND: not empty */

    /* PASS: what is known of each find in `known`, which is not empty. A find in `masked` was
     * answered by a mask: that of frame mask_n, which is n itself unless the find has `wait: 0`.
     * For the others, `hidden` and `shown` are for halo_verdict_set(); the shapes are valid until
     * the next call. */
    halo_find_set known, masked;
    int64_t mask_n[HALO_FINDS];
    struct halo_verdict_shapes hidden[HALO_FINDS], shown[HALO_FINDS];
};

/* Decides what to do next. Frames pass (PASS, HIDE) in order of n; each frame that arrived gets
 * exactly one of PASS, HIDE and DROP, and, before that, at most one SEND to each find (files: one
 * more whenever a detector was lost). */
void halo_judge_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret);

/* Why the find is not known now, for the stream's status: "not ready", "silent", "entering"; NULL:
 * it is known. */
const char *halo_judge_why(const struct halo_judge *judge, enum halo_find find);

#endif
