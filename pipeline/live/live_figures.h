/* SPDX-License-Identifier: BSD-2-Clause
 * The figures of a live stream: its counters and times, the rate at which pictures leave the gate,
 * and the shortages of its machine.
 *
 * Owner: none; every thread of the stream adds to them, the loop reads them. They have a lock of
 * their own, known to live_figures.c alone. It may be taken under any other lock; no lock is taken
 * and no event is sent under it. */
#ifndef HALO_LIVE_FIGURES_H
#define HALO_LIVE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/live/live.h"

/* What is only counted; the first ones are fields of halo_live_stats. */
enum halo_count {
    HALO_COUNT_DECODED,
    HALO_COUNT_OPENED,
    HALO_COUNT_CAPTURE_FAILURES, /* these: of halo_live_capture */
    HALO_COUNT_CAPTURE_MISSED,
    HALO_COUNT_CAPTURE_LATE,
    HALO_COUNT_CAPTURE_DAMAGED,
    HALO_COUNT_SLIPPED, /* seconds that decoding was behind the clock, each time that it was */
    HALO_COUNTS,
};

struct halo_live_figures;

struct halo_live_figures *halo_live_figures_create(void);    /* NULL: out of memory */
void halo_live_figures_destroy(struct halo_live_figures *f); /* NULL is nothing to do */
void halo_live_count(struct halo_live_figures *f, enum halo_count what, int64_t by);
void halo_live_drop(struct halo_live_figures *f, enum halo_drop why, int64_t count);
void halo_live_time(struct halo_live_figures *f, enum halo_live_stage stage, int64_t ns);
void halo_live_note_degraded(struct halo_live_figures *f, enum halo_degradation degradation,
                             const char *why);

/* A picture has left the gate whose chains, so many, cover so much. */
void halo_live_count_left(struct halo_live_figures *f, int64_t epoch,
                          const struct halo_coverage *const *coverage, int chains);
/* Of an encoding, by its number: pictures that it was too slow for; one that it took; a packet of
 * its pictures, of its sound, or a card. */
void halo_live_count_late(struct halo_live_figures *f, int encoding, int64_t pictures);
void halo_live_count_made(struct halo_live_figures *f, int encoding);
void halo_live_count_packet(struct halo_live_figures *f, int64_t bytes, bool sound, bool card);
/* Why software encodes in the GPU's place; "": it does not. no_session: for that reason. */
void halo_live_note_instead(struct halo_live_figures *f, int encoding, const char *why,
                            bool no_session);
/* What was agreed on with the camera: format, width, height and rate of it. */
void halo_live_note_capture(struct halo_live_figures *f,
                            const struct halo_live_capture *capture_mode);

/* The figures as they are, and whether the stream keeps up; runs: which encodings have a receiver.
 * Fields of halo_live_stats that other parts know stay 0. */
void halo_live_figures_read(struct halo_live_figures *f, const bool *runs, int encodings,
                            struct halo_live_stats *ret);

#endif
