/* SPDX-License-Identifier: BSD-2-Clause
 * Whether something keeps up, judged over windows of ten seconds. Part of the
 * figures (live_figures.h), and under their lock. */
#ifndef HALO_LIVE_LOAD_H
#define HALO_LIVE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct halo_live_load {
    int64_t since, lost, passed; /* when the present window began, and the counts then; ns */
    bool behind;
    int64_t of[2]; /* lost, of all, in the window that says so */
};

/* Counts so far of what was lost and what passed; now: ns. */
void halo_live_load_judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed);
/* Likewise of decoding, from the seconds that it was behind the clock so far. */
void halo_live_load_judge_decoding(struct halo_live_load *load, int64_t now, int64_t slipped);
/* "40 of 50 `what`" into words, if it is behind and they are empty. */
void halo_live_load_say(const struct halo_live_load *load, const char *what, char *words,
                        size_t size);

#endif
