/* SPDX-License-Identifier: BSD-2-Clause
 * The source stage: passes packets from the input, and frames from the decoders, to the filter
 * stage. */
#include <errno.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/gate/queue.h"
#include "pipeline/input/decoders.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/stream/stream_private.h"

/* ---- packets that wait for frames ---- */

enum { EARLY_US = 500000 };

struct halo_held_packet {
    struct halo_item item;
    int64_t time;
    struct halo_held_packet *next;
};

/* Adds an item, which belongs to the list from now on, with its time in microseconds (INT64_MIN:
 * that of the item before it). Returns 0, or -ENOMEM after freeing the item. */
static int held_add(struct halo_held_packets *held, struct halo_item item, int64_t time)
{
    struct halo_held_packet *one = av_mallocz(sizeof *one);
    if (!one) {
        halo_item_finish(&item);
        return -ENOMEM;
    }
    one->item = item;
    one->time = time;
    *(held->last ? &held->last->next : &held->first) = one;
    held->last = one;
    return 0;
}

static bool is_due(const struct halo_held_packet *one, int64_t until)
{
    return until == INT64_MAX || one->time == INT64_MIN || one->time <= until + EARLY_US;
}

/* Packets of one stream stay in their order. */
static bool follows_another(const struct halo_held_packets *held,
                            const struct halo_held_packet *one)
{
    const struct halo_held_packet *before = held->first;
    while (before != one && before->item.track != one->item.track)
        before = before->next;
    return before != one;
}

/* Removes the first item that may follow frames up to the time `until` (INT64_MAX: in any case),
 * with some allowance for codecs that store their packets early. Items of one track stay in order.
 * Returns whether there is one. */
static bool held_take(struct halo_held_packets *held, int64_t until, struct halo_item *ret)
{
    struct halo_held_packet *before = NULL, *one = held->first;
    while (one && (!is_due(one, until) || follows_another(held, one))) {
        before = one;
        one = one->next;
    }
    if (!one)
        return false;
    *ret = one->item;
    *(before ? &before->next : &held->first) = one->next;
    if (held->last == one)
        held->last = before;
    av_free(one);
    return true;
}

void halo_held_clear(struct halo_held_packets *held)
{
    struct halo_item item;
    while (held_take(held, INT64_MAX, &item))
        halo_item_finish(&item);
}

/* ---- the source thread ---- */

enum {
    REORDERED_US = 1000000, /* more than frames are reordered by */
    LATE_US = 10000000,     /* streams are interleaved more closely than this */
};

static int receive_frame(struct halo_stream *s, struct halo_decoders *decoders,
                         struct halo_raw_frame **ret, struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_DECODE);
    const int received = halo_decoders_receive(decoders, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_DECODE, begin);
    if (received > 0)
        halo_stats_frame(s->stats, HALO_STAGE_DECODE);
    return received;
}

/* pkt NULL: end of the stream */
static int send_packet(struct halo_stream *s, struct halo_decoders *decoders, const AVPacket *pkt,
                       struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_DECODE);
    const int code = halo_decoders_send(decoders, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_DECODE, begin);
    return code;
}

/* Whether frames of the track are still to come, perhaps long after their packets were read. */
static bool is_ahead(const struct halo_track *t)
{
    return t->role == HALO_ROLE_FILTER && !t->over && halo_decoders_are_ahead(t->decoders);
}

/* Passes on the packets that were read before the frames so far; `all`: every packet. */
static int pass_held(struct halo_stream *s, bool all)
{
    int64_t latest = INT64_MAX;
    struct halo_item item;
    int code = 0;
    for (int i = 0; i < s->tracks.count && !all; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        if (is_ahead(t))
            latest = FFMIN(latest, t->latest);
    }
    while (code >= 0 && held_take(&s->held, latest, &item))
        code = halo_stages_give(s->stages, item);
    return code;
}

/* A stop does not wait for what was read ahead. */
static bool gives_up(const struct halo_stream *s, const struct halo_track *t)
{
    return (atomic_load(&s->stop) & HALO_STOP_ASKED) && halo_decoders_are_ahead(t->decoders);
}

