/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a part of a stream keeps up, judged over windows of ten seconds. Part of the figures
 * (live_figures.h), and under their lock. */
#ifndef HALO_LIVE_LOAD_H
#define HALO_LIVE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct halo_live_load {
    int64_t since, lost, passed; /* ns: start of the present window; both counts then */
    bool behind;
    int64_t of[2]; /* how many were lost, out of how many, in the window in which this was found */
};

/* Judges from the total counts of what was lost and what passed so far; now: ns. */
void halo_live_load_judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed);
/* The same for decoding. slipped: total of the seconds that decoding was behind the clock. */
void halo_live_load_judge_decoding(struct halo_live_load *load, int64_t now, int64_t slipped);
/* Writes the text "40 of 50 WHAT" into words, if it is behind and words is empty. */
void halo_live_load_say(const struct halo_live_load *load, const char *what, char *words,
                        size_t size);

#endif
