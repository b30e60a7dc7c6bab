/* SPDX-License-Identifier: BSD-2-Clause
 * How much of each plane a chain hides: the part of its samples, whatever the pictures show. A
 * sample counts where the filters that apply there leave as little detail as privacy: strict wants
 * (privacy.h) and apply in full, not as in a feather. */
#ifndef HALO_COVERAGE_H
#define HALO_COVERAGE_H

#include "pipeline/filter/privacy.h"

enum { HALO_COVERAGE_WORDS = 200 };

struct halo_coverage {
    bool known; /* else it depends on pictures that nobody has seen, or on a mask to be read */
    bool feed;  /* it depends on what a detector tells, too, so that there are no numbers */
    int planes; /* luma first */
    double part[HALO_MAX_PLANES]; /* 0 .. 1 */
};

/* Of a chain whose regions are drawn, on planes of these sizes: those of NULL are everywhere. 0, or
 * -ENOMEM with err filled. */
typedef const struct halo_region *halo_coverage_region(void *arg, int f, int p);
int halo_coverage_find(struct halo_coverage *ret, const struct halo_planned_chain *planned,
                       halo_coverage_region *region, struct halo_error *err);

/* Of a chain alone, for pictures of width x height, or with 0 of any size. 0, -ENOMEM. */
int halo_coverage_guess(struct halo_coverage *ret, const struct halo_chain *chain, int width,
                        int height, struct halo_error *err);

/* 0, or -EINVAL in words for the user where a plane has less than least; what is not known, or a
 * feed's, is not refused. */
int halo_coverage_check(const struct halo_coverage *coverage, double least, struct halo_error *err);

/* "12.5 % of luma, 13 % of chroma". */
void halo_coverage_words(const struct halo_coverage *coverage, char *ret, size_t size);

#endif
