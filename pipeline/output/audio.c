/* SPDX-License-Identifier: BSD-2-Clause
 * Transcodes audio: decode, resample, encode. */
#include "pipeline/output/audio.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/mem.h>
#include <libavutil/samplefmt.h>
#include <libswresample/swresample.h>
#include <stdbool.h>
#include <string.h>

#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/container.h"

enum {
    FREE_FRAME = 1024, /* samples, for encoders that accept any number */
    MAX_DRIFT_MS = 40, /* difference between the file's timestamps and the samples counted */
};

struct halo_audio {
    const char *input;
    const AVStream *in;
    AVCodecContext *decoder, *encoder;
    SwrContext *resampler;
    AVAudioFifo *fifo;   /* samples in the encoder's format */
    AVFrame *frame;      /* decoded; waits while silence is written before it */
    int64_t silence;     /* samples of silence still to be written before frame */
    int skip;            /* samples to cut from frame */
    int64_t next;        /* time of the fifo's first sample, in samples */
    int64_t packet_time; /* of the last packet sent */
    bool from_zero;      /* the container counts samples from 0 */
    bool started;        /* next is set */
    bool held;           /* frame is not empty */
    bool draining;       /* no more input */
    bool drained;        /* no more output from the resampler either */
    bool flushed;        /* the end was signalled to the encoder */
};

const AVCodec *halo_audio_find(const char *name, struct halo_error *err)
{
    return halo_av_find_encoder("-c:a", name, AVMEDIA_TYPE_AUDIO, err);
}

static int open_decoder(struct halo_audio *a)
{
    const AVCodec *codec = avcodec_find_decoder(a->in->codecpar->codec_id);
    if (!codec)
        return AVERROR_DECODER_NOT_FOUND;
    if (!(a->decoder = avcodec_alloc_context3(codec)))
        return AVERROR(ENOMEM);
    const int code = avcodec_parameters_to_context(a->decoder, a->in->codecpar);
    a->decoder->pkt_timebase = a->in->time_base;
    return code < 0 ? code : avcodec_open2(a->decoder, codec, NULL);
}

static enum AVSampleFormat choose_format(const AVCodec *codec, enum AVSampleFormat from)
{
    const enum AVSampleFormat *list = halo_av_sample_formats(codec);
    for (int i = 0; list && list[i] != AV_SAMPLE_FMT_NONE; i++)
        if (av_get_packed_sample_fmt(list[i]) == av_get_packed_sample_fmt(from))
            return list[i];
    return list ? list[0] : from;
}

/* The same rate, otherwise the lowest above it, otherwise the highest one supported. */
static int choose_rate(const AVCodec *codec, int rate)
{
    const int *list = halo_av_sample_rates(codec);
    int above = 0, highest = 0;
    for (int i = 0; list && list[i]; i++) {
        highest = FFMAX(highest, list[i]);
        if (list[i] >= rate && (!above || list[i] < above))
            above = list[i];
    }
    return !list ? rate : above ? above : highest;
}

static int choose_layout(AVCodecContext *c, const AVCodec *codec, const AVChannelLayout *from)
{
    AVChannelLayout known = {0};
    const AVChannelLayout *list = halo_av_channel_layouts(codec);
    if (from->order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&known, from->nb_channels);
    else if (av_channel_layout_copy(&known, from) < 0)
        return AVERROR(ENOMEM);
    int found = !list;
    for (int i = 0; list && list[i].nb_channels && !found; i++)
        found = av_channel_layout_compare(&list[i], &known) == 0;
    if (!found) {
        av_channel_layout_uninit(&known);
        av_channel_layout_default(&known, from->nb_channels > 1 ? 2 : 1);
    }
    const int code = av_channel_layout_copy(&c->ch_layout, &known);
    av_channel_layout_uninit(&known);
    return code;
}

static int open_encoder(struct halo_audio *a, const AVCodec *codec, const AVOutputFormat *container)
{
    AVCodecContext *c = a->encoder = avcodec_alloc_context3(codec);
    if (!c)
        return AVERROR(ENOMEM);
    c->sample_fmt = choose_format(codec, a->decoder->sample_fmt);
    c->sample_rate = choose_rate(codec, a->decoder->sample_rate);
    c->time_base = (AVRational){1, c->sample_rate};
    if (container->flags & AVFMT_GLOBALHEADER)
        c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    const int code = choose_layout(c, codec, &a->decoder->ch_layout);
    return code < 0 ? code : avcodec_open2(c, codec, NULL);
}

