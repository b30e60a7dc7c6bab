/* SPDX-License-Identifier: BSD-2-Clause
 * Replay: the verdicts of a file's frames from what detectors answered earlier (detections.h), in
 * place of detectors. A judge (judge.h) gets the answers for all frames from the first one on, so
 * its verdicts are those of a run that was not cut into segments.
 *
 * One thread at a time; nothing blocks. */
#ifndef HALO_REPLAY_H
#define HALO_REPLAY_H

#include "config/base/error.h"
#include "pipeline/detect/detections.h"
#include "pipeline/detect/judge.h"

struct halo_replay;

struct halo_replay_settings {
    const struct halo_detections *detections;      /* of all segments */
    const struct halo_detector_settings *detector; /* [HALO_FINDS] */
    int64_t from, count; /* the first frame that is needed, and how many */
};

/* *settings is copied; what it points to must outlive *ret, which the caller owns. Returns 0 or
 * -ENOMEM. */
int halo_replay_create(struct halo_replay **ret, const struct halo_replay_settings *settings);
void halo_replay_destroy(struct halo_replay *replay); /* NULL is ignored */

/* Decides about the next frame, which has this time. *ret is PASS or HIDE, and valid until the next
 * call. Returns 0; or -ESTALE, with err filled, if this is not the frame that was judged: then
 * nothing is known about it. */
int halo_replay_next(struct halo_replay *replay, int64_t pts, const struct halo_judge_step **ret,
                     struct halo_error *err);

/* Checks that all frames have come. Returns 0, or -ESTALE with err filled. */
int halo_replay_end(const struct halo_replay *replay, struct halo_error *err);

/* The number of the newest frame, from 0 in the whole file. */
int64_t halo_replay_frame(const struct halo_replay *replay);

#endif
