/* SPDX-License-Identifier: BSD-2-Clause
 * A histogram of times in fixed memory: buckets grow with the value, and none is wider than 3.2 %
 * of it. One thread at a time. */
#ifndef HALO_HISTOGRAM_H
#define HALO_HISTOGRAM_H

#include <stdint.h>

enum {
    HALO_HISTOGRAM_BITS = 5, /* the number of bits after a value's leading 1 that select its
                                bucket */
    HALO_HISTOGRAM_MAX = 42, /* maximum number of bits in a value (2^42 ns are more than an hour);
                                larger values are clipped */
    HALO_HISTOGRAM_EDGES = 20,
    HALO_HISTOGRAM_FIRST_EDGE = 14, /* the first edge is at 2^14 ns (16 us), the last one at 8.6
                                       s */
    HALO_HISTOGRAM_BUCKETS = (HALO_HISTOGRAM_MAX - HALO_HISTOGRAM_BITS + 1) << HALO_HISTOGRAM_BITS,
};

/* A histogram, which is empty if all of its bytes are 0. */
struct halo_histogram {
    int64_t count, sum, least, most; /* exact */
    int64_t bucket[HALO_HISTOGRAM_BUCKETS];
};

/* Adds a value. Negative values count as 0, and values with more than HALO_HISTOGRAM_MAX bits count
 * as the largest value with HALO_HISTOGRAM_MAX bits. */
void halo_histogram_add(struct halo_histogram *h, int64_t value);

/* Returns the largest value that counts as below edge i. No bucket extends across an edge. */
static inline int64_t halo_histogram_edge(int i)
{
    return (INT64_C(1) << (HALO_HISTOGRAM_FIRST_EDGE + i)) - 1;
}

/* Sets ret[i], for each edge i, to the exact number of values that are not above this edge. */
void halo_histogram_below(const struct halo_histogram *h, int64_t ret[HALO_HISTOGRAM_EDGES]);

/* Returns a percentile: the value at or below which the fraction `share` (0 .. 1) of all values
 * lies. The result is accurate to within half the width of a bucket. Returns 0 if the histogram is
 * empty. */
int64_t halo_histogram_percentile(const struct halo_histogram *h, double share);

#endif