static int open_resampler(struct halo_audio *a)
{
    AVCodecContext *d = a->decoder, *e = a->encoder;
    AVChannelLayout from = {0};
    if (d->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&from, d->ch_layout.nb_channels);
    else if (av_channel_layout_copy(&from, &d->ch_layout) < 0)
        return AVERROR(ENOMEM);
    int code = swr_alloc_set_opts2(&a->resampler, &e->ch_layout, e->sample_fmt, e->sample_rate,
                                   &from, d->sample_fmt, d->sample_rate, 0, NULL);
    av_channel_layout_uninit(&from);
    if (code >= 0)
        code = swr_init(a->resampler);
    a->fifo = av_audio_fifo_alloc(e->sample_fmt, e->ch_layout.nb_channels, FREE_FRAME);
    a->frame = av_frame_alloc();
    return code < 0 ? code : a->fifo && a->frame ? 0 : AVERROR(ENOMEM);
}

int halo_audio_open(struct halo_audio **ret, const char *input, const AVStream *in,
                    const AVCodec *codec, const AVOutputFormat *container, struct halo_error *err)
{
    char why[400];
    struct halo_audio *a = av_mallocz(sizeof *a);
    if (!a)
        return halo_fail(err, -ENOMEM, "out of memory");
    a->input = input;
    a->in = in;
    a->from_zero = halo_container_starts(container, codec->id) == HALO_STARTS_NOWHERE;
    int code = open_decoder(a);
    if (code < 0) {
        halo_fail(err, halo_av_errno(code), "%s: stream %d: cannot decode %s audio: %s", input,
                  in->index, avcodec_get_name(in->codecpar->codec_id),
                  halo_av_reason(code, NULL, why, sizeof why));
    } else if ((code = open_encoder(a, codec, container)) < 0) {
        halo_fail_usage(
            err, "stream %d: the audio encoder %s does not accept %d Hz, %d channels: %s",
            in->index, codec->name, a->decoder->sample_rate, a->decoder->ch_layout.nb_channels,
            halo_av_reason(code, NULL, why, sizeof why));
    } else if ((code = open_resampler(a)) < 0) {
        halo_fail(err, halo_av_errno(code), "stream %d: cannot resample the audio: %s", in->index,
                  halo_av_reason(code, NULL, why, sizeof why));
    }
    if (code < 0) {
        halo_audio_close(a);
        return halo_av_errno(code);
    }
    *ret = a;
    return 0;
}

void halo_audio_close(struct halo_audio *a)
{
    if (!a)
        return;
    avcodec_free_context(&a->decoder);
    avcodec_free_context(&a->encoder);
    swr_free(&a->resampler);
    if (a->fifo)
        av_audio_fifo_free(a->fifo);
    av_frame_free(&a->frame);
    av_free(a);
}

int halo_audio_describe(const struct halo_audio *a, AVStream *out)
{
    out->time_base = a->encoder->time_base;
    return halo_av_parameters_from_context(out->codecpar, a->encoder) < 0 ? -ENOMEM : 0;
}

AVRational halo_audio_time_base(const struct halo_audio *a)
{
    return a->encoder->time_base;
}

static AVFrame *encoder_frame(const struct halo_audio *a, int samples)
{
    AVFrame *f = av_frame_alloc();
    if (!f)
        return NULL;
    f->format = a->encoder->sample_fmt;
    f->sample_rate = a->encoder->sample_rate;
    f->nb_samples = samples;
    if (av_channel_layout_copy(&f->ch_layout, &a->encoder->ch_layout) < 0 ||
        av_frame_get_buffer(f, 0) < 0)
        av_frame_free(&f);
    return f;
}

/* Writes a piece of the silence, because a long gap must not be in memory as a whole. */
static int push_silence(struct halo_audio *a)
{
    const int n = (int)FFMIN(a->silence, FREE_FRAME);
    AVFrame *f = encoder_frame(a, n);
    if (!f)
        return AVERROR(ENOMEM);
    av_samples_set_silence(f->extended_data, 0, n, f->ch_layout.nb_channels, f->format);
    const int code = av_audio_fifo_write(a->fifo, (void **)f->extended_data, n);
    av_frame_free(&f);
    a->silence -= n;
    return code < 0 ? code : 0;
}

/* If the file's timestamps and the samples counted differ, the timestamps prevail: samples of the
 * frame are cut, or silence is written before it. */
static void keep_time(struct halo_audio *a, int64_t pts)
{
    const int rate = a->encoder->sample_rate;
    a->silence = a->skip = 0;
    if (pts == AV_NOPTS_VALUE) {
        a->started = true;
        return;
    }
    const int64_t late = swr_get_delay(a->resampler, rate);
    const int64_t want = av_rescale_q(pts, a->in->time_base, a->encoder->time_base);
    if (!a->started && !a->from_zero)
        a->next = want;
    const int64_t drift = want - (a->next + av_audio_fifo_size(a->fifo) + late);
    const int64_t most = a->started ? (int64_t)rate * MAX_DRIFT_MS / 1000 : 0;
    if (drift > most)
        a->silence = drift;
    else if (-drift > most)
        a->skip = (int)FFMIN(-drift, INT32_MAX / 2);
    a->started |= a->skip < av_rescale(a->frame->nb_samples, rate, a->decoder->sample_rate);
}

