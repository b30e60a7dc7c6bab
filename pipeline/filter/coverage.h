/* SPDX-License-Identifier: BSD-2-Clause
 * Coverage: the fraction of each plane's samples that a chain hides, whatever the frames show. A
 * sample counts as hidden if the filters that apply to it leave as little detail as privacy: strict
 * requires (privacy.h), and apply with full weight, unlike in a feather. */
#ifndef HALO_COVERAGE_H
#define HALO_COVERAGE_H

#include "pipeline/filter/privacy.h"

enum { HALO_COVERAGE_WORDS = 200 };

struct halo_coverage {
    bool known; /* false: the coverage depends on the frame size or on a mask image that has not
                   been read yet */
    bool feed;  /* the coverage depends on a region feed or on detectors, so no element of `part` is
                   known */
    int planes; /* luma first */
    double part[HALO_MAX_PLANES]; /* 0 .. 1 */
};

/* Returns the region of filter f, drawn for plane p, or NULL if the filter applies everywhere. */
typedef const struct halo_region *halo_coverage_region(void *arg, int f, int p);

/* Computes the coverage of a planned chain, and calls `region` to get the chain's drawn regions. If
 * the regions have not been drawn yet, `region` is NULL, and the coverage is known only if the
 * filters without a region hide every plane. Returns 0, or -ENOMEM with err filled. */
int halo_coverage_find(struct halo_coverage *ret, const struct halo_planned_chain *planned,
                       halo_coverage_region *region, struct halo_error *err);

/* Computes the coverage from the chain alone, for frames of width x height, or for frames of any
 * size if width or height is 0. Returns 0, or -ENOMEM with err filled. */
int halo_coverage_guess(struct halo_coverage *ret, const struct halo_chain *chain, int width,
                        int height, struct halo_error *err);

/* Checks that the chain hides at least the fraction `least` of every plane. Returns 0, or -EINVAL
 * with a message for the user in err. Also returns 0 if the coverage is not known or depends on a
 * region feed or on detectors. */
int halo_coverage_check(const struct halo_coverage *coverage, double least, struct halo_error *err);

/* Describes the coverage in words: "12.5 % of luma, 13 % of plane 1". */
void halo_coverage_words(const struct halo_coverage *coverage, char *ret, size_t size);

#endif
