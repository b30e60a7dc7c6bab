/* SPDX-License-Identifier: BSD-2-Clause
 * The encodings of a live stream. */
#include "pipeline/stream/live_encodings.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "config/output_kinds.h"
#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/queue.h"
#include "pipeline/output/parameters_wire.h"
#include "pipeline/output/encode.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_cards.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_snapshots.h"
#include "pipeline/stream/live_sound.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_stream.h"

enum { SOUNDS = 512 }; /* audio packets that may wait for an encoding */

static int init(struct halo_live_encodings *all, struct halo_live *live)
{
    all->count = halo_encodings(&live->settings, all->what, all->of);
    for (int i = 0; i < all->count; i++) {
        struct halo_live_encoding *e = &all->at[i];
        e->live = live;
        e->number = i;
        e->what = &all->what[i];
        e->queue = halo_queue_create(HALO_QUEUE_FRAMES, SOUNDS);
        if (!e->queue)
            return -ENOMEM;
        for (int o = 0; o < live->settings.outputs; o++) {
            const struct halo_output_settings *output = &live->settings.output[o];
            const struct halo_viewer_format *format = halo_output_format(output);
            const struct halo_output_row *row = halo_output_row(output);
            e->pushes |= all->of[o] == i && row->writer == HALO_WRITER_ENGINE && !row->records;
            e->bound |= all->of[o] == i && format && format->rigid;
        }
    }
    return 0;
}

int halo_live_encodings_create(struct halo_live_encodings **ret, struct halo_live *live)
{
    struct halo_live_encodings *all = av_mallocz(sizeof *all);
    const int code = all ? init(all, live) : -ENOMEM;
    if (code < 0)
        halo_live_encodings_destroy(all);
    else
        *ret = all;
    return code;
}

void halo_live_encodings_destroy(struct halo_live_encodings *all)
{
    if (!all)
        return;
    for (int i = 0; i < all->count; i++)
        halo_queue_destroy(all->at[i].queue);
    av_free(all);
}

/* ---- any thread ---- */

bool halo_live_encodings_run(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        if (halo_live_encoding_runs(&all->at[i]))
            return true;
    return false;
}

static void wake_for_card(struct halo_live_encoding *e)
{
    halo_queue_put_newest(e->queue, (struct halo_item){.kind = HALO_ITEM_PACKET});
}

void halo_live_watch(struct halo_live *live, int encoding, bool watched)
{
    if (encoding < 0 || encoding >= live->encodings->count)
        return;
    struct halo_live_encoding *e = &live->encodings->at[encoding];
    if (watched)
        atomic_store(&e->key, true);
    atomic_store(&e->watched, watched);
    if (!watched) /* its thread checks whether it still needs an encoder */
        wake_for_card(e);
    live->post(live, watched ? HALO_LIVE_WATCHED : HALO_LIVE_ALONE, 0);
}

void halo_live_key_frame(struct halo_live *live, int encoding)
{
    if (encoding >= 0 && encoding < live->encodings->count)
        atomic_store(&live->encodings->at[encoding].key, true);
}

void halo_live_encodings_wake_for_cards(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        wake_for_card(&all->at[i]);
}

void halo_live_encodings_wake(struct halo_live_encodings *all)
{
    halo_lock(&all->lock);
    halo_cond_broadcast(&all->changed);
    halo_unlock(&all->lock);
}

void halo_live_encodings_abort(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        halo_queue_abort(all->at[i].queue);
    halo_live_encodings_wake(all);
}

/* ---- frames ---- */

/* Changes the number of frames that wait for this encoding by `by`. */
static void count_waiting(struct halo_live_encoding *e, int by)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    e->passing.waiting += by;
    halo_unlock(&all->lock);
    if (by < 0)
        e->live->post(e->live, HALO_LIVE_WENT_ON, 0);
}

/* Queues a filtered frame. Returns the number of frames that were dropped for it, or -ECANCELED. */
static int give(struct halo_live_encoding *e, const struct halo_item *item)
{
    count_waiting(e, 1);
    const int code =
        e->live->live ? halo_queue_put_newest(e->queue, *item) : halo_queue_put(e->queue, *item);
    if (code != 0) /* so many older frames were dropped, or this one */
        count_waiting(e, code > 0 ? -code : -1);
    return code;
}

