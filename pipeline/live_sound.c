/* SPDX-License-Identifier: BSD-2-Clause
 * Sound of a live stream: by the pictures' clock, copied or encoded for each encoding that has
 * it. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/live_private.h"

enum { GAP = 1000000 }; /* microseconds: longer ones do not become silence */

static const AVStream *sound_of(const struct halo_live *live)
{
    const AVFormatContext *like = live->shape->like;
    return like->nb_streams > 1 ? like->streams[1] : NULL;
}

static bool is_coded(const struct halo_live_encoding *e)
{
    return strcmp(e->what->audio, "copy") != 0;
}

static int open_audio(struct halo_live_encoding *e, struct halo_error *err)
{
    const AVCodec *codec = halo_audio_find(e->what->audio, err);
    if (!codec)
        return -EINVAL;
    return halo_audio_open(&e->audio, e->live->name, sound_of(e->live), codec,
                           av_guess_format("matroska", NULL, NULL), err);
}

int halo_live_sound_prepare(struct halo_live_encoding *e, struct halo_error *err)
{
    const AVStream *in = sound_of(e->live);
    if (!e->what->audio || !in)
        return 0;
    AVStream *out = avformat_new_stream(e->out, NULL);
    if (!out)
        return halo_fail(err, -ENOMEM, "out of memory");
    int ret = is_coded(e) ? open_audio(e, err) : 0;
    if (ret >= 0)
        ret = e->audio ? halo_audio_describe(e->audio, out)
                       : avcodec_parameters_copy(out->codecpar, in->codecpar);
    out->codecpar->codec_tag = 0;
    e->sound = ret >= 0;
    e->last_sound = AV_NOPTS_VALUE;
    return ret < 0 ? halo_fail(err, ret, "out of memory") : 0;
}

/* After a gap the encoder begins anew: it would fill the time with silence. */
static int restart(struct halo_live_encoding *e, struct halo_error *err)
{
    halo_audio_close(e->audio);
    e->audio = NULL;
    return open_audio(e, err);
}

static int encode(struct halo_live_encoding *e, const AVPacket *pkt, struct halo_error *err)
{
    const int64_t gap = e->last_sound == AV_NOPTS_VALUE ? 0 : pkt->pts - e->last_sound;
    AVPacket *out = av_packet_alloc();
    int ret = out ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (ret >= 0 && (!e->audio || gap > GAP || gap < -GAP))
        ret = restart(e, err);
    if (ret >= 0)
        ret = halo_audio_send(e->audio, pkt, err);
    while (ret >= 0 && (ret = halo_audio_receive(e->audio, out, err)) > 0) {
        av_packet_rescale_ts(out, halo_audio_time_base(e->audio), HALO_LIVE_TIME);
        halo_live_encoding_tell(e, out, 1, false);
        av_packet_unref(out);
    }
    av_packet_free(&out);
    return ret;
}

void halo_live_sound_take(struct halo_live_encoding *e, AVPacket *pkt)
{
    struct halo_error err = {0};
    if (!e->sound || !halo_live_encoding_runs(e)) {
        av_packet_free(&pkt);
        return;
    }
    if (is_coded(e) && encode(e, pkt, &err) < 0) {
        halo_log(HALO_LOG_DEBUG, "%s; going on", err.text);
        halo_audio_close(e->audio);
        e->audio = NULL;
    } else if (!is_coded(e)) {
        pkt->flags |= AV_PKT_FLAG_KEY;
        halo_live_encoding_tell(e, pkt, 1, false);
    }
    e->last_sound = pkt->pts;
    av_packet_free(&pkt);
}

/* What comes now is what was announced. */
static bool is_same(const AVStream *a, const AVStream *b)
{
    const AVCodecParameters *x = a->codecpar, *y = b->codecpar;
    return x->codec_id == y->codec_id && x->sample_rate == y->sample_rate &&
           x->ch_layout.nb_channels == y->ch_layout.nb_channels &&
           x->extradata_size == y->extradata_size &&
           (!x->extradata_size || !memcmp(x->extradata, y->extradata, (size_t)x->extradata_size));
}

void halo_live_sound_spread(struct halo_live *live, const struct halo_live_input *in, AVPacket *pkt)
{
    const AVRational tb = in->sound->time_base;
    const AVStream *sound = sound_of(live);
    const bool usable = sound && is_same(sound, in->sound) && pkt->pts != AV_NOPTS_VALUE;
    if (pkt->dts == AV_NOPTS_VALUE)
        pkt->dts = pkt->pts;
    pkt->pts = halo_live_clock_map(&live->clock, pkt->pts, tb);
    pkt->dts = halo_live_clock_map(&live->clock, pkt->dts, tb);
    pkt->duration = av_rescale_q(pkt->duration, tb, HALO_LIVE_TIME);
    for (int i = 0; i < live->encodings && usable; i++) {
        struct halo_live_encoding *e = &live->encoder[i];
        if (!e->what->audio || !halo_live_encoding_runs(e))
            continue;
        struct halo_item item = {.kind = HALO_ITEM_PACKET, .packet = av_packet_clone(pkt)};
        if (item.packet && live->live)
            halo_queue_put_newest(e->queue, item);
        else if (item.packet)
            halo_queue_put(e->queue, item);
    }
    av_packet_free(&pkt);
}
