/* SPDX-License-Identifier: BSD-2-Clause
 * The events of a run with a camera (run_live.h), called by the threads of its stream: packets are
 * written into the file or pipe, or kept for the loop. */
#include "config/log.h"
#include "daemon/run/run_live_private.h"
#include "kernels/clock.h"
#include "pipeline/base/thread.h"

void run_live_fail(struct run_live *run, const struct halo_error *err)
{
    halo_lock(&run->lock);
    if (!run->error.code)
        run->error = *err;
    halo_unlock(&run->lock);
    uv_async_send(&run->loop.wake);
}

static void on_state(void *arg, enum halo_live_state state, const struct halo_error *err)
{
    struct run_live *run = arg;
    const bool waits = state == HALO_LIVE_WAITING;
    halo_lock(&run->lock);
    const bool was = run->away.code != 0;
    run->away = waits ? *err : (struct halo_error){0};
    halo_unlock(&run->lock);
    if (state == HALO_LIVE_FAILED)
        run_live_fail(run, err);
    else if (waits)
        halo_log(HALO_LOG_WARNING, "%s", halo_log_skip_number(err->text));
    else if (was && state == HALO_LIVE_RUNNING)
        halo_log(HALO_LOG_INFO, "%s: frames are arriving again", run->settings->source.input);
    uv_async_send(&run->loop.wake);
}

/* Keeps the packet for the loop, and wakes it. */
static void hand_over(struct run_live *run, int encoding, AVPacket *to, const AVPacket *pkt,
                      int64_t taken)
{
    bool *has = to == run->picture ? &run->has_picture : &run->has_card;
    halo_lock(&run->lock);
    if (encoding == run->encoding) {
        av_packet_unref(to);
        *has = av_packet_ref(to, pkt) >= 0;
        if (to == run->picture)
            run->taken = taken;
    }
    halo_unlock(&run->lock);
    uv_async_send(&run->loop.wake);
}

static void on_begin(void *arg, int encoding, const struct halo_live_begin *begin)
{
    struct run_live *run = arg;
    struct halo_error err = {0};
    if (encoding != run->encoding)
        return;
    if (!run->sink)
        hand_over(run, encoding, run->card, begin->card, 0);
    else if (halo_live_sink_begin(run->sink, begin, &err) < 0)
        run_live_fail(run, &err);
}

static bool is_past_the_end(const struct run_live *run, int64_t pts)
{
    const double limit = run->settings->part.duration;
    return limit >= 0 && (double)(pts - atomic_load(&run->first)) >= limit * 1e6;
}

static void write_packet(struct run_live *run, const AVPacket *pkt)
{
    struct halo_error err = {0};
    if (halo_live_sink_packet(run->sink, pkt, &err) < 0)
        run_live_fail(run, &err);
    else if (run->settings->stats)
        halo_histogram_add(&run->delay, halo_now_ns() - pkt->pts * 1000);
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    struct run_live *run = arg;
    long long none = 0;
    if (encoding != run->encoding || pkt->stream_index != 0)
        return;
    atomic_compare_exchange_strong(&run->first, &none, pkt->pts);
    if (is_past_the_end(run, pkt->pts))
        return;
    if (run->sink)
        write_packet(run, pkt);
    else
        hand_over(run, encoding, run->picture, pkt, pkt->pts);
}

/* A file leaves cards out and continues with the next frame; viewers of a pipe or camera see the
 * card. */
static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    struct run_live *run = arg;
    if (encoding != run->encoding)
        return;
    if (!run->sink)
        hand_over(run, encoding, run->picture, pkt, 0);
    else if (!halo_live_sink_is_file(run->sink))
        write_packet(run, pkt);
}

static void on_failed(void *arg, int encoding, const struct halo_error *err)
{
    if (encoding == ((struct run_live *)arg)->encoding)
        run_live_fail(arg, err);
}

static void on_want(void *arg, enum halo_find find)
{
    halo_run_detector_calls.want(((struct run_live *)arg)->detectors, find);
}

static void on_broken(void *arg, enum halo_find find, const char *why)
{
    halo_run_detector_calls.broken(((struct run_live *)arg)->detectors, find, why);
}

static void on_unwanted(void *arg, enum halo_find find)
{
    halo_run_detector_calls.unwanted(((struct run_live *)arg)->detectors, find);
}

const struct halo_live_events run_live_events = {
    .state = on_state,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .failed = on_failed,
    .detector = {on_want, on_broken, on_unwanted},
};