static void give_encoding(struct halo_live *live, struct halo_live_encoding *e,
                          const struct halo_item *item, const struct halo_output_frame *frame)
{
    struct halo_item out = {.kind = HALO_ITEM_OUTPUT,
                            .epoch = halo_output_frame_epoch(frame),
                            .decoded = item->decoded,
                            .output = halo_output_frame_ref(frame)};
    const int dropped = out.output ? give(e, &out) : 1;
    halo_live_drop(live->counters, HALO_DROP_ENCODER, dropped);
    if (dropped > 0)
        halo_live_count_late(live->counters, e->number, dropped);
}

static void count_left(struct halo_live *live, const struct halo_graph *graph)
{
    const struct halo_coverage *coverage[HALO_GRAPH_CHAINS];
    for (int i = 0; i < graph->chains; i++)
        coverage[i] = halo_gate_coverage(graph->gate[graph->of[i]].gate);
    halo_live_count_left(live->counters, graph->epoch, coverage, graph->chains);
}

void halo_live_left(struct halo_live *live, const struct halo_item *item,
                    struct halo_output_frame *frame)
{
    halo_live_time(live->counters, HALO_LIVE_FILTER, halo_now_ns() - item->entered);
    if (item->track == 0) {
        count_left(live, item->graph);
        halo_live_snapshots_give(live, frame);
        live->post(live, HALO_LIVE_LEFT, halo_output_frame_frame(frame)->pts);
    }
    for (int i = 0; i < live->encodings->count; i++) {
        struct halo_live_encoding *e = &live->encodings->at[i];
        if (item->graph->of[e->what->rendition] == item->track && halo_live_encoding_runs(e))
            give_encoding(live, e, item, frame);
    }
    halo_output_frame_destroy(frame);
}

static void note_described(struct halo_live_encoding *e)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    e->passing.described = true;
    halo_cond_broadcast(&all->changed);
    halo_unlock(&all->lock);
}

/* Whether the encoder must output the frames that it holds; true once for each request. */
static bool lets_go(struct halo_live_encoding *e)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    const bool ret = e->passing.let_go;
    e->passing.let_go = false;
    halo_unlock(&all->lock);
    return ret;
}

int64_t halo_live_encodings_oldest(struct halo_live_encodings *all)
{
    int64_t oldest = INT64_MAX;
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++) {
        const struct halo_live_passing *p = &all->at[i].passing;
        if ((p->waiting || p->holds) && p->epoch < oldest)
            oldest = p->epoch;
    }
    halo_unlock(&all->lock);
    return oldest;
}

void halo_live_encodings_let_go(struct halo_live_encodings *all, int64_t epoch)
{
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++) {
        struct halo_live_passing *p = &all->at[i].passing;
        if (!p->holds || p->let_go || p->waiting || p->epoch >= epoch)
            continue;
        p->let_go = true;
        wake_for_card(&all->at[i]);
    }
    halo_unlock(&all->lock);
}

/* ---- the thread of an encoding ---- */

enum {
    KEY_APART = 500000, /* minimum microseconds between two requested keyframes */
    /* in microseconds: after it viewers may have seen a card, and a keyframe is sent */
    GAP = 300000,
};

static const double FIRST_PAUSE = 0.25, LAST_PAUSE = 5; /* seconds */

static void report_begin(struct halo_live_encoding *e)
{
    struct halo_live *live = e->live;
    const struct halo_encoding_parameters begin = {
        .video = e->codec.out->streams[0]->codecpar,
        .audio = e->sound.is ? e->codec.out->streams[1]->codecpar : NULL,
        .framerate = halo_live_codec_rate(e),
        .card = e->codec.card[0],
        .solid = e->codec.card[1],
    };
    halo_live_tell_begin(live->listener, e->number, &begin);
}

static void close_all(struct halo_live_encoding *e)
{
    halo_live_sound_close(&e->sound);
    halo_live_codec_close(e);
}

/* Closes the encoder, to be retried after a pause. This holds for one on the GPU, too: if the GPU
 * is lost, the filters report it; if it is not, the other streams need it. */
static void fail(struct halo_live_encoding *e, int code, struct halo_error *err)
{
    struct halo_live *live = e->live;
    halo_fail(err, code, "the encoder failed: %s", strerror(-code));
    close_all(e);
    e->retry = halo_now_ns() + (int64_t)(e->pause * 1e9);
    e->pause = FFMIN(e->pause * 2, LAST_PAUSE);
    halo_live_tell_failed(live->listener, e->number, err);
}

