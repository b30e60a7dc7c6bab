/* SPDX-License-Identifier: BSD-2-Clause
 * Maps the timestamps of a source to the stream's: microseconds of CLOCK_MONOTONIC. */
#include "pipeline/stream/live_clock.h"

#include "kernels/clock.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/frame/raw_frame.h"

enum {
    SECOND = 1000000,
    AHEAD = 1,        /* seconds: if a live source is further ahead, its clock has jumped */
    AHEAD_PACED = 10, /* the same if data is read in bursts */
    BEHIND = 1,       /* seconds: a machine that was asleep does not catch up afterwards */
};

int64_t halo_live_clock_map(const struct halo_live_clock *clock, int64_t ts, AVRational tb)
{
    if (ts == AV_NOPTS_VALUE)
        return ts;
    return av_rescale_q(ts, tb, HALO_LIVE_TIME) - clock->first + clock->origin;
}

/* From now on, timestamp ts of the source corresponds to the time `at`. */
static void anchor(struct halo_live_clock *clock, int64_t ts, int64_t at)
{
    clock->first = ts;
    clock->origin = at;
}

/* The time of the first frame of a session. */
static int64_t begin(const struct halo_live_clock *clock)
{
    const int64_t after = clock->last ? clock->last + FFMAX(clock->duration, 1) : 0;
    return clock->joined && clock->last ? after : FFMAX(halo_now_us(), after);
}

/* Whether the source's clock and ours have diverged. */
static bool has_parted(const struct halo_live *live, int64_t at)
{
    const int64_t ahead = at - halo_now_us();
    if (live->paced)
        return ahead < -BEHIND * SECOND ||
               (!live->settings.realtime && ahead > AHEAD_PACED * SECOND);
    return live->live && (ahead > AHEAD * SECOND || ahead < -BEHIND * SECOND);
}

/* Whole seconds; at most two, because the machine may have been asleep. */
static int64_t seconds_behind(int64_t at)
{
    return FFMIN((halo_now_us() - at) / SECOND, 2);
}

static int64_t duration_of(const struct halo_live_input *in)
{
    const AVRational rate = in->video->avg_frame_rate;
    return rate.num > 0 ? av_rescale_q(1, av_inv_q(rate), HALO_LIVE_TIME) : 40000;
}

void halo_live_clock_pass(struct halo_live *live, const struct halo_live_input *in,
                          struct halo_raw_frame *raw)
{
    struct halo_live_clock *clock = &live->reader->clock;
    const AVRational tb = in->video->time_base;
    const int64_t pts = halo_raw_frame_pts(raw);
    const int64_t ts = av_rescale_q(pts, tb, HALO_LIVE_TIME);
    if (in->absolute)
        anchor(clock, ts, ts);
    else if (in->timeless)
        anchor(clock, ts, FFMAX(halo_now_us(), clock->last + 1));
    else if (!clock->set)
        anchor(clock, ts, begin(clock));
    const bool first =
        !clock->set || (in->loop.shift && pts >= in->loop.turn && clock->turn != in->loop.turn);
    clock->set = true;
    clock->turn = first ? in->loop.turn : clock->turn;
    int64_t at = halo_live_clock_map(clock, pts, tb);
    if (!in->absolute && has_parted(live, at)) {
        if (live->paced && (live->local || live->settings.realtime) && at < halo_now_us())
            halo_live_count(live->counters, HALO_COUNT_SLIPPED, seconds_behind(at));
        at = FFMAX(halo_now_us(), clock->last + 1);
        anchor(clock, ts, at);
    }
    if (clock->last && at <= clock->last)
        at = clock->last + 1;
    clock->last = at;
    if (first && live->region_feed) /* no detector has seen a frame of this session */
        halo_region_feed_begin(live->region_feed, at);
    clock->duration = duration_of(in);
    halo_raw_frame_move(raw, at, tb, HALO_LIVE_TIME);
    if (live->paced)
        halo_live_wait(live->status, at * 1000);
    if (live->region_feed)
        halo_region_feed_pass(live->region_feed, at);
}
