/* SPDX-License-Identifier: BSD-2-Clause
 * The stages of a stream: source, filter, collect, encode (stream.h tells how a frame travels). */
#include <errno.h>
#include <string.h>

#include "pipeline/stats.h"
#include "pipeline/stream_private.h"

/* halo_queue_put and _get, the wait recorded as this stage. */
static int put(struct halo_stream *s, struct halo_queue *to, struct halo_item item,
               enum halo_stage wait)
{
    const int64_t begin = halo_stats_begin(s->stats, wait);
    const int ret = halo_queue_put(to, item);
    halo_stats_end(s->stats, wait, begin);
    return ret;
}

static int get(struct halo_stream *s, struct halo_queue *from, struct halo_item *ret,
               enum halo_stage wait)
{
    const int64_t begin = halo_stats_begin(s->stats, wait);
    const int got = halo_queue_get(from, ret);
    halo_stats_end(s->stats, wait, begin);
    return got;
}

/* ---- source thread ---- */

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

/* pkt NULL: the end. */
static int send_packet(struct halo_stream *s, struct halo_decoder *decoder, const AVPacket *pkt,
                       struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_DECODE);
    const int ret = halo_decoder_send(decoder, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_DECODE, begin);
    return ret;
}

static int read_packet(struct halo_stream *s, AVPacket *pkt, struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_READ);
    const int ret = halo_source_read(s->source, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_READ, begin);
    return ret;
}

/* All pictures that the decoder has, into the queue: 0, or -errno. */
static int drain_decoder(struct halo_stream *s, int index, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[index];
    struct halo_raw_picture *raw;
    int ret;
    while ((ret = receive_picture(s, t->decoder, &raw, err)) > 0) {
        const int64_t pts =
            halo_source_shift(s->source, halo_raw_picture_pts(raw), t->in->time_base);
        const int where = halo_source_window(s->source, pts, t->in->time_base);
        halo_raw_picture_set_pts(raw, pts);
        halo_decoder_tolerate(t->decoder, where < 0);
        t->over |= where > 0;
        if (where != 0) {
            halo_raw_picture_destroy(raw);
            continue;
        }
        t->pictures++;
        ret = put(s, s->to_filter, (struct halo_item){HALO_ITEM_RAW, index, {.raw = raw}},
                  HALO_STAGE_DECODED_WAIT);
        if (ret < 0)
            return ret;
    }
    return ret;
}

/* A subtitle that is shown when -ss comes begins there. */
static void cut_subtitle(AVPacket *pkt)
{
    if (pkt->pts == AV_NOPTS_VALUE || pkt->pts >= 0 || pkt->pts + pkt->duration <= 0)
        return;
    pkt->duration += pkt->pts;
    pkt->pts = pkt->dts = 0;
}

/* Sound that the input's edit list hides would be heard where the output has none. The packet
 * before the first that is heard stays: the decoder needs it. 1: pkt is to be copied; 0: it is
 * kept, or dropped. */
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
        return 0; /* counted; torn sound is no use to anybody */
    AVPacket *copy = av_packet_clone(pkt);
    if (!copy)
        return halo_fail(err, -ENOMEM, "out of memory");
    copy->pts = halo_source_shift(s->source, copy->pts, t->in->time_base);
    copy->dts = halo_source_shift(s->source, copy->dts, t->in->time_base);
    if (t->in->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE && s->settings->seek >= 0)
        cut_subtitle(copy);
    const int64_t ts = copy->pts != AV_NOPTS_VALUE ? copy->pts : copy->dts;
    const int where = halo_source_window(s->source, ts, t->in->time_base);
    t->over |= where > 0;
    if (where != 0) {
        av_packet_free(&copy);
        return 0;
    }
    if (!keep_hidden(t, copy))
        return 0;
    AVPacket *both[] = {t->priming, copy};
    t->priming = NULL;
    int ret = 0;
    for (int i = 0; i < 2; i++) {
        const struct halo_item item = {HALO_ITEM_PACKET, pkt->stream_index, {.packet = both[i]}};
        if (both[i] && ret >= 0)
            ret = put(s, s->to_filter, item, HALO_STAGE_DECODED_WAIT);
        else
            av_packet_free(&both[i]);
    }
    return ret;
}

static int take_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    if (t->role == HALO_ROLE_DROP || (t->over && t->role == HALO_ROLE_FILTER))
        return 0;
    if (t->role == HALO_ROLE_COPY)
        return copy_packet(s, pkt, err);
    const int ret = send_packet(s, t->decoder, pkt, err);
    return ret < 0 ? ret : drain_decoder(s, pkt->stream_index, err);
}