/* Prepares parameters and cards, and reports them at once, so that they can be shown whatever
 * happens later. */
static int prepare(struct halo_live_encoding *e, struct halo_error *err)
{
    int code = halo_live_codec_prepare(e, err);
    if (code >= 0)
        code = halo_live_sound_prepare(e, err);
    if (code >= 0)
        report_begin(e);
    return code;
}

/* 0: e is ready to encode; -errno with err filled; -EAGAIN: not ready yet. */
static int get_ready(struct halo_live_encoding *e, struct halo_error *err)
{
    int code = 0;
    if (!e->codec.out && halo_now_ns() < e->retry)
        return -EAGAIN;
    if (!e->codec.out)
        code = prepare(e, err);
    if (code >= 0 && !e->codec.encoder && e->what->kind != HALO_ENCODING_RAW) {
        code = halo_live_codec_open(e, err);
        if (code >= 0)
            report_begin(e);
    }
    return code;
}

/* Whether the frame exceeds the encoding's frame rate. */
static bool is_too_soon(struct halo_live_encoding *e, int64_t pts)
{
    const double fps = e->what->video ? e->what->video->fps : 0;
    if (fps <= 0)
        return false;
    const int64_t period = (int64_t)(1e6 / fps);
    if (pts < e->due - period / 8)
        return true;
    e->due = pts - e->due > period ? pts + period : e->due + period;
    return false;
}

/* Whether cards and frames alternate here, so that a keyframe is needed: neither refers to the
 * other, and cards can be left out. */
static bool turns(struct halo_live_encoding *e, bool card)
{
    const bool ret = card || e->after_card;
    e->after_card = card;
    return ret;
}

static void ask_for_key(struct halo_live_encoding *e, int64_t pts, bool needed)
{
    const struct halo_video_settings *video = e->what->video;
    const double gop = video && video->gop > 0 ? video->gop : 1;
    const AVRational rate = e->live->format->framerate;
    const int64_t half = rate.num > 0 ? av_rescale_q(1, av_inv_q(rate), HALO_LIVE_TIME) / 2 : 0;
    const bool first = e->codec.last_key == INT64_MIN;
    const int64_t since = first ? 0 : pts - e->codec.last_key;
    const bool wanted = atomic_load(&e->key) && since >= KEY_APART;
    const bool gap = !first && pts - e->last_pts > FFMAX(GAP, 6 * half);
    e->last_pts = pts;
    if (!first && !wanted && !gap && !needed && since < (int64_t)(gop * 1e6) - half)
        return;
    atomic_store(&e->key, false);
    e->codec.last_key = pts;
    halo_encoder_force_key(e->codec.encoder);
}

/* When the frame of this packet was decoded; 0 if unknown. */
static int64_t decoded_of(const struct halo_live_encoding *e, int64_t pts, bool *ret_card)
{
    *ret_card = false;
    for (size_t i = 0; i < sizeof e->codec.sent / sizeof *e->codec.sent; i++)
        if (e->codec.sent[i].pts == pts) {
            *ret_card = e->codec.sent[i].card;
            return e->codec.sent[i].decoded;
        }
    return 0;
}

/* Sends all packets that the encoder has ready: 0 or -errno. */
static int drain(struct halo_live_encoding *e, AVPacket *pkt, struct halo_error *err)
{
    int code;
    while ((code = halo_live_codec_receive(e, pkt, err)) > 0) {
        bool card;
        const int64_t decoded = decoded_of(e, pkt->pts, &card);
        e->codec.held -= !card && e->codec.held > 0;
        if (pkt->flags & AV_PKT_FLAG_KEY)
            e->codec.last_key = pkt->pts;
        halo_live_encoding_send(e, pkt, 0, card);
        if (decoded)
            halo_live_time(e->live->counters, HALO_LIVE_TOTAL, halo_now_ns() - decoded);
    }
    return code;
}

