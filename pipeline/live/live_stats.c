/* SPDX-License-Identifier: BSD-2-Clause
 * Counting of a live stream. */
#include <stdio.h>

#include "pipeline/live/live_private.h"

const char *const halo_live_state_names[HALO_LIVE_STATES + 1] = {"starting", "running", "waiting",
                                                                 "ended",    "failed",  NULL};
const char *const halo_drop_names[HALO_DROPS + 1] = {"late", "encoder", "damaged",
                                                     "rate", "filter",  NULL};
const char *const halo_live_stage_names[HALO_LIVE_STAGES + 1] = {"decode", "filter", "encode",
                                                                 "total", NULL};

static const int64_t RATE_TIME = INT64_C(4000000000); /* ns in which the rate is taken */

void halo_live_count(struct halo_live *live, int64_t *what, int64_t by)
{
    pthread_mutex_lock(&live->counting);
    *what += by;
    pthread_mutex_unlock(&live->counting);
}

void halo_live_drop(struct halo_live *live, enum halo_drop why, int64_t count)
{
    if (count > 0)
        halo_live_count(live, &live->stats.dropped[why], count);
}

void halo_live_time(struct halo_live *live, enum halo_live_stage stage, int64_t ns)
{
    pthread_mutex_lock(&live->counting);
    halo_histogram_add(&live->stats.stage[stage], ns);
    pthread_mutex_unlock(&live->counting);
}

void halo_live_count_left(struct halo_live *live, const struct halo_lineup *lineup)
{
    pthread_mutex_lock(&live->counting);
    live->stats.filtered++;
    live->stats.epoch = lineup->epoch;
    for (int i = 0; i < lineup->chains; i++)
        live->stats.coverage[i] = *halo_gate_coverage(lineup->gate[lineup->of[i]]);
    live->stats.moved_at = halo_now_ns();
    live->left[live->left_count++ % HALO_LIVE_RATE] = live->stats.moved_at;
    pthread_mutex_unlock(&live->counting);
}

/* Intervals between the pictures of the last seconds; what fails to come counts too. */
static double rate_of(const struct halo_live *live)
{
    const int64_t now = halo_now_ns();
    const int64_t most = live->left_count < HALO_LIVE_RATE ? live->left_count : HALO_LIVE_RATE;
    int64_t count = 0, first = now;
    while (count < most) {
        const int64_t at = live->left[(live->left_count - 1 - count) % HALO_LIVE_RATE];
        if (now - at > RATE_TIME)
            break;
        first = at;
        count++;
    }
    return count < 2 ? 0 : (double)(count - 1) * 1e9 / (double)(now - first);
}

/* A lane that left the GPU does not go back. */
static void look_at_ring(struct halo_ring *ring, struct halo_live_stats *ret)
{
    char why[HALO_LACK_WORDS];
    bool memory;
    halo_ring_where(ring, ret->backend, sizeof ret->backend);
    if (!halo_ring_fell_back(ring, &memory, why, sizeof why))
        return;
    const enum halo_lack lack = memory ? HALO_LACK_GPU_MEMORY : HALO_LACK_GPU;
    snprintf(ret->lack[lack], sizeof ret->lack[lack], "filters on the CPU: %.150s", why);
    halo_sanitise(ret->lack[lack]);
}

void halo_live_stats(struct halo_live *live, struct halo_live_stats *ret)
{
    pthread_mutex_lock(&live->counting);
    *ret = live->stats;
    ret->rate = rate_of(live);
    halo_live_look(live, ret);
    pthread_mutex_unlock(&live->counting);
    ret->damaged = atomic_load(&live->damage.places);
    ret->camera = halo_live_camera_state(live);
    ret->has_region_feed = live->region_feed;
    if (live->region_feed)
        halo_region_feed_stats(live->region_feed, halo_now_ns(), &ret->region_feed);
    ret->turn = halo_turn_place(&live->turn);
    ret->gpu = -1;
    if (atomic_load(&live->ready) && halo_ring_ops(live->ring)->submit)
        ret->gpu = halo_ring_device(live->ring);
    if (atomic_load(&live->ready))
        look_at_ring(live->ring, ret);
    pthread_mutex_lock(&live->lock);
    if (live->formed) {
        ret->width = live->shape->input.width;
        ret->height = live->shape->input.height;
    }
    pthread_mutex_unlock(&live->lock);
}
