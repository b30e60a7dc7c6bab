/* SPDX-License-Identifier: BSD-2-Clause
 * Cuts (cuts.h). Two thumbnails are compared at every small shift, so that a moving camera is not
 * a cut, and relative to their mean values, so that a change of the light is not one. The best
 * match must be far from perfect: the remaining difference is measured in units of the thumbnails'
 * own contrast. For two unrelated frames it is about 1.4; for the same scene it is small. */
#include "pipeline/detect/cuts.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHIFT_X = 6,
    SHIFT_Y = 3,
    CUT_PERCENT = 80, /* of the larger contrast */
    LEAST_LEVELS = 6, /* mean difference below which noise in the dark may be all there is */
};

static int mean_of(const uint8_t *samples)
{
    int sum = 0;
    for (int i = 0; i < HALO_CUT_BYTES; i++)
        sum += samples[i];
    return (sum + HALO_CUT_BYTES / 2) / HALO_CUT_BYTES;
}

/* 16 times the mean deviation from the mean. */
static int contrast_of(const uint8_t *samples, int mean)
{
    int sum = 0;
    for (int i = 0; i < HALO_CUT_BYTES; i++)
        sum += abs(samples[i] - mean);
    return 16 * sum / HALO_CUT_BYTES;
}

/* 16 times the mean difference of a and b + offset, shifted by dx, dy, in the part that both
 * show. */
static int difference_of(const uint8_t *a, const uint8_t *b, int offset, int dx, int dy)
{
    const int width = HALO_CUT_WIDTH - abs(dx), height = HALO_CUT_HEIGHT - abs(dy);
    a += (dy > 0 ? dy : 0) * HALO_CUT_WIDTH + (dx > 0 ? dx : 0);
    b += (dy < 0 ? -dy : 0) * HALO_CUT_WIDTH + (dx < 0 ? -dx : 0);
    int sum = 0;
    for (int y = 0; y < height; y++, a += HALO_CUT_WIDTH, b += HALO_CUT_WIDTH)
        for (int x = 0; x < width; x++)
            sum += abs(a[x] - b[x] - offset);
    return 16 * sum / (width * height);
}

static bool differ(const uint8_t *a, const uint8_t *b)
{
    const int mean_a = mean_of(a), mean_b = mean_of(b);
    const int contrast_a = contrast_of(a, mean_a), contrast_b = contrast_of(b, mean_b);
    const int larger = contrast_a > contrast_b ? contrast_a : contrast_b;
    const int part = larger * CUT_PERCENT / 100, floor = 16 * LEAST_LEVELS;
    const int limit = part > floor ? part : floor;
    if (difference_of(a, b, mean_a - mean_b, 0, 0) <= limit)
        return false;
    for (int dy = -SHIFT_Y; dy <= SHIFT_Y; dy++)
        for (int dx = -SHIFT_X; dx <= SHIFT_X; dx++)
            if (difference_of(a, b, mean_a - mean_b, dx, dy) <= limit)
                return false;
    return true;
}

bool halo_cuts_is_cut(struct halo_cuts *cuts, const uint8_t thumbnail[HALO_CUT_BYTES])
{
    const bool is_cut = !cuts->seen || differ(cuts->before, thumbnail);
    memcpy(cuts->before, thumbnail, sizeof cuts->before);
    cuts->seen = true;
    return is_cut;
}
