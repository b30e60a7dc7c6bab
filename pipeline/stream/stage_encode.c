/* SPDX-License-Identifier: BSD-2-Clause
 * The encode stage: encodes output frames, and writes them, audio and copied packets to the
 * output. */
#include <errno.h>
#include <string.h>

#include "pipeline/stream/stream_private.h"

static int send_frame(struct halo_stream *s, struct halo_encoder *encoder,
                      const struct halo_output_frame *frame, struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_ENCODE);
    const int code = halo_encoder_send(encoder, frame, err);
    halo_stats_end(s->stats, HALO_STAGE_ENCODE, begin);
    if (frame && halo_encoder_converts(encoder))
        halo_stats_copied(s->stats, halo_output_frame_frame(frame));
    return code;
}

static int receive_packet(struct halo_stream *s, struct halo_encoder *encoder, AVPacket *ret,
                          struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_ENCODE);
    const int received = halo_encoder_receive(encoder, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_ENCODE, begin);
    return received;
}

static int encode_frame(struct halo_stream *s, int index, const struct halo_output_frame *frame,
                        struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    AVPacket *pkt = t->encoder ? av_packet_alloc() : NULL;
    int code = 0;
    if (t->encoder && !pkt)
        code = halo_fail(err, -ENOMEM, "out of memory");
    for (int more = 1; more > 0 && code >= 0 && t->encoder;) {
        code = more = send_frame(s, t->encoder, frame, err);
        while (code >= 0 && (code = receive_packet(s, t->encoder, pkt, err)) > 0)
            code = s->ends->write(s, pkt, index, halo_encoder_time_base(t->encoder), err);
    }
    av_packet_free(&pkt);
    if (t->encoder && frame)
        halo_stats_frame(s->stats, HALO_STAGE_ENCODE);
    if (code >= 0 && frame) {
        const double time = halo_output_frame_frame(frame)->pts * av_q2d(t->in->time_base) * 1e6;
        atomic_fetch_add(&s->frames, 1);
        atomic_store(&s->time_us, (long long)time);
    }
    return code;
}

static int send_audio(struct halo_stream *s, struct halo_audio *audio, const AVPacket *pkt,
                      struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_AUDIO);
    const int code = halo_audio_send(audio, pkt, err);
    halo_stats_end(s->stats, HALO_STAGE_AUDIO, begin);
    return code;
}

static int receive_audio(struct halo_stream *s, struct halo_audio *audio, AVPacket *ret,
                         struct halo_error *err)
{
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_AUDIO);
    const int received = halo_audio_receive(audio, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_AUDIO, begin);
    return received;
}

/* pkt NULL: end of the stream */
static int encode_audio(struct halo_stream *s, const AVPacket *pkt, int index,
                        struct halo_error *err)
{
    struct halo_audio *audio = s->tracks.track[index].audio;
    AVPacket *out = av_packet_alloc();
    int code = out ? send_audio(s, audio, pkt, err) : halo_fail(err, -ENOMEM, "out of memory");
    while (code >= 0 && (code = receive_audio(s, audio, out, err)) > 0)
        code = s->ends->write(s, out, index, halo_audio_time_base(audio), err);
    av_packet_free(&out);
    return code;
}

static int copy_out(struct halo_stream *s, AVPacket *pkt, int index, struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    if (t->role == HALO_ROLE_JOIN) {
        atomic_fetch_add(&s->frames, 1);
        return s->ends->write(s, pkt, index, halo_encoder_time_base(t->encoder), err);
    }
    if (t->audio)
        return encode_audio(s, pkt, index, err);
    if (t->from_zero && pkt->pts != AV_NOPTS_VALUE && pkt->pts + pkt->duration / 2 < 0)
        return 0;
    const int ret = t->subtitle ? halo_subtitle_convert(t->subtitle, pkt, err) : 1;
    if (ret <= 0)
        return ret;
    const int written = s->ends->write(s, pkt, index, t->in->time_base, err);
    /* Some muxers parse the packets. */
    return written == -EBADMSG ? halo_damage_meet(&s->damage, written, err) : written;
}

static int encode_item(struct halo_stream *s, const struct halo_item *item, struct halo_error *err)
{
    int code = 0;
    switch (item->kind) {
    case HALO_ITEM_PACKET:
        return copy_out(s, item->packet, item->track, err);
    case HALO_ITEM_OUTPUT:
        return encode_frame(s, item->track, item->output, err);
    case HALO_ITEM_END:
        for (int i = 0; i < s->tracks.count && code >= 0; i++) {
            if (s->tracks.track[i].role == HALO_ROLE_FILTER && s->ends->write)
                code = encode_frame(s, i, NULL, err);
            else if (s->tracks.track[i].audio)
                code = encode_audio(s, NULL, i, err);
        }
        return code;
    case HALO_ITEM_RAW:
    case HALO_ITEM_PENDING:
        break;
    }
    return halo_fail(err, -EPERM, "an unfiltered frame reached the encoder and was refused");
}

void *halo_stream_encode_main(void *arg)
{
    struct halo_stream *s = arg;
    struct halo_error err = {0};
    struct halo_item item;
    while (halo_stage_get(s->stats, s->to_encode, &item, HALO_STAGE_ENCODE_WAIT) == 0) {
        const bool end = item.kind == HALO_ITEM_END;
        const int code = encode_item(s, &item, &err);
        halo_item_finish(&item);
        if (code < 0) {
            halo_fail(&err, code, "the encode stage failed: %s", strerror(-code));
            s->fail(s, &err);
        }
        if (code < 0 || end)
            break;
    }
    return NULL;
}
