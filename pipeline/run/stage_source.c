/* SPDX-License-Identifier: BSD-2-Clause
 * The source stage: passes packets from the input, and frames from the decoders, to the filter
 * stage. */
#include <errno.h>

#include "pipeline/picture/raw_picture.h"
#include "pipeline/run/stream_private.h"

static int receive_picture(struct halo_stream *s, struct halo_decoder *decoder,
                           struct halo_raw_picture **ret, struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_DECODE);
    const int received = halo_decoder_receive(decoder, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_DECODE, begin);
    if (received > 0)
        halo_stats_frame(s->stats, HALO_STAGE_DECODE);
    return received;
}

/* pkt NULL: end of the stream */
static int send_packet(struct halo_stream *s, struct halo_decoder *decoder, const AVPacket *pkt,
                       struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_DECODE);
    const int code = halo_decoder_send(decoder, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_DECODE, begin);
    return code;
}

static int read_packet(struct halo_stream *s, AVPacket *pkt, struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_READ);
    const int code = halo_source_read(s->source, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_READ, begin);
    return code;
}

/* Puts all frames that the decoder has into the queue: 0 or -errno. */
static int drain_decoder(struct halo_stream *s, int index, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[index];
    struct halo_raw_picture *raw;
    int code;
    while ((code = receive_picture(s, t->decoder, &raw, err)) > 0) {
        const int64_t pts =
            halo_source_shift(s->source, halo_raw_picture_pts(raw), t->in->time_base);
        const int where = halo_source_window(s->source, pts, t->in->time_base);
        halo_raw_picture_set_pts(raw, pts);
        t->over |= where > 0;
        if (where != 0) {
            halo_raw_picture_destroy(raw);
            continue;
        }
        t->pictures++;
        code =
            halo_stage_put(s, s->to_filter, (struct halo_item){HALO_ITEM_RAW, index, {.raw = raw}},
                           HALO_STAGE_DECODED_WAIT);
        if (code < 0)
            return code;
    }
    return code;
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
    AVPacket *both[] = {t->priming, copy};
    t->priming = NULL;
    int code = 0;
    for (int i = 0; i < 2; i++) {
        const struct halo_item item = {HALO_ITEM_PACKET, pkt->stream_index, {.packet = both[i]}};
        if (both[i] && code >= 0)
            code = halo_stage_put(s, s->to_filter, item, HALO_STAGE_DECODED_WAIT);
        else
            av_packet_free(&both[i]);
    }
    return code;
}

static int take_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    if (t->role == HALO_ROLE_DROP || (t->over && t->role == HALO_ROLE_FILTER))
        return 0;
    if (t->role == HALO_ROLE_COPY)
        return copy_packet(s, pkt, err);
    const int code = send_packet(s, t->decoder, pkt, err);
    return code < 0 ? code : drain_decoder(s, pkt->stream_index, err);
}

static int check_pictures(const struct halo_stream *s, struct halo_error *err)
{
    for (int i = 0; i < s->tracks.count; i++)
        if (s->tracks.track[i].pictures > 0)
            return 0;
    if (atomic_load(&s->stop))
        return 0;
    return halo_fail(err, -ENODATA, "%s: no frame could be decoded%s", s->settings->source.input,
                     s->settings->part.duration >= 0 ? ": -t ends before its first frame"
                     : s->settings->part.seek > 0    ? " at or after -ss"
                                                     : "");
}

/* Restricts the reports of damage to the requested part. */
static void set_windows(struct halo_stream *s)
{
    for (int i = 0; i < s->tracks.count; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        int64_t from, until;
        halo_source_bounds(s->source, t->in->time_base, &from, &until);
        if (t->role == HALO_ROLE_FILTER)
            halo_decoder_set_window(t->decoder, from, until);
    }
}

int halo_stream_demux(struct halo_stream *s, struct halo_error *err)
{
    set_windows(s);
    AVPacket *pkt = av_packet_alloc();
    if (!pkt)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code;
    while ((code = read_packet(s, pkt, err)) > 0) {
        code = take_packet(s, pkt, err);
        if (code < 0 || halo_tracks_over(&s->tracks))
            break;
    }
    av_packet_free(&pkt);
    for (int i = 0; i < s->tracks.count && code >= 0; i++) {
        if (s->tracks.track[i].role != HALO_ROLE_FILTER || s->tracks.track[i].over)
            continue;
        code = send_packet(s, s->tracks.track[i].decoder, NULL, err);
        if (code >= 0)
            code = drain_decoder(s, i, err);
    }
    if (code >= 0)
        code = halo_source_check_whole(s->source, err);
    return code < 0 ? code : check_pictures(s, err);
}