/* Puts all frames that the decoder has into the queue: 0 or -errno. */
static int drain_decoder(struct halo_stream *s, int index, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[index];
    struct halo_raw_frame *raw;
    int code = 0;
    while (!gives_up(s, t) && (code = receive_frame(s, t->decoders, &raw, err)) > 0) {
        const int64_t pts = halo_source_shift(s->source, halo_raw_frame_pts(raw), t->in->time_base);
        const int where = halo_source_window(s->source, pts, t->in->time_base);
        halo_raw_frame_set_pts(raw, pts);
        t->over |= where > 0;
        if (where != 0) {
            halo_raw_frame_destroy(raw);
            continue;
        }
        t->frames++;
        t->latest = av_rescale_q(pts, t->in->time_base, AV_TIME_BASE_Q);
        code = halo_stages_give(s->stages, (struct halo_item){HALO_ITEM_RAW, index, {.raw = raw}});
        if (code >= 0)
            code = pass_held(s, false);
        if (code < 0)
            return code;
    }
    return FFMIN(code, 0);
}

/* The last group of a stream is decoded when it is complete. If a stream ends or pauses long before
 * the others, they do not wait for that. */
static int go_on_without(struct halo_stream *s, int64_t time, struct halo_error *err)
{
    int code = 0;
    for (int i = 0; i < s->tracks.count && code >= 0; i++) {
        struct halo_track *t = &s->tracks.track[i];
        if (!is_ahead(t))
            continue;
        if (t->sent == INT64_MIN)
            t->sent = time; /* counts from here */
        if (time - t->sent <= LATE_US)
            continue;
        halo_decoders_stop_cutting(t->decoders,
                                   "its packets are far behind those of other streams");
        code = drain_decoder(s, i, err);
    }
    return code;
}

/* Passes a packet on, or holds it until the frames of all streams have come so far. */
static int pass_packet(struct halo_stream *s, struct halo_item item, int64_t time,
                       struct halo_error *err)
{
    bool ahead = s->held.first != NULL;
    for (int i = 0; i < s->tracks.count; i++)
        ahead |= is_ahead(&s->tracks.track[i]);
    if (!ahead)
        return halo_stages_give(s->stages, item);
    int code = held_add(&s->held, item, time);
    if (code >= 0 && time != INT64_MIN)
        code = go_on_without(s, time, err);
    return code < 0 ? code : pass_held(s, false);
}

/* A subtitle that is already visible at the time of -ss begins there. */
static void cut_subtitle(AVPacket *pkt)
{
    if (pkt->pts == AV_NOPTS_VALUE || pkt->pts >= 0 || pkt->pts + pkt->duration <= 0)
        return;
    pkt->duration += pkt->pts;
    pkt->pts = pkt->dts = 0;
}

/* Audio that the input's edit list hides would be audible if the output has no edit list. The
 * packet before the first audible one is kept, because the decoder needs it. 1: copy pkt; 0: it was
 * stored or dropped. */
static int keep_hidden(struct halo_track *t, AVPacket *pkt)
{
    const bool hidden = pkt->flags & AV_PKT_FLAG_DISCARD;
    if (t->audio || !hidden || (t->hides && !t->heard)) {
        t->heard |= !hidden;
        return 1;
    }
    const bool primes = !t->heard && t->in->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    av_packet_free(&t->priming);
    if (primes)
        t->priming = pkt;
    else
        av_packet_free(&pkt);
    return 0;
}

