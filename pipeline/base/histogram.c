/* SPDX-License-Identifier: BSD-2-Clause
 * A histogram of times (histogram.h). Values below 2^(BITS + 1) have a bucket each; above, every
 * power of two is cut into 2^BITS buckets. */
#include "pipeline/base/histogram.h"

enum { PARTS = 1 << HALO_HISTOGRAM_BITS };

static int bucket_of(int64_t value)
{
    if (value < PARTS)
        return (int)value;
    const int shift = 63 - __builtin_clzll((unsigned long long)value) - HALO_HISTOGRAM_BITS;
    return (shift + 1) * PARTS + (int)(value >> shift) - PARTS;
}

/* The value in the middle of a bucket. */
static int64_t middle_of(int bucket)
{
    if (bucket < 2 * PARTS)
        return bucket;
    const int shift = bucket / PARTS - 1;
    const int64_t first = (int64_t)(bucket % PARTS + PARTS) << shift;
    return first + (((int64_t)1 << shift) - 1) / 2;
}

void halo_histogram_add(struct halo_histogram *h, int64_t value)
{
    const int64_t top = ((int64_t)1 << HALO_HISTOGRAM_MAX) - 1;
    value = value < 0 ? 0 : value > top ? top : value;
    h->least = h->count == 0 || value < h->least ? value : h->least;
    h->most = value > h->most ? value : h->most;
    h->count++;
    h->sum += value;
    h->bucket[bucket_of(value)]++;
}

void halo_histogram_below(const struct halo_histogram *h, int64_t ret[HALO_HISTOGRAM_EDGES])
{
    int64_t seen = 0;
    int bucket = 0;
    for (int i = 0; i < HALO_HISTOGRAM_EDGES; i++) {
        for (const int last = bucket_of(halo_histogram_edge(i)); bucket <= last; bucket++)
            seen += h->bucket[bucket];
        ret[i] = seen;
    }
}

int64_t halo_histogram_percentile(const struct halo_histogram *h, double share)
{
    if (h->count == 0)
        return 0;
    const double wanted = share * (double)h->count;
    int64_t seen = 0;
    int bucket = 0;
    while (bucket < HALO_HISTOGRAM_BUCKETS - 1) {
        seen += h->bucket[bucket];
        if (seen > 0 && (double)seen >= wanted)
            break;
        bucket++;
    }
    const int64_t value = middle_of(bucket);
    return value < h->least ? h->least : value > h->most ? h->most : value;
}
