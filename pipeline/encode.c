/* SPDX-License-Identifier: BSD-2-Clause
 * A video encoder: output pictures in, packets out. */
#include "pipeline/encode.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/av.h"
#include "pipeline/gate.h"

enum {
    PENDING = 512, /* pictures inside an encoder: more than any lookahead */
};

struct timing {
    int64_t pts, duration; /* encoder's time base */
};

struct halo_encoder {
    AVCodecContext *codec;
    struct halo_encoder_input input;
    struct SwsContext *convert; /* NULL where the encoder takes the gate's format */
    int64_t last_pts;
    struct timing pending[PENDING]; /* durations, which encoders forget; a ring */
    unsigned sent;
};

const AVCodec *halo_encoder_find(const struct halo_run_settings *settings, struct halo_error *err)
{
    const char *name = settings->video_codec ? settings->video_codec : "libx264";
    if (!strcmp(name, "copy")) {
        halo_fail_usage(err, "-c:v copy would pass unfiltered pictures: name an encoder");
        return NULL;
    }
    return halo_av_find_encoder("-c:v", name, AVMEDIA_TYPE_VIDEO, err);
}

/* The formats with their own name for full range, and the same layout under its plain name. */
static enum AVPixelFormat plain_name(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUVJ420P:
        return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
        return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
        return AV_PIX_FMT_YUV444P;
    default:
        return format;
    }
}

static enum AVPixelFormat choose_format(const AVCodec *codec, enum AVPixelFormat format)
{
    const enum AVPixelFormat plain = plain_name(format);
    const enum AVPixelFormat *list = codec->pix_fmts;
    if (!list)
        return plain;
    for (int i = 0; list[i] != AV_PIX_FMT_NONE; i++)
        if (list[i] == plain)
            return plain;
    for (int i = 0; list[i] != AV_PIX_FMT_NONE; i++)
        if (list[i] == format)
            return format;
    return avcodec_find_best_pix_fmt_of_list(list, format, 0, NULL);
}

static void set_colours(AVCodecContext *c, const struct halo_encoder_input *in)
{
    const AVCodecParameters *par = in->stream->codecpar;
    const bool was_rgb = av_pix_fmt_desc_get(par->format)->flags & AV_PIX_FMT_FLAG_RGB;
    const bool is_rgb = av_pix_fmt_desc_get(c->pix_fmt)->flags & AV_PIX_FMT_FLAG_RGB;
    c->color_range = par->color_range;
    c->colorspace = par->color_space;
    c->color_primaries = par->color_primaries;
    c->color_trc = par->color_trc;
    c->chroma_sample_location = par->chroma_location;
    if (plain_name(in->format) != in->format)
        c->color_range = AVCOL_RANGE_JPEG;
    if (was_rgb && !is_rgb) {
        c->colorspace = AVCOL_SPC_BT709;
        c->color_range = AVCOL_RANGE_MPEG;
    }
    if (is_rgb)
        c->colorspace = AVCOL_SPC_RGB;
}

/* The input's time base keeps every time exact. Containers with a fixed rate and codecs that count
 * in frames need one tick for each frame instead. */
static AVRational choose_time_base(const AVCodec *codec, const AVOutputFormat *container,
                                   const struct halo_encoder_input *in)
{
    const bool counts_frames =
        av_match_name(container->name, "avi,mxf,mxf_opatom,gxf,yuv4mpegpipe") ||
        codec->id == AV_CODEC_ID_MPEG1VIDEO || codec->id == AV_CODEC_ID_MPEG2VIDEO ||
        (codec->id == AV_CODEC_ID_MPEG4 && in->stream->time_base.den > 65535);
    if (counts_frames && in->framerate.num > 0)
        return av_inv_q(in->framerate);
    return in->stream->time_base;
}