/* frame NULL: flushes the resampler. */
static int resample(struct halo_audio *a, const AVFrame *frame)
{
    const int skip = frame ? a->skip : 0;
    const int room = swr_get_out_samples(a->resampler, frame ? frame->nb_samples : 0);
    if (room <= 0)
        return room;
    AVFrame *out = encoder_frame(a, room);
    if (!out)
        return AVERROR(ENOMEM);
    int code = swr_convert(a->resampler, out->extended_data, room,
                           frame ? (const uint8_t **)frame->extended_data : NULL,
                           frame ? frame->nb_samples : 0);
    if (code > 0 && skip < code) {
        if (skip) /* cut at the front */
            av_samples_copy(out->extended_data, out->extended_data, 0, skip, code - skip,
                            out->ch_layout.nb_channels, out->format);
        code = av_audio_fifo_write(a->fifo, (void **)out->extended_data, code - skip);
    }
    av_frame_free(&out);
    return code < 0 ? code : 0;
}

static int fail_damaged(const struct halo_audio *a, int averror, struct halo_error *err)
{
    char clock[32], why[400];
    const double time =
        a->packet_time == AV_NOPTS_VALUE ? 0 : a->packet_time * av_q2d(a->in->time_base);
    return halo_fail(err, halo_av_errno(averror), "%s: damaged at %s: stream %d (%s): %s", a->input,
                     halo_av_clock(time, clock, sizeof clock), a->in->index,
                     avcodec_get_name(a->decoder->codec_id),
                     halo_av_reason(averror, NULL, why, sizeof why));
}

int halo_audio_send(struct halo_audio *a, const AVPacket *pkt, struct halo_error *err)
{
    if (pkt)
        a->packet_time = pkt->pts;
    else
        a->draining = true;
    const int code = avcodec_send_packet(a->decoder, pkt);
    return code < 0 && code != AVERROR_EOF ? fail_damaged(a, code, err) : 0;
}

/* Adds samples to the fifo. 1: more may follow; 0: a packet is needed, or everything is in the
 * fifo. */
static int fill(struct halo_audio *a, struct halo_error *err)
{
    int code;
    if (a->held && a->silence > 0) {
        code = push_silence(a);
    } else if (a->held) {
        code = resample(a, a->frame);
        av_frame_unref(a->frame);
        a->held = false;
    } else if ((code = avcodec_receive_frame(a->decoder, a->frame)) >= 0) {
        a->held = true;
        keep_time(a, a->frame->best_effort_timestamp);
    } else if (code == AVERROR_EOF && a->draining && !a->drained) {
        a->drained = true;
        code = a->started ? resample(a, NULL) : 0;
    } else if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) {
        return 0;
    }
    return code < 0 ? fail_damaged(a, code, err) : 1;
}

/* Sends one frame from the fifo to the encoder. 1: sent; 0: more samples are needed. */
static int feed_encoder(struct halo_audio *a)
{
    const int whole = a->encoder->frame_size ? a->encoder->frame_size : FREE_FRAME;
    const int held = av_audio_fifo_size(a->fifo);
    if (held < whole && !a->drained)
        return 0;
    if (held == 0) {
        const int code = a->flushed ? 0 : avcodec_send_frame(a->encoder, NULL);
        const int sent = !a->flushed && code >= 0;
        a->flushed = true;
        return code < 0 ? code : sent;
    }
    AVFrame *f = encoder_frame(a, FFMIN(held, whole));
    if (!f)
        return AVERROR(ENOMEM);
    int code = av_audio_fifo_read(a->fifo, (void **)f->extended_data, f->nb_samples);
    f->pts = a->next;
    a->next += f->nb_samples;
    if (code >= 0)
        code = avcodec_send_frame(a->encoder, f);
    av_frame_free(&f);
    return code < 0 ? code : 1;
}

int halo_audio_receive(struct halo_audio *a, AVPacket *pkt, struct halo_error *err)
{
    char why[400];
    int code;
    while ((code = avcodec_receive_packet(a->encoder, pkt)) == AVERROR(EAGAIN)) {
        if ((code = feed_encoder(a)) < 0)
            break;
        if (code == 0 && (code = fill(a, err)) <= 0)
            return code;
    }
    if (code == 0)
        return 1; /* a last packet can contain side data only: FLAC's checksum */
    if (code == AVERROR_EOF)
        return 0;
    return halo_fail(err, halo_av_errno(code), "the audio encoder %s failed: %s",
                     a->encoder->codec->name, halo_av_reason(code, NULL, why, sizeof why));
}