static int check_pictures(const struct halo_stream *s, struct halo_error *err)
{
    for (int i = 0; i < s->tracks.count; i++)
        if (s->tracks.track[i].pictures > 0)
            return 0;
    if (atomic_load(&s->stop))
        return 0;
    return halo_fail(err, -ENODATA, "%s: no picture in it could be decoded%s", s->settings->input,
                     s->settings->seek > 0 ? " at or after -ss" : "");
}

int halo_stream_demux(struct halo_stream *s, struct halo_error *err)
{
    AVPacket *pkt = av_packet_alloc();
    if (!pkt)
        return halo_fail(err, -ENOMEM, "out of memory");
    int ret;
    while ((ret = read_packet(s, pkt, err)) > 0) {
        ret = take_packet(s, pkt, err);
        if (ret < 0 || halo_tracks_over(&s->tracks))
            break;
    }
    av_packet_free(&pkt);
    for (int i = 0; i < s->tracks.count && ret >= 0; i++) {
        if (s->tracks.track[i].role != HALO_ROLE_FILTER || s->tracks.track[i].over)
            continue;
        ret = send_packet(s, s->tracks.track[i].decoder, NULL, err);
        if (ret >= 0)
            ret = drain_decoder(s, i, err);
    }
    if (ret >= 0)
        ret = halo_source_check_whole(s->source, err);
    return ret < 0 ? ret : check_pictures(s, err);
}

/* ---- filter and collect threads ---- */

/* Starts filtering a picture; the rest goes by. */
static int enter_item(struct halo_stream *s, struct halo_item *item, struct halo_error *err)
{
    if (item->kind == HALO_ITEM_RAW) {
        struct halo_raw_picture *raw = item->raw;
        struct halo_pending *pending;
        const int ret = halo_gate_enter(s->tracks.track[item->track].gate, raw, &pending, err);
        halo_raw_picture_destroy(raw);
        if (ret < 0)
            return ret;
        item->kind = HALO_ITEM_PENDING;
        item->pending = pending;
    }
    return put(s, s->in_gate, *item, HALO_STAGE_FILTERED_WAIT);
}

/* Waits for a picture in the gate; the rest goes by. */
static int leave_item(struct halo_stream *s, struct halo_item *item, struct halo_error *err)
{
    if (item->kind == HALO_ITEM_PENDING) {
        struct halo_output_picture *output;
        const int ret = halo_gate_leave(item->pending, &output, err);
        if (ret < 0)
            return ret;
        item->kind = HALO_ITEM_OUTPUT;
        item->output = output;
    }
    return put(s, s->to_encode, *item, HALO_STAGE_COLLECTED_WAIT);
}

/* Takes items from one queue and passes each on, until the end. */
static void pass_all(struct halo_stream *s, struct halo_queue *from, enum halo_stage wait,
                     int (*pass)(struct halo_stream *s, struct halo_item *item,
                                 struct halo_error *err))
{
    struct halo_error err = {0};
    struct halo_item item;
    while (get(s, from, &item, wait) == 0) {
        const bool end = item.kind == HALO_ITEM_END;
        const int ret = pass(s, &item, &err);
        if (ret < 0 && ret != -ECANCELED) {
            halo_fail(&err, ret, "the filter stage failed: %s", strerror(-ret));
            halo_stream_fail(s, &err);
        }
        if (ret < 0 || end)
            break;
    }
}

void *halo_stream_filter_main(void *arg)
{
    struct halo_stream *s = arg;
    pass_all(s, s->to_filter, HALO_STAGE_FILTER_WAIT, enter_item);
    return NULL;
}

void *halo_stream_collect_main(void *arg)
{
    struct halo_stream *s = arg;
    pass_all(s, s->in_gate, HALO_STAGE_COLLECT_WAIT, leave_item);
    return NULL;
}

/* ---- encode thread ---- */

static int write_packet(struct halo_stream *s, AVPacket *pkt, int index, AVRational tb,
                        struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    pkt->stream_index = t->out->index;
    pkt->pts += pkt->pts != AV_NOPTS_VALUE ? t->delay : 0;
    pkt->dts += pkt->dts != AV_NOPTS_VALUE ? t->delay : 0;
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_WRITE);
    const int ret = halo_sink_write(s->sink, pkt, tb, err);
    halo_stats_end(s->stats, HALO_STAGE_WRITE, begin);
    atomic_store(&s->bytes, halo_sink_bytes(s->sink));
    return ret;
}

static int send_picture(struct halo_stream *s, struct halo_encoder *encoder,
                        const struct halo_output_picture *picture, struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_ENCODE);
    const int ret = halo_encoder_send(encoder, picture, err);
    halo_stats_end(s->stats, HALO_STAGE_ENCODE, begin);
    if (picture && halo_encoder_converts(encoder))
        halo_stats_copied(s->stats, halo_output_picture_frame(picture));
    return ret;
}

