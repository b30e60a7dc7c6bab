/* SPDX-License-Identifier: BSD-2-Clause
 * A histogram of times in fixed memory: buckets that grow with the value, none wider than 3.2 % of
 * it. One thread at a time. */
#ifndef HALO_HISTOGRAM_H
#define HALO_HISTOGRAM_H

#include <stdint.h>

enum {
    HALO_HISTOGRAM_BITS = 5, /* of a value that its bucket keeps, below the first */
    HALO_HISTOGRAM_MAX = 42, /* bits of a value: in ns more than an hour; larger ones are cut */
    HALO_HISTOGRAM_EDGES = 20,
    HALO_HISTOGRAM_FIRST_EDGE = 14, /* bits: in ns 16 us; the last one is 8.6 s */
    HALO_HISTOGRAM_BUCKETS = (HALO_HISTOGRAM_MAX - HALO_HISTOGRAM_BITS + 1) << HALO_HISTOGRAM_BITS,
};

/* All zero is empty. */
struct halo_histogram {
    int64_t count, sum, least, most; /* exact */
    int64_t bucket[HALO_HISTOGRAM_BUCKETS];
};

/* Negative values count as 0, too large ones as the largest that is known. */
void halo_histogram_add(struct halo_histogram *h, int64_t value);

/* The largest value that counts as below edge i: all buckets end there or before, or begin after
 * it. */
static inline int64_t halo_histogram_edge(int i)
{
    return (INT64_C(1) << (HALO_HISTOGRAM_FIRST_EDGE + i)) - 1;
}

/* How many values are not above each edge; exact. */
void halo_histogram_below(const struct halo_histogram *h, int64_t ret[HALO_HISTOGRAM_EDGES]);

/* The value that `share` (0 .. 1) of all are not above, to half a bucket; 0 where there are
 * none. */
int64_t halo_histogram_percentile(const struct halo_histogram *h, double share);

#endif
