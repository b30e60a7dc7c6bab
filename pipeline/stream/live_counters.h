/* SPDX-License-Identifier: BSD-2-Clause
 * The statistics of a live stream: its counters and times, the rate at which frames leave the gate,
 * and the ways in which it is degraded.
 *
 * They have no single owner: every thread of the stream updates them, and the loop reads them. They
 * have their own lock, which only live_counters.c uses. It may be acquired under any other lock;
 * while it is held, no other lock is acquired and no event is sent. */
#ifndef HALO_LIVE_COUNTERS_H
#define HALO_LIVE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/stream/live.h"

/* Simple counters. Most of these counters are fields of halo_live_stats. */
enum halo_count {
    HALO_COUNT_DECODED,
    HALO_COUNT_OPENED,
    HALO_COUNT_CAPTURE_FAILURES, /* this and the next three: fields of halo_live_capture */
    HALO_COUNT_CAPTURE_MISSED,
    HALO_COUNT_CAPTURE_LATE,
    HALO_COUNT_CAPTURE_DAMAGED,
    /* seconds by which decoding fell behind the clock, summed over all delays */
    HALO_COUNT_SLIPPED,
    HALO_COUNTS,
};

/* Whether a part of a stream keeps up, judged over windows of ten seconds. */
struct halo_live_load {
    /* since: start of the current window in ns; lost, passed: the running totals at that time */
    int64_t since, lost, passed;
    bool behind;
    /* of the most recent window that made `behind` true: of[0] frames out of of[1] were lost. For
     * decoding, both are seconds instead of frames. */
    int64_t of[2];
};
/* Updates load->behind. `lost` and `passed` are the total counts so far. `now` is in ns. */
void halo_live_load_judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed);

struct halo_live_counters;

struct halo_live_counters *halo_live_counters_create(void);    /* returns NULL if out of memory */
void halo_live_counters_destroy(struct halo_live_counters *f); /* NULL: does nothing */
void halo_live_count(struct halo_live_counters *f, enum halo_count what, int64_t by);
void halo_live_drop(struct halo_live_counters *f, enum halo_drop why, int64_t count);
void halo_live_time(struct halo_live_counters *f, enum halo_live_stage stage, int64_t ns);
void halo_live_note_degraded(struct halo_live_counters *f, enum halo_degradation degradation,
                             const char *why);

/* Counts a frame that has left the gate, and records the coverage of its chains. */
void halo_live_count_left(struct halo_live_counters *f, int64_t epoch,
                          const struct halo_coverage *const *coverage, int chains);
/* Forgets the coverage unless it is that of this epoch's chains, or of later ones: no frame has
 * passed them. */
void halo_live_forget_coverage(struct halo_live_counters *f, int64_t epoch);
/* Counts what hide leaves of objects. It is valid as long as f. */
struct halo_hidden *halo_live_hidden(struct halo_live_counters *f);
/* Counts frames that were dropped because the encoding with this number was too slow. */
void halo_live_count_late(struct halo_live_counters *f, int encoding, int64_t frames);
/* Counts a frame that the encoding with this number has encoded. */
void halo_live_count_made(struct halo_live_counters *f, int encoding);
/* Counts a packet of any encoding: video, audio or a card. */
void halo_live_count_packet(struct halo_live_counters *f, int64_t bytes, bool sound, bool card);
/* Records the reason why an encoding uses a software encoder instead of the GPU's encoder. The
 * reason is empty if the encoding does not use a software encoder in place of the GPU's. no_session
 * is true if the reason is that the GPU has no free encoder session. */
void halo_live_note_instead(struct halo_live_counters *f, int encoding, const char *why,
                            bool no_session);
/* Records the mode negotiated with the camera: its format, width, height and rate. */
void halo_live_note_capture(struct halo_live_counters *f,
                            const struct halo_live_capture *capture_mode);

/* Fills *ret with the statistics and checks whether the stream keeps up. runs[i] is true if
 * encoding i has a receiver. Fields of halo_live_stats that other parts fill in are left at 0. */
void halo_live_counters_read(struct halo_live_counters *f, const bool *runs, int encodings,
                             struct halo_live_stats *ret);

#endif