/* A frame without a decoding time is a card. */
static int encode(struct halo_live_encoding *e, const struct halo_item *item, AVPacket *pkt,
                  struct halo_error *err)
{
    const int64_t pts = halo_output_frame_frame(item->output)->pts;
    if (e->codec.last_sent == INT64_MIN) {
        e->codec.origin = pts;
        halo_encoder_count_from(e->codec.encoder, pts);
    }
    const AVRational tb = halo_encoder_time_base(e->codec.encoder);
    const int64_t tick = av_rescale_q(pts - e->codec.origin, HALO_LIVE_TIME, tb);
    if (tick <= e->codec.last_sent) { /* in a codec that counts frames */
        halo_live_drop(e->live->counters, HALO_DROP_RATE, item->decoded != 0);
        return 0;
    }
    e->codec.last_sent = tick;
    ask_for_key(e, pts, turns(e, !item->decoded));
    const unsigned at = e->codec.sent_count++ % (sizeof e->codec.sent / sizeof *e->codec.sent);
    e->codec.sent[at].pts =
        av_rescale_q(tick, tb, HALO_LIVE_TIME) + e->codec.origin; /* as the encoder returns it */
    e->codec.sent[at].decoded = item->decoded;
    e->codec.sent[at].card = !item->decoded;
    halo_live_enter(e->live->stalls, e->number, !halo_encoder_in_hardware(e->codec.encoder));
    int code = halo_encoder_send(e->codec.encoder, item->output, err);
    e->codec.held += code >= 0 && item->decoded;
    if (code >= 0)
        code = drain(e, pkt, err);
    halo_live_leave(e->live->stalls, e->number);
    return code;
}

static int pack(struct halo_live_encoding *e, const struct halo_item *item, AVPacket *pkt,
                struct halo_error *err)
{
    const int code = halo_live_codec_pack(e, item->output, pkt, err);
    if (code > 0) {
        halo_live_encoding_send(e, pkt, 0, !item->decoded);
        if (item->decoded)
            halo_live_time(e->live->counters, HALO_LIVE_TOTAL, halo_now_ns() - item->decoded);
    }
    return code;
}

static void flush(struct halo_live_encoding *e, AVPacket *pkt)
{
    struct halo_error err = {0};
    if (!e->codec.encoder)
        return;
    halo_live_enter(e->live->stalls, e->number, !halo_encoder_in_hardware(e->codec.encoder));
    if (halo_encoder_send(e->codec.encoder, NULL, &err) >= 0)
        drain(e, pkt, &err);
    halo_live_leave(e->live->stalls, e->number);
    if (err.code)
        halo_log(HALO_LOG_WARNING, "%s", err.text);
}

/* Outputs what the encoder holds before a frame of newer settings, or a card, is encoded: after a
 * change was confirmed, nothing older than it is sent any more. Most encoders hold nothing. */
static void settle(struct halo_live_encoding *e, AVPacket *pkt)
{
    if (e->codec.held == 0)
        return;
    flush(e, pkt);
    halo_live_codec_end(e);
}

/* Encodes a card if there is one to show. */
static void take_card(struct halo_live_encoding *e, AVPacket *pkt)
{
    struct halo_error err = {0};
    struct halo_item item = {.kind = HALO_ITEM_OUTPUT, .output = halo_live_card_take(e)};
    if (!item.output)
        return;
    settle(e, pkt);
    int ret = get_ready(e, &err);
    if (ret >= 0)
        ret = e->codec.encoder ? encode(e, &item, pkt, &err) : pack(e, &item, pkt, &err);
    if (ret < 0 && (ret != -EAGAIN || err.code))
        fail(e, ret, &err);
    halo_item_finish(&item);
}

static void take_frame(struct halo_live_encoding *e, const struct halo_item *item, AVPacket *pkt)
{
    struct halo_error err = {0};
    const int64_t begin = halo_now_ns();
    if (!halo_live_encoding_runs(e))
        return;
    if (is_too_soon(e, halo_output_frame_frame(item->output)->pts)) {
        halo_live_drop(e->live->counters, HALO_DROP_RATE, 1);
        return;
    }
    int ret = get_ready(e, &err);
    if (ret == -EAGAIN && !err.code) {
        halo_live_drop(e->live->counters, HALO_DROP_ENCODER, 1);
        return;
    }
    if (ret >= 0)
        ret = e->codec.encoder ? encode(e, item, pkt, &err) : pack(e, item, pkt, &err);
    if (ret < 0) {
        halo_live_drop(e->live->counters, HALO_DROP_ENCODER, 1);
        fail(e, ret, &err);
        return;
    }
    e->pause = FIRST_PAUSE;
    halo_live_count_made(e->live->counters, e->number);
    halo_live_time(e->live->counters, HALO_LIVE_ENCODE, halo_now_ns() - begin);
}

