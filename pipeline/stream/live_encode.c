/* SPDX-License-Identifier: BSD-2-Clause
 * The thread of an encoding of a live stream: frames and audio from its queue, packets to the
 * events. A failure here affects only this encoding; it is retried, and the others go on. */
#include "pipeline/stream/live_encoding.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/queue.h"
#include "pipeline/stream/live_cards.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_figures.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_sound.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/output/begin_wire.h"
#include "pipeline/output/encode.h"

enum {
    KEY_APART = 500000, /* minimum microseconds between two requested keyframes */
    /* in microseconds: after it viewers may have seen a card, and a keyframe is sent */
    GAP = 300000,
};

static const double FIRST_PAUSE = 0.25, LAST_PAUSE = 5; /* seconds */

static void report_begin(struct halo_live_encoding *e)
{
    struct halo_live *live = e->live;
    const struct halo_live_begin begin = {
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
            halo_live_time(e->live->figures, HALO_LIVE_TOTAL, halo_now_ns() - decoded);
    }
    return code;
}

/* A frame without a decoding time is a card. */
static int encode(struct halo_live_encoding *e, const struct halo_item *item, AVPacket *pkt,
                  struct halo_error *err)
{
    const int64_t pts = halo_output_picture_frame(item->output)->pts;
    if (e->codec.last_sent == INT64_MIN) {
        e->codec.origin = pts;
        halo_encoder_count_from(e->codec.encoder, pts);
    }
    const AVRational tb = halo_encoder_time_base(e->codec.encoder);
    const int64_t tick = av_rescale_q(pts - e->codec.origin, HALO_LIVE_TIME, tb);
    if (tick <= e->codec.last_sent) { /* in a codec that counts frames */
        halo_live_drop(e->live->figures, HALO_DROP_RATE, item->decoded != 0);
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
            halo_live_time(e->live->figures, HALO_LIVE_TOTAL, halo_now_ns() - item->decoded);
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

static void take_picture(struct halo_live_encoding *e, const struct halo_item *item, AVPacket *pkt)
{
    struct halo_error err = {0};
    const int64_t begin = halo_now_ns();
    if (!halo_live_encoding_runs(e))
        return;
    if (is_too_soon(e, halo_output_picture_frame(item->output)->pts)) {
        halo_live_drop(e->live->figures, HALO_DROP_RATE, 1);
        return;
    }
    int ret = get_ready(e, &err);
    if (ret == -EAGAIN && !err.code) {
        halo_live_drop(e->live->figures, HALO_DROP_ENCODER, 1);
        return;
    }
    if (ret >= 0)
        ret = e->codec.encoder ? encode(e, item, pkt, &err) : pack(e, item, pkt, &err);
    if (ret < 0) {
        halo_live_drop(e->live->figures, HALO_DROP_ENCODER, 1);
        fail(e, ret, &err);
        return;
    }
    e->pause = FIRST_PAUSE;
    halo_live_count_made(e->live->figures, e->number);
    halo_live_time(e->live->figures, HALO_LIVE_ENCODE, halo_now_ns() - begin);
}

/* Begins a frame: from now on, no older frames are in the queue or in the encoder. end_taken() ends
 * it. */
static void begin_taken(struct halo_live_encoding *e, int64_t epoch, AVPacket *pkt)
{
    if (epoch != e->epoch)
        settle(e, pkt);
    e->epoch = epoch;
    halo_live_encodings_take(e, epoch);
}

static void end_taken(struct halo_live_encoding *e, int pictures)
{
    halo_live_encodings_note(e, pictures, e->codec.held > 0);
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
    if (halo_live_encodings_lets_go(e))
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
    halo_live_encodings_described(e);
    while (halo_queue_get(e->queue, &item) == 0) {
        if (item.kind == HALO_ITEM_END) {
            flush(e, pkt);
            break;
        }
        if (item.kind == HALO_ITEM_OUTPUT) {
            begin_taken(e, item.epoch, pkt);
            take_picture(e, &item, pkt);
            halo_item_finish(&item);
            end_taken(e, 1);
        } else if (item.packet) {
            halo_live_sound_take(e, item.packet);
        } else {
            wake(e, pkt);
        }
    }
}

void *halo_live_encode_main(void *arg)
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
