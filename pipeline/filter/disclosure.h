/* SPDX-License-Identifier: BSD-2-Clause
 * What a chain leaves of what its regions hide: nothing, a number of bits for each object, or more
 * than can be bounded. docs/anonymisation.md says what such a bound is worth.
 *
 * A region is bounded if hide or solid covers it on every plane, and if nothing else runs before
 * them: a blur, for example, would carry what is in the region past its edge, where it stays
 * visible. What runs after them only sees what they left. All functions may be called on any
 * thread. */
#ifndef HALO_DISCLOSURE_H
#define HALO_DISCLOSURE_H

#include <stdio.h>

#include "pipeline/filter/filter.h"

enum halo_disclosure_kind {
    HALO_DISCLOSURE_NOTHING,
    HALO_DISCLOSURE_BITS, /* at most `bits` for each track */
    HALO_DISCLOSURE_MORE, /* no bound is known */
};

struct halo_disclosure {
    enum halo_disclosure_kind kind;
    int filter;  /* number of the region's first filter; negative: the whole frame */
    double bits; /* BITS: of frames with three channels */
    char where[100], words[400];
};

/* Fills ret, which has HALO_MAX_FILTERS elements, with what the chain leaves of each of its
 * regions; of the whole frame, if it has none. Returns the number of elements, which is at
 * least 1. */
int halo_chain_disclosure(const struct halo_chain *chain, struct halo_disclosure *ret);

/* Parses a chain, and prints a line for each of its regions, which begins with `prefix`. Returns 1
 * if all regions are bounded, otherwise 0; or -errno with err filled if the text is not a chain. */
int halo_disclosure_print(const char *text, const char *prefix, FILE *to, struct halo_error *err);

#endif