/* Begins a frame: from now on, no older frames are in the queue or in the encoder. end_taken() ends
 * it. */
static void begin_taken(struct halo_live_encoding *e, int64_t epoch, AVPacket *pkt)
{
    if (epoch != e->epoch)
        settle(e, pkt);
    e->epoch = epoch;
    halo_lock(&e->live->encodings->lock);
    e->passing.epoch = epoch;
    halo_unlock(&e->live->encodings->lock);
    e->live->post(e->live, HALO_LIVE_WENT_ON, 0);
}

/* So many frames are finished; the encoder may still hold some. */
static void end_taken(struct halo_live_encoding *e, int frames)
{
    halo_lock(&e->live->encodings->lock);
    e->passing.waiting -= frames;
    e->passing.holds = e->codec.held > 0;
    halo_unlock(&e->live->encodings->lock);
    e->live->post(e->live, HALO_LIVE_WENT_ON, 0);
}

/* The encoding has no receiver: closes the encoders, but keeps their description. */
static void rest(struct halo_live_encoding *e)
{
    halo_live_codec_end(e);
    halo_live_sound_rest(&e->sound);
}

/* Handles a wake-up: a card, a change of receivers, or a change of filters that waits. */
static void wake(struct halo_live_encoding *e, AVPacket *pkt)
{
    if (lets_go(e))
        settle(e, pkt);
    if (halo_live_encoding_runs(e))
        take_card(e, pkt);
    else
        rest(e);
    end_taken(e, 0);
}

static void run(struct halo_live_encoding *e, AVPacket *pkt)
{
    struct halo_error err = {0};
    struct halo_item item;
    const int code = prepare(e, &err);
    if (code < 0)
        fail(e, code, &err);
    note_described(e);
    while (halo_queue_get(e->queue, &item) == 0) {
        if (item.kind == HALO_ITEM_END) {
            flush(e, pkt);
            break;
        }
        if (item.kind == HALO_ITEM_OUTPUT) {
            begin_taken(e, item.epoch, pkt);
            take_frame(e, &item, pkt);
            halo_item_finish(&item);
            end_taken(e, 1);
        } else if (item.packet) {
            halo_live_sound_take(e, item.packet);
        } else {
            wake(e, pkt);
        }
    }
}

static void *encode_main(void *arg)
{
    struct halo_live_encoding *e = arg;
    struct halo_error err = {0};
    AVPacket *pkt = av_packet_alloc();
    e->pause = FIRST_PAUSE;
    halo_log_set_stream(e->live->settings.name);
    if (pkt) {
        run(e, pkt);
    } else {
        halo_fail(&err, -ENOMEM, "out of memory");
        e->live->fail(e->live, &err);
    }
    av_packet_free(&pkt);
    close_all(e);
    return NULL;
}

/* ---- the thread that starts and ends the stages ---- */

int halo_live_encodings_start(struct halo_live_encodings *all, struct halo_error *err)
{
    for (int i = 0; i < all->count; i++) {
        struct halo_live_encoding *e = &all->at[i];
        halo_live_sound_choose(e);
        const int code = halo_thread_start(&e->thread, "encode", encode_main, e, err);
        if (code < 0)
            return code;
        e->running = true;
    }
    return 0;
}

void halo_live_encodings_end(struct halo_live_encodings *all)
{
    const struct halo_item end = {.kind = HALO_ITEM_END};
    for (int i = 0; i < all->count; i++)
        if (all->at[i].running)
            halo_queue_put(all->at[i].queue, end);
    for (int i = 0; i < all->count; i++) {
        if (all->at[i].running)
            halo_thread_join(all->at[i].thread);
        all->at[i].running = false;
    }
}

void halo_live_encodings_reset(struct halo_live_encodings *all, int64_t cards)
{
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++) {
        all->at[i].cards = cards;
        all->at[i].retry = 0;
        all->at[i].passing.described = false;
    }
    halo_unlock(&all->lock);
}

bool halo_live_encodings_are_bound(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        if (all->at[i].bound && halo_live_encoding_runs(&all->at[i]))
            return true;
    return false;
}

void halo_live_encodings_wait(const struct halo_live *live, int64_t until)
{
    struct halo_live_encodings *all = live->encodings;
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++)
        while (!all->at[i].passing.described && !halo_live_stopped(live) &&
               halo_cond_wait(&all->changed, &all->lock, until))
            ;
    halo_unlock(&all->lock);
}
