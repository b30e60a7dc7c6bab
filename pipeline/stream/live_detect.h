/* SPDX-License-Identifier: BSD-2-Clause
 * Detection in a live stream (pipeline/detect/detect.h): what its filters need is found in each
 * frame before the frame enters a gate.
 *
 * The filter thread owns it. The loop delivers connections and reads statistics, which is safe at
 * any time. */
#ifndef HALO_LIVE_DETECT_H
#define HALO_LIVE_DETECT_H

#include "pipeline/stream/live.h"

struct halo_detect;
struct halo_live_detect;

/* live must exist as long as the result; its settings and its listener are used, and whether it
 * drops late frames (halo_live_check() sets that). Returns 0 or
 * -ENOMEM. */
int halo_live_detect_create(struct halo_live_detect **ret, struct halo_live *live);
void halo_live_detect_destroy(struct halo_live_detect *detect); /* NULL: does nothing */

/* What judges the frames, for the stages. */
struct halo_detect *halo_live_detector(struct halo_live_detect *detect);
/* Returns how many frames detectors have passed over since the last call. Loop thread. */
int64_t halo_live_detect_dropped(struct halo_live_detect *detect);

/* Makes the filter thread notice a stop: of a file, it drops what is not judged. Any
 * thread. */
void halo_live_detect_wake(struct halo_live_detect *detect);
/* As halo_live_connect(). Any thread. */
void halo_live_detect_connect(struct halo_live_detect *detect, enum halo_find find, int fd,
                              const char *why);
/* Any thread. */
void halo_live_detect_stats(struct halo_live_detect *detect,
                            struct halo_live_detector ret[HALO_FINDS]);
/* Writes why most frames of the last seconds were hidden completely, if the reason is that a
 * detector is too slow; otherwise writes "". Call it regularly, from one thread. */
void halo_live_detect_load(struct halo_live_detect *detect, int64_t now, char *words, size_t size);

#endif
