/* SPDX-License-Identifier: BSD-2-Clause
 * Statistics of a live stream, from all of its parts. */
#include <stdio.h>

#include "kernels/clock.h"
#include "pipeline/gate/ring.h"
#include "pipeline/live/live.h"
#include "pipeline/live/live_camera.h"
#include "pipeline/live/live_detect.h"
#include "pipeline/live/live_encoding.h"
#include "pipeline/live/live_encodings.h"
#include "pipeline/live/live_figures.h"
#include "pipeline/live/live_lineups.h"
#include "pipeline/live/live_source.h"
#include "pipeline/live/live_stalls.h"
#include "pipeline/live/live_stream.h"

const char *const halo_drop_names[HALO_DROPS + 1] = {"late", "encoder", "damaged",
                                                     "rate", "filter",  NULL};
const char *const halo_live_stage_names[HALO_LIVE_STAGES + 1] = {"decode", "filter", "encode",
                                                                 "total", NULL};

/* A lane that has left the GPU does not return to it. */
static void check_ring(struct halo_ring *ring, struct halo_live_stats *ret)
{
    char why[HALO_DEGRADATION_WORDS];
    bool memory;
    halo_ring_where(ring, ret->backend, sizeof ret->backend);
    if (!halo_ring_fell_back(ring, &memory, why, sizeof why))
        return;
    const enum halo_degradation degradation = memory ? HALO_DEGRADED_GPU_MEMORY : HALO_DEGRADED_GPU;
    snprintf(ret->degradation[degradation], sizeof ret->degradation[degradation],
             "filters on the CPU: %.150s", why);
    halo_sanitise(ret->degradation[degradation]);
}

void halo_live_stats(struct halo_live *live, struct halo_live_stats *ret)
{
    bool runs[HALO_MAX_ENCODINGS];
    for (int i = 0; i < live->encodings->count; i++)
        runs[i] = halo_live_encoding_runs(&live->encodings->at[i]);
    halo_live_figures_read(live->figures, runs, live->encodings->count, ret);
    ret->damaged = atomic_load(&live->reader->damage.places);
    ret->camera = halo_live_camera_state(live->camera);
    halo_live_detect_stats(live->detect, ret->detector);
    halo_live_detect_load(live->detect, halo_now_ns(), ret->degradation[HALO_DEGRADED_DETECTOR],
                          HALO_DEGRADATION_WORDS);
    if (ret->degradation[HALO_DEGRADED_DETECTOR][0]) /* which holds up what is before it, too */
        ret->degradation[HALO_DEGRADED_LATE_DECODER][0] = '\0';
    ret->has_region_feed = live->region_feed;
    if (live->region_feed)
        halo_region_feed_stats(live->region_feed, halo_now_ns(), &ret->region_feed);
    ret->turn = halo_live_stalls_turn(live->stalls);
    ret->gpu = -1;
    if (atomic_load(&live->ready) && halo_ring_ops(live->ring)->submit)
        ret->gpu = halo_ring_device(live->ring);
    if (atomic_load(&live->ready))
        check_ring(live->ring, ret);
    const struct halo_live_outline outline = halo_live_lineups_outline(live);
    ret->width = outline.width;
    ret->height = outline.height;
}
