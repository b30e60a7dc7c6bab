/* SPDX-License-Identifier: BSD-2-Clause
 * Finds whether a part of a stream keeps up, over windows of ten seconds. This is a part of the
 * statistics (live_figures.h), and guarded by their lock. */
#ifndef HALO_LIVE_LOAD_H
#define HALO_LIVE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct halo_live_load {
    /* since: start of the current window in ns; lost, passed: the running totals at that time */
    int64_t since, lost, passed;
    bool behind;
    /* figures of the most recent window that made `behind` true: of[0] frames out of of[1] were
     * lost. For decoding, both are seconds instead of frames. */
    int64_t of[2];
};

/* Updates load->behind. `lost` and `passed` are the total counts so far. `now` is in ns. */
void halo_live_load_judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed);
/* Updates load->behind for decoding. `slipped` is the total time, in seconds, by which decoding
 * fell behind the clock so far. `now` is in ns. */
void halo_live_load_judge_decoding(struct halo_live_load *load, int64_t now, int64_t slipped);
/* If load->behind is true and `words` is empty, writes text such as "40 of 50 WHAT" into
 * `words`. */
void halo_live_load_say(const struct halo_live_load *load, const char *what, char *words,
                        size_t size);

#endif
