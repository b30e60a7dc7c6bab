/* SPDX-License-Identifier: BSD-2-Clause
 * The mean of what is not filtered (gate_means.h). */
#include "pipeline/gate/gate_means.h"

#include <libavutil/mem.h>
#include <string.h>

#include "kernels/region.h"

enum { CHANNELS = 2 };

struct rows {
    uint8_t *changed, *weights; /* of the pixels of a row */
    uint64_t sum[CHANNELS], count;
};

static void add_row(struct rows *rows, const struct halo_plane *plane,
                    const struct halo_step *steps, int count, int y)
{
    memset(rows->changed, 0, (size_t)plane->width);
    for (int s = 0; s < count; s++) {
        halo_region_row(steps[s].region, y, plane->width, rows->weights);
        for (int x = 0; x < plane->width; x++)
            rows->changed[x] |= rows->weights[x];
    }
    for (int x = 0; x < plane->width; x++) {
        if (rows->changed[x])
            continue;
        for (int ch = 0; ch < plane->channels; ch++)
            rows->sum[ch] += (uint64_t)halo_sample_at(plane, x * plane->channels + ch, y);
        rows->count++;
    }
}

bool halo_gate_mean(const struct halo_plane *plane, const struct halo_step *steps, int count,
                    int32_t ret[2])
{
    for (int s = 0; s < count; s++)
        if (!steps[s].region)
            return false;
    struct rows rows = {.changed = av_malloc(2 * (size_t)plane->width)};
    if (!rows.changed)
        return false;
    rows.weights = rows.changed + plane->width;
    for (int y = 0; y < plane->height; y += HALO_MEAN_ROWS)
        add_row(&rows, plane, steps, count, y);
    av_free(rows.changed);
    for (int ch = 0; ch < plane->channels && rows.count; ch++)
        ret[ch] = (int32_t)((2 * rows.sum[ch] + rows.count) / (2 * rows.count));
    return rows.count > 0;
}