static int open_convert(struct halo_encoder *e, struct halo_error *err)
{
    const struct halo_encoder_input *in = &e->input;
    if (plain_name(in->format) == e->codec->pix_fmt || in->format == e->codec->pix_fmt)
        return 0;
    const bool full = e->codec->color_range == AVCOL_RANGE_JPEG;
    const bool from_rgb = av_pix_fmt_desc_get(in->format)->flags & AV_PIX_FMT_FLAG_RGB;
    const char *from = av_get_pix_fmt_name(in->format);
    const char *to = av_get_pix_fmt_name(e->codec->pix_fmt);
    const enum AVColorSpace space = e->codec->colorspace;
    e->convert = halo_av_scaler(in->width, in->height,
                                (struct halo_scaler_side){in->format, space, from_rgb || full},
                                (struct halo_scaler_side){e->codec->pix_fmt, space, full});
    if (!e->convert)
        return halo_fail(err, -ENOTSUP, "stream %d: cannot convert %s to %s", in->stream->index,
                         from, to);
    halo_log(HALO_LOG_INFO, "stream %d: filtered %s pictures are converted to %s for %s",
             in->stream->index, from, to, e->codec->codec->name);
    return 0;
}

static int encoder_options(const struct halo_run_settings *set, AVDictionary **ret)
{
    const char *pairs[][2] = {
        {"crf", set->crf}, {"preset", set->preset}, {"b", set->bitrate}, {"threads", "auto"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1] && av_dict_set(ret, pairs[i][0], pairs[i][1], 0) < 0)
            return -ENOMEM;
    return 0;
}