static int receive_packet(struct halo_stream *s, struct halo_encoder *encoder, AVPacket *ret,
                          struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_ENCODE);
    const int received = halo_encoder_receive(encoder, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_ENCODE, begin);
    return received;
}

static int encode_picture(struct halo_stream *s, int index,
                          const struct halo_output_picture *picture, struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    AVPacket *pkt = t->encoder ? av_packet_alloc() : NULL;
    int ret = 0;
    if (t->encoder && !pkt)
        ret = halo_fail(err, -ENOMEM, "out of memory");
    if (ret >= 0 && t->encoder)
        ret = send_picture(s, t->encoder, picture, err);
    while (ret >= 0 && t->encoder && (ret = receive_packet(s, t->encoder, pkt, err)) > 0)
        ret = write_packet(s, pkt, index, halo_encoder_time_base(t->encoder), err);
    av_packet_free(&pkt);
    if (t->encoder && picture)
        halo_stats_frame(s->stats, HALO_STAGE_ENCODE);
    if (ret >= 0 && picture) {
        const double time =
            halo_output_picture_frame(picture)->pts * av_q2d(t->in->time_base) * 1e6;
        atomic_fetch_add(&s->frames, 1);
        atomic_store(&s->time_us, (long long)time);
    }
    return ret;
}

static int send_audio(struct halo_stream *s, struct halo_audio *audio, const AVPacket *pkt,
                      struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_AUDIO);
    const int ret = halo_audio_send(audio, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_AUDIO, begin);
    return ret;
}

static int receive_audio(struct halo_stream *s, struct halo_audio *audio, AVPacket *ret,
                         struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_AUDIO);
    const int received = halo_audio_receive(audio, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_AUDIO, begin);
    return received;
}

/* pkt NULL: the end. */
static int encode_audio(struct halo_stream *s, const AVPacket *pkt, int index,
                        struct halo_error *err)
{
    struct halo_audio *audio = s->tracks.track[index].audio;
    AVPacket *out = av_packet_alloc();
    int ret = out ? send_audio(s, audio, pkt, err) : halo_fail(err, -ENOMEM, "out of memory");
    while (ret >= 0 && (ret = receive_audio(s, audio, out, err)) > 0)
        ret = write_packet(s, out, index, halo_audio_time_base(audio), err);
    av_packet_free(&out);
    return ret;
}

static int copy_out(struct halo_stream *s, AVPacket *pkt, int index, struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    if (t->audio)
        return encode_audio(s, pkt, index, err);
    const int ret = t->subtitle ? halo_subtitle_convert(t->subtitle, pkt, err) : 1;
    if (ret <= 0)
        return ret;
    const int written = write_packet(s, pkt, index, t->in->time_base, err);
    /* Some muxers parse what they are given. */
    return written == -EBADMSG ? halo_damage_meet(&s->damage, written, err) : written;
}

static int encode_item(struct halo_stream *s, const struct halo_item *item, struct halo_error *err)
{
    int ret = 0;
    switch (item->kind) {
    case HALO_ITEM_PACKET:
        return copy_out(s, item->packet, item->track, err);
    case HALO_ITEM_OUTPUT:
        return encode_picture(s, item->track, item->output, err);
    case HALO_ITEM_END:
        for (int i = 0; i < s->tracks.count && ret >= 0; i++) {
            if (s->tracks.track[i].encoder)
                ret = encode_picture(s, i, NULL, err);
            else if (s->tracks.track[i].audio)
                ret = encode_audio(s, NULL, i, err);
        }
        return ret;
    case HALO_ITEM_RAW:
    case HALO_ITEM_PENDING:
        break;
    }
    return halo_fail(err, -EPERM, "an unfiltered picture reached the encoder: refused");
}

/* From now on, and no longer, a stop may wake this thread. */
static void set_writing(struct halo_stream *s, bool writing)
{
    pthread_mutex_lock(&s->lock);
    s->writer = pthread_self();
    s->writing = writing;
    pthread_mutex_unlock(&s->lock);
}

void *halo_stream_encode_main(void *arg)
{
    struct halo_stream *s = arg;
    struct halo_error err = {0};
    struct halo_item item;
    set_writing(s, true);
    while (get(s, s->to_encode, &item, HALO_STAGE_ENCODE_WAIT) == 0) {
        const bool end = item.kind == HALO_ITEM_END;
        const int ret = encode_item(s, &item, &err);
        halo_item_finish(&item);
        if (ret < 0) {
            halo_fail(&err, ret, "the encode stage failed: %s", strerror(-ret));
            halo_stream_fail(s, &err);
        }
        if (ret < 0 || end)
            break;
    }
    set_writing(s, false);
    return NULL;
}
