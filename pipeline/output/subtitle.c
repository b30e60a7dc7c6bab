/* SPDX-License-Identifier: BSD-2-Clause
 * Converts text subtitles to another codec. */
#include "pipeline/output/subtitle.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"

enum {
    MAX_TEXT = 1 << 20, /* bytes of one subtitle */
};

struct halo_subtitle {
    int index; /* of the input stream */
    AVRational time_base;
    AVCodecContext *decoder, *encoder;
};

static bool is_text(enum AVCodecID id)
{
    const AVCodecDescriptor *d = avcodec_descriptor_get(id);
    return d && (d->props & AV_CODEC_PROP_TEXT_SUB);
}

enum AVCodecID halo_subtitle_codec(const AVOutputFormat *container, enum AVCodecID from)
{
    static const enum AVCodecID forms[] = {AV_CODEC_ID_SUBRIP, AV_CODEC_ID_MOV_TEXT,
                                           AV_CODEC_ID_WEBVTT, AV_CODEC_ID_ASS};
    for (size_t i = 0; i < sizeof forms / sizeof *forms && is_text(from); i++)
        if (avformat_query_codec(container, forms[i], FF_COMPLIANCE_NORMAL) == 1)
            return forms[i];
    return AV_CODEC_ID_NONE;
}

static int open_decoder(struct halo_subtitle *s, const AVStream *in)
{
    const AVCodec *codec = avcodec_find_decoder(in->codecpar->codec_id);
    s->decoder = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!s->decoder)
        return codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND;
    const int code = avcodec_parameters_to_context(s->decoder, in->codecpar);
    s->decoder->pkt_timebase = in->time_base;
    return code < 0 ? code : avcodec_open2(s->decoder, codec, NULL);
}

/* The decoder's header contains the styles, which the encoder converts. */
static int open_encoder(struct halo_subtitle *s, enum AVCodecID to)
{
    const AVCodec *codec = avcodec_find_encoder(to);
    AVCodecContext *c = s->encoder = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!c)
        return codec ? AVERROR(ENOMEM) : AVERROR_ENCODER_NOT_FOUND;
    c->time_base = AV_TIME_BASE_Q;
    if (s->decoder->subtitle_header) {
        c->subtitle_header = av_mallocz(s->decoder->subtitle_header_size + 1);
        if (!c->subtitle_header)
            return AVERROR(ENOMEM);
        memcpy(c->subtitle_header, s->decoder->subtitle_header, s->decoder->subtitle_header_size);
        c->subtitle_header_size = s->decoder->subtitle_header_size;
    }
    return avcodec_open2(c, codec, NULL);
}

int halo_subtitle_open(struct halo_subtitle **ret, const AVStream *in, enum AVCodecID to,
                       struct halo_error *err)
{
    char why[400];
    struct halo_subtitle *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->index = in->index;
    s->time_base = in->time_base;
    int code = open_decoder(s, in);
    if (code >= 0)
        code = open_encoder(s, to);
    if (code < 0) {
        halo_subtitle_close(s);
        return halo_fail(err, halo_av_errno(code),
                         "stream %d: cannot convert %s subtitles to %s: %s", in->index,
                         avcodec_get_name(in->codecpar->codec_id), avcodec_get_name(to),
                         halo_av_reason(code, NULL, why, sizeof why));
    }
    *ret = s;
    return 0;
}

void halo_subtitle_close(struct halo_subtitle *s)
{
    if (!s)
        return;
    avcodec_free_context(&s->decoder);
    avcodec_free_context(&s->encoder);
    av_free(s);
}

int halo_subtitle_describe(const struct halo_subtitle *s, AVStream *out)
{
    out->time_base = s->time_base;
    return halo_av_parameters_from_context(out->codecpar, s->encoder) < 0 ? -ENOMEM : 0;
}

static int encode(struct halo_subtitle *s, const AVSubtitle *text, AVPacket *pkt)
{
    uint8_t *buffer = av_malloc(MAX_TEXT);
    if (!buffer)
        return AVERROR(ENOMEM);
    int size = avcodec_encode_subtitle(s->encoder, buffer, MAX_TEXT, text);
    AVBufferRef *data = size > 0 ? av_buffer_allocz(size + AV_INPUT_BUFFER_PADDING_SIZE) : NULL;
    if (size > 0 && !data)
        size = AVERROR(ENOMEM);
    if (data) {
        memcpy(data->data, buffer, size);
        av_buffer_unref(&pkt->buf);
        pkt->buf = data;
        pkt->data = data->data;
        pkt->size = size;
        av_packet_free_side_data(pkt);
    }
    av_free(buffer);
    return size;
}

int halo_subtitle_convert(struct halo_subtitle *s, AVPacket *pkt, struct halo_error *err)
{
    char why[400];
    AVSubtitle text = {0};
    int got = 0;
    int code = avcodec_decode_subtitle2(s->decoder, &text, &got, pkt);
    if (code >= 0 && got && text.num_rects) {
        text.pts =
            pkt->pts == AV_NOPTS_VALUE ? 0 : av_rescale_q(pkt->pts, s->time_base, AV_TIME_BASE_Q);
        text.start_display_time = 0;
        text.end_display_time =
            (uint32_t)av_rescale_q(pkt->duration, s->time_base, (AVRational){1, 1000});
        code = encode(s, &text, pkt);
    } else if (code >= 0) {
        code = 0;
    }
    avsubtitle_free(&text);
    if (code >= 0)
        return code > 0;
    return halo_fail(err, halo_av_errno(code), "stream %d: a subtitle is damaged: %s", s->index,
                     halo_av_reason(code, NULL, why, sizeof why));
}