static int open_codec(struct halo_encoder *e, const AVCodec *codec,
                      const struct halo_run_settings *set, struct halo_error *err)
{
    char why[400];
    AVDictionary *options = NULL;
    int ret = encoder_options(set, &options);
    if (ret >= 0)
        ret = avcodec_open2(e->codec, codec, &options); /* forgets the codec on failure */
    const AVDictionaryEntry *left = av_dict_get(options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    const char *name = codec->name;
    if (ret >= 0 && left)
        ret = halo_fail_usage(err, "-%s: the encoder %s has no such option", left->key, name);
    else if (ret == AVERROR(EINVAL) || ret == AVERROR(ERANGE) || ret == AVERROR_OPTION_NOT_FOUND ||
             ret == AVERROR_EXTERNAL)
        ret = halo_fail_usage(err, "the encoder %s refuses these settings (%dx%d, %s): %s", name,
                              e->codec->width, e->codec->height,
                              av_get_pix_fmt_name(e->codec->pix_fmt),
                              halo_av_reason(ret, why, sizeof why));
    else if (ret < 0)
        ret = halo_fail(err, halo_av_errno(ret), "the encoder %s does not open: %s", name,
                        halo_av_reason(ret, why, sizeof why));
    av_dict_free(&options);
    return ret;
}

int halo_encoder_open(struct halo_encoder **ret, const struct halo_run_settings *settings,
                      const AVOutputFormat *container, const struct halo_encoder_input *input,
                      struct halo_error *err)
{
    const AVCodec *codec = halo_encoder_find(settings, err);
    if (!codec)
        return -EINVAL;
    struct halo_encoder *e = av_mallocz(sizeof *e);
    if (!e || !(e->codec = avcodec_alloc_context3(codec))) {
        av_free(e);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    e->input = *input;
    e->last_pts = AV_NOPTS_VALUE;
    AVCodecContext *c = e->codec;
    c->width = input->width;
    c->height = input->height;
    c->pix_fmt = choose_format(codec, input->format);
    c->sample_aspect_ratio = input->aspect;
    c->framerate = input->framerate;
    c->time_base = choose_time_base(codec, container, input);
    set_colours(c, input);
    if (container->flags & AVFMT_GLOBALHEADER)
        c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    int r = open_codec(e, codec, settings, err);
    if (r >= 0)
        r = open_convert(e, err);
    if (r < 0) {
        halo_encoder_close(e);
        return r;
    }
    *ret = e;
    return 0;
}

void halo_encoder_close(struct halo_encoder *e)
{
    if (!e)
        return;
    sws_freeContext(e->convert);
    avcodec_free_context(&e->codec);
    av_free(e);
}

int halo_encoder_describe(const struct halo_encoder *e, AVStream *out)
{
    out->time_base = e->codec->time_base;
    out->avg_frame_rate = e->codec->framerate;
    out->sample_aspect_ratio = e->codec->sample_aspect_ratio;
    return avcodec_parameters_from_context(out->codecpar, e->codec) < 0 ? -ENOMEM : 0;
}

AVRational halo_encoder_time_base(const struct halo_encoder *e)
{
    return e->codec->time_base;
}

/* A reference to the picture, or its conversion, which the encoder may keep. 0, -ENOMEM or -EIO. */
static int encoder_frame(struct halo_encoder *e, const AVFrame *picture, AVFrame **ret)
{
    AVFrame *frame = e->convert ? av_frame_alloc() : av_frame_clone(picture);
    if (!frame)
        return -ENOMEM;
    frame->format = e->codec->pix_fmt;
    int r = 0;
    if (e->convert) {
        frame->width = picture->width;
        frame->height = picture->height;
        r = av_frame_copy_props(frame, picture) < 0 || av_frame_get_buffer(frame, 0) < 0
                ? -ENOMEM
                : halo_av_scale(e->convert, picture, frame);
    }
    if (r < 0)
        av_frame_free(&frame);
    else
        *ret = frame;
    return r;
}

/* Encoders need times that grow. Where the input's do not (or two fall on one tick of a fixed
 * rate), the later picture moves by a tick and nothing is lost. */
static int64_t growing(struct halo_encoder *e, int64_t pts)
{
    static atomic_int said;
    if (e->last_pts != AV_NOPTS_VALUE && pts <= e->last_pts) {
        pts = e->last_pts + 1;
        if (HALO_ONCE(said))
            halo_log(HALO_LOG_WARNING,
                     "stream %d: pictures share a time or go back: moved on by a tick each",
                     e->input.stream->index);
    }
    e->last_pts = pts;
    return pts;
}

int halo_encoder_send(struct halo_encoder *e, const struct halo_output_picture *picture,
                      struct halo_error *err)
{
    char why[400];
    AVFrame *frame = NULL;
    if (picture) {
        const int code = encoder_frame(e, halo_output_picture_frame(picture), &frame);
        if (code < 0)
            return halo_fail(err, code, "a picture cannot be converted to %s for the encoder: %s",
                             av_get_pix_fmt_name(e->codec->pix_fmt), strerror(-code));
        const AVRational from = e->input.stream->time_base, to = e->codec->time_base;
        frame->pts = growing(e, av_rescale_q(frame->pts, from, to));
        frame->pict_type = AV_PICTURE_TYPE_NONE;
        frame->color_range = e->codec->color_range;
        e->pending[e->sent++ % PENDING] =
            (struct timing){frame->pts, av_rescale_q(frame->pkt_duration, from, to)};
    }
    const int r = avcodec_send_frame(e->codec, frame);
    av_frame_free(&frame);
    if (r >= 0 || r == AVERROR_EOF)
        return 0;
    return halo_fail(err, halo_av_errno(r), "the encoder %s failed: %s", e->codec->codec->name,
                     halo_av_reason(r, why, sizeof why));
}

int halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err)
{
    char why[400];
    const int r = avcodec_receive_packet(e->codec, pkt);
    if (r == AVERROR(EAGAIN) || r == AVERROR_EOF)
        return 0;
    if (r < 0)
        return halo_fail(err, halo_av_errno(r), "the encoder %s failed: %s", e->codec->codec->name,
                         halo_av_reason(r, why, sizeof why));
    for (int i = 0; i < PENDING; i++)
        if (e->pending[i].pts == pkt->pts && e->pending[i].duration > 0)
            pkt->duration = e->pending[i].duration;
    return 1;
}