static int copy_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    if (s->damage.keep_going && (pkt->flags & AV_PKT_FLAG_CORRUPT))
        return 0; /* already counted; damaged audio is useless */
    AVPacket *copy = av_packet_clone(pkt);
    if (!copy)
        return halo_fail(err, -ENOMEM, "out of memory");
    copy->pts = halo_source_shift(s->source, copy->pts, t->in->time_base);
    copy->dts = halo_source_shift(s->source, copy->dts, t->in->time_base);
    if (t->in->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE && s->settings->part.seek >= 0)
        cut_subtitle(copy);
    const int64_t ts = copy->pts != AV_NOPTS_VALUE ? copy->pts : copy->dts;
    const int where = halo_source_window(s->source, ts, t->in->time_base);
    t->over |= where > 0;
    if (where != 0 ||
        (t->says_once && !halo_adts_goes_on(&t->coded, s->settings->source.input, t->in, pkt,
                                            "use -c:a aac to keep all of the audio"))) {
        av_packet_free(&copy);
        return 0;
    }
    if (!keep_hidden(t, copy))
        return 0;
    const int64_t time =
        ts == AV_NOPTS_VALUE ? INT64_MIN : av_rescale_q(ts, t->in->time_base, AV_TIME_BASE_Q);
    AVPacket *both[] = {t->priming, copy};
    t->priming = NULL;
    int code = 0;
    for (int i = 0; i < 2; i++) {
        const struct halo_item item = {HALO_ITEM_PACKET, pkt->stream_index, {.packet = both[i]}};
        if (both[i] && code >= 0)
            code = pass_packet(s, item, time, err);
        else
            av_packet_free(&both[i]);
    }
    return code;
}

/* From a part: it is encoded already. */
static int join_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_item item = {HALO_ITEM_PACKET, pkt->stream_index, {.packet = av_packet_clone(pkt)}};
    if (!item.packet)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->tracks.track[pkt->stream_index].frames++;
    return halo_stages_give(s->stages, item);
}

/* Whether no frame in the packet, or in a later one, is before the end that -t sets. Where decoding
 * is ahead, such packets are not sent, so that the input is not read far beyond that end, where it
 * may be damaged. */
static bool is_beyond_end(const struct halo_stream *s, const struct halo_track *t,
                          const AVPacket *pkt)
{
    const AVRational tb = t->in->time_base;
    int64_t time = pkt->dts;
    if (time == AV_NOPTS_VALUE && pkt->pts != AV_NOPTS_VALUE)
        time = pkt->pts - av_rescale_q(REORDERED_US, AV_TIME_BASE_Q, tb);
    return halo_decoders_are_ahead(t->decoders) && time != AV_NOPTS_VALUE &&
           halo_source_window(s->source, halo_source_shift(s->source, time, tb), tb) > 0;
}

static int take_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    if (t->role == HALO_ROLE_DROP || (t->over && t->role == HALO_ROLE_FILTER))
        return 0;
    if (t->role == HALO_ROLE_COPY)
        return copy_packet(s, pkt, err);
    if (t->role == HALO_ROLE_JOIN)
        return join_packet(s, pkt, err);
    const bool last = is_beyond_end(s, t, pkt);
    const int64_t ts = pkt->dts != AV_NOPTS_VALUE ? pkt->dts : pkt->pts;
    if (ts != AV_NOPTS_VALUE)
        t->sent = av_rescale_q(halo_source_shift(s->source, ts, t->in->time_base), t->in->time_base,
                               AV_TIME_BASE_Q);
    int code = send_packet(s, t->decoders, last ? NULL : pkt, err);
    if (code >= 0)
        code = drain_decoder(s, pkt->stream_index, err);
    t->over |= last;
    return code;
}

/* Restricts the reports of damage to the requested part. */
static void set_windows(struct halo_stream *s)
{
    for (int i = 0; i < s->tracks.count; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        int64_t from, until;
        halo_source_bounds(s->source, t->in->time_base, &from, &until);
        if (t->role == HALO_ROLE_FILTER)
            halo_decoders_set_window(t->decoders, from, until);
    }
}

int halo_stream_demux(struct halo_stream *s, struct halo_error *err)
{
    set_windows(s);
    AVPacket *pkt = av_packet_alloc();
    if (!pkt)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code;
    while ((code = s->ends->read(s, pkt, err)) > 0 && (code = take_packet(s, pkt, err)) >= 0)
        ;
    av_packet_free(&pkt);
    for (int i = 0; i < s->tracks.count && code >= 0; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        if (t->role != HALO_ROLE_FILTER || t->over || gives_up(s, t))
            continue;
        code = send_packet(s, t->decoders, NULL, err);
        if (code >= 0)
            code = drain_decoder(s, i, err);
    }
    if (code >= 0)
        code = pass_held(s, !(atomic_load(&s->stop) & HALO_STOP_ASKED));
    return code < 0 ? code : s->ends->check(s, err);
}
