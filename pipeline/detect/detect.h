/* SPDX-License-Identifier: BSD-2-Clause
 * Detection: takes the unfiltered frames of one stream from a queue, has detectors judge them, and
 * returns them in order, each with its verdict (verdict.h), for the gate.
 *
 *   queue ─► halo_detect_get() ──────────────────► frame with its verdict ─► gate
 *                │       ▲
 *      frame made │       │ boxes or mask
 *    for detector ▼       │
 *              detector (docs/detectors.md)
 *
 * judge.h says which frames are sent, pass, are dropped or are hidden entirely. detect_calls.h says
 * how a stream gets detectors.
 *
 * The thread that calls halo_detect_get() does all the work, and calls the callbacks. Only
 * halo_detect_connect() and halo_detect_stats() may be called by other threads. */
#ifndef HALO_DETECT_H
#define HALO_DETECT_H

#include <libavutil/rational.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/detectors.h"
#include "pipeline/detect/detect_calls.h"
#include "pipeline/filter/filter.h"
#include "pipeline/gate/queue.h"

enum { HALO_DETECT_TRIES = 3 };

struct halo_detect;

struct halo_detections;
struct halo_stats;
struct halo_replay;

struct halo_detect_settings {
    const char *stream;                            /* its name, for detectors */
    const struct halo_detector_settings *detector; /* [HALO_FINDS] */
    /* Called with arg by the thread in halo_detect_get() or halo_detect_need(). `want` NULL: there
     * are no detectors. */
    const struct halo_detect_calls *calls;
    void *arg;
    AVRational time_base; /* of the frames' times */
    double rate;          /* frames per second; 0: unknown */
    /* Frames are judged as they arrive, and late ones are hidden or dropped; without a detector,
     * everything is hidden until there is one again. Otherwise every frame is judged, however long
     * that takes: if a detector is lost, frames wait for another one and are sent again. */
    bool live;
    /* For streams that are not live: waits for as long as there is no detector, and a frame at
     * which HALO_DETECT_TRIES detectors were lost is hidden. Otherwise halo_detect_get() fails. */
    bool patient;
    /* For streams that are not live: once it is not 0, no frame waits for a verdict any more, and
     * what was not judged is dropped; call halo_detect_wake() then. NULL: all are judged. */
    const atomic_int *stop;
    struct halo_stats *stats; /* where the detectors' time is recorded; NULL: nowhere */
    /* Files only. Everything that detectors answer is stored in *record, and frames end here:
     * halo_detect_get() returns no frame. NULL: frames are returned with their verdicts. */
    struct halo_detections *record;
    /* Files only. Verdicts come from here, and there are no detectors; if a frame is not the one
     * that was judged, halo_detect_get() fails. Used by the thread that calls it. NULL: there are
     * detectors. */
    struct halo_replay *replay;
};

/* The settings, and what they point to, must exist as long as the result. Returns 0 or -ENOMEM. */
int halo_detect_create(struct halo_detect **ret, const struct halo_detect_settings *settings);
/* Closes all connections. No callback is called. NULL is ignored. */
void halo_detect_destroy(struct halo_detect *detect);

/* Sets what the filters need from now on; initially nothing. Verdicts may be about less than a
 * frame's filters need; these filters then hide everything. Returns 0; or -ENOMEM, and nothing has
 * changed. */
int halo_detect_need(struct halo_detect *detect, const struct halo_chain_needs *needs);

/* Answers calls->want: fd is one end of the connection and is owned by `detect` from now on; if it
 * is negative, there is no detector for the reason `why` (one line of text). A connection that
 * nobody waits for any more is closed. Any thread. */
void halo_detect_connect(struct halo_detect *detect, enum halo_find find, int fd, const char *why);

/* Makes halo_detect_get() look at `stop`. Any thread. */
void halo_detect_wake(struct halo_detect *detect);

/* Works like halo_queue_get(), but the frames have been judged; items other than frames keep their
 * places among them. Always call it with the same queue, until HALO_ITEM_END; the next call then
 * begins again with another queue. Returns 0 or -ECANCELED as halo_queue_get() does; or, with err
 * filled, -EIO (there is no detector, and the stream is not patient), -ENOTSUP (frames of several
 * tracks), -ESTALE (`replay`), a usage error (`record` and a detector that answers with masks) or
 * -ENOMEM. */
int halo_detect_get(struct halo_detect *detect, struct halo_queue *from, struct halo_item *ret,
                    struct halo_error *err);

struct halo_detect_stats {
    bool needed;
    bool ready;      /* it answers frames */
    char name[64];   /* as the detector calls itself; "" if it was never ready */
    const char *why; /* why frames are hidden entirely now (halo_judge_why()); NULL: they are not */
    int64_t verdicts; /* received */
    int64_t starts;   /* connections that were opened */
    /* seconds from sending a frame to its verdict: the mean, and the most in the last ten to
     * twenty seconds */
    double mean, most;
};
struct halo_detect_counts {
    int64_t judged, hidden, dropped; /* frames that passed with a verdict, passed without, did not
                                        pass */
};
/* Any thread. */
void halo_detect_stats(struct halo_detect *detect, struct halo_detect_stats ret[HALO_FINDS],
                       struct halo_detect_counts *ret_counts);

#endif
