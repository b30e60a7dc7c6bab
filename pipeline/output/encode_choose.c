/* SPDX-License-Identifier: BSD-2-Clause
 * Chooses an encoder's parameters from the properties of the frames. */
#include "pipeline/output/encode_choose.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/daemon.h"
#include "config/option.h"
#include "pipeline/output/container.h"
#include "pipeline/frame/format.h"

#define INTERLACING "libx264,libx264rgb,mpeg2video,mpeg4"

/* list: the encoder's formats; NULL: any. */
static bool has(const enum AVPixelFormat *list, enum AVPixelFormat format)
{
    while (list && *list != AV_PIX_FMT_NONE && *list != format)
        list++;
    return !list || *list == format;
}

static enum AVPixelFormat choose_format(const enum AVPixelFormat *list, enum AVPixelFormat format)
{
    const enum AVPixelFormat plain = halo_format_plain(format);
    if (has(list, plain))
        return plain;
    return has(list, format) ? format : avcodec_find_best_pix_fmt_of_list(list, format, 0, NULL);
}

bool halo_encode_takes(const AVOutputFormat *container, const AVCodec *codec,
                       enum AVPixelFormat format)
{
    const enum AVPixelFormat *list = halo_container_formats(container, codec);
    return has(list, format) || has(list, halo_format_plain(format));
}

/* Players support 4:2:0 of codecs for playback; intra-only and lossless codecs serve other
 * purposes. Encoders accept odd sizes with 4:4:4, but not with 4:2:0. */
static bool wants_420(const AVCodecContext *c, const AVCodec *codec,
                      const struct halo_encoder_settings *settings)
{
    const AVCodecDescriptor *d = avcodec_descriptor_get(codec->id);
    if (!settings->live || settings->chroma != HALO_CHROMA_AUTO)
        return settings->live && settings->chroma != HALO_CHROMA_SOURCE;
    return !((c->width | c->height) & 1) && d && (d->props & AV_CODEC_PROP_LOSSY) &&
           !(d->props & AV_CODEC_PROP_INTRA_ONLY);
}

/* 4:2:0 of the same depth, or of the nearest in the list; NONE: the format is 4:2:0 already, or the
 * list has no 4:2:0. */
static enum AVPixelFormat choose_420(const enum AVPixelFormat *list, enum AVPixelFormat format)
{
    static const enum AVPixelFormat deep[] = {AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV420P10,
                                              AV_PIX_FMT_P010, AV_PIX_FMT_YUV420P};
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const bool yuv = !(d->flags & AV_PIX_FMT_FLAG_RGB) && d->nb_components >= 3;
    if (yuv && d->log2_chroma_w == 1 && d->log2_chroma_h == 1)
        return AV_PIX_FMT_NONE;
    size_t at = d->comp[0].depth > 10 ? 0 : d->comp[0].depth > 8 ? 1 : 3;
    while (at < FF_ARRAY_ELEMS(deep) && !has(list, deep[at]))
        at++;
    return at < FF_ARRAY_ELEMS(deep) ? deep[at] : AV_PIX_FMT_NONE;
}

static enum AVPixelFormat choose(const AVCodecContext *c, const AVCodec *codec,
                                 const enum AVPixelFormat *list,
                                 const struct halo_encoder_settings *settings,
                                 enum AVPixelFormat format)
{
    if (settings->live && settings->chroma == HALO_CHROMA_BROWSER && has(list, AV_PIX_FMT_YUV420P))
        return AV_PIX_FMT_YUV420P;
    const enum AVPixelFormat half =
        wants_420(c, codec, settings) ? choose_420(list, format) : AV_PIX_FMT_NONE;
    return half != AV_PIX_FMT_NONE ? half : choose_format(list, format);
}

/* Location of chroma if 4:2:0 is converted from a finer format: between the rows, and horizontally
 * as before, or left (halo_av_scaler). */
static enum AVChromaLocation place_chroma(const AVCodecContext *c,
                                          const struct halo_encoder_settings *settings,
                                          const struct halo_encoder_input *in)
{
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(in->format);
    const AVPixFmtDescriptor *to = av_pix_fmt_desc_get(c->pix_fmt);
    const enum AVChromaLocation was = in->stream->codecpar->chroma_location;
    if (!settings->live || settings->jpeg || to->log2_chroma_h != 1 || from->log2_chroma_h == 1)
        return was;
    if (from->log2_chroma_w == 0)
        return AVCHROMA_LOC_LEFT;
    return was == AVCHROMA_LOC_TOPLEFT ? AVCHROMA_LOC_LEFT
           : was == AVCHROMA_LOC_TOP   ? AVCHROMA_LOC_CENTER
                                       : was;
}

static void set_colours(AVCodecContext *c, const struct halo_encoder_settings *settings,
                        const struct halo_encoder_input *in)
{
    const AVCodecParameters *par = in->stream->codecpar;
    const bool was_rgb = halo_format_is_rgb(par->format);
    const bool is_rgb = halo_format_is_rgb(c->pix_fmt);
    c->color_range = par->color_range;
    c->colorspace = par->color_space;
    c->color_primaries = par->color_primaries;
    c->color_trc = par->color_trc;
    c->chroma_sample_location = place_chroma(c, settings, in);
    if (halo_format_plain(in->format) != in->format)
        c->color_range = AVCOL_RANGE_JPEG;
    if (was_rgb && !is_rgb) {
        c->colorspace = AVCOL_SPC_BT709;
        c->color_range = AVCOL_RANGE_MPEG;
    }
    if (is_rgb)
        c->colorspace = AVCOL_SPC_RGB;
}

/* A rate that can represent all frames: if the usual step between them is longer than the average,
 * each frame would be later than the one before. MPEG-1 and 2 have a fixed list of rates. */
static AVRational fixed_rate(const AVCodec *codec, const struct halo_encoder_input *in)
{
    enum { LIMIT = 60000 }; /* MPEG-4 has no finer time base */
    AVRational rate = in->framerate;
    const AVRational average = in->stream->avg_frame_rate;
    if (average.num > 0 && av_cmp_q(average, rate) > 0 && codec->id != AV_CODEC_ID_MPEG1VIDEO &&
        codec->id != AV_CODEC_ID_MPEG2VIDEO)
        av_reduce(&rate.num, &rate.den, average.num, average.den, LIMIT);
    return rate;
}

/* The input's time base keeps every time exact. Containers with a fixed rate and codecs that count
 * in frames need one tick for each frame instead. */
static AVRational choose_time_base(const AVCodec *codec, const AVOutputFormat *container,
                                   const struct halo_encoder_input *in)
{
    const bool counts_frames =
        halo_container_starts(container, codec->id) == HALO_STARTS_NOWHERE ||
        codec->id == AV_CODEC_ID_MPEG1VIDEO || codec->id == AV_CODEC_ID_MPEG2VIDEO ||
        codec->id == AV_CODEC_ID_THEORA ||
        (codec->id == AV_CODEC_ID_MPEG4 && in->stream->time_base.den > 65535);
    if (counts_frames && in->framerate.num > 0)
        return av_inv_q(fixed_rate(codec, in));
    return in->stream->time_base;
}

bool halo_encode_is_full(const struct halo_encoder_input *input)
{
    return input->stream->codecpar->color_range == AVCOL_RANGE_JPEG ||
           halo_format_plain(input->format) != input->format;
}

/* The sample aspect ratio after scaling, by which a frame keeps its display shape. */
static AVRational scale_aspect(AVRational aspect, const AVCodecContext *c,
                               const struct halo_encoder_input *in)
{
    const AVRational own = aspect.num > 0 ? aspect : (AVRational){1, 1};
    const AVRational x = {in->width, c->width}, y = {c->height, in->height};
    const AVRational factor = av_mul_q(x, y);
    return factor.num == factor.den ? aspect : av_mul_q(own, factor);
}

static void set_jpeg(AVCodecContext *c, const AVCodec *codec, enum AVPixelFormat format)
{
    enum { QUALITY = 3 }; /* FFmpeg's scale: 2 is the best */
    c->color_range = AVCOL_RANGE_JPEG;
    c->flags |= AV_CODEC_FLAG_QSCALE;
    c->global_quality = FF_QP2LAMBDA * QUALITY;
    if (!strcmp(codec->name, "mjpeg"))
        c->pix_fmt = format == AV_PIX_FMT_YUV444P ? AV_PIX_FMT_YUVJ444P : AV_PIX_FMT_YUVJ420P;
}

static void set_live(AVCodecContext *c, const AVCodec *codec)
{
    c->thread_type = FF_THREAD_SLICE; /* frame threads hold frames back */
    if (av_match_name(codec->name, "libx264,libx264rgb,libx265,h264_nvenc,hevc_nvenc"))
        c->flags |= AV_CODEC_FLAG_CLOSED_GOP; /* without B-frames, others have no open ones */
}

void halo_encode_choose(AVCodecContext *c, const AVCodec *codec,
                        const struct halo_encoder_settings *settings,
                        const struct halo_encoder_input *input)
{
    c->width = settings->width ? settings->width : input->width;
    c->height = settings->height ? settings->height : input->height;
    c->pix_fmt = input->frames
                     ? AV_PIX_FMT_CUDA
                     : choose(c, codec, halo_container_formats(settings->container, codec),
                              settings, input->format);
    c->sample_aspect_ratio = scale_aspect(input->aspect, c, input);
    c->framerate = input->framerate;
    c->time_base = choose_time_base(codec, settings->container, input);
    set_colours(c, settings, input);
    /* Frames stay interlaced in encoders with a mode for that; the other encoders encode them
     * unchanged. */
    c->field_order = input->stream->codecpar->field_order;
    if (input->stream->codecpar->field_order > AV_FIELD_PROGRESSIVE &&
        av_match_name(codec->name, INTERLACING))
        c->flags |= AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME;
    if (settings->gop)
        c->gop_size = settings->gop;
    if (settings->live || !halo_container_reorders(settings->container)) {
        /* Frames are encoded in the order in which they are shown. */
        c->max_b_frames = 0;
        if (codec->id == AV_CODEC_ID_MPEG2VIDEO)
            c->flags |= AV_CODEC_FLAG_LOW_DELAY;
    }
    if (settings->live)
        set_live(c, codec);
    if (settings->jpeg)
        set_jpeg(c, codec, input->format);
    else if (av_match_name(codec->name, "mjpeg,ljpeg")) /* limited range is marked in a comment */
        c->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
}

int halo_encode_live_options(const AVCodecContext *c, const AVCodec *codec, AVDictionary **options)
{
    static const struct {
        const char *codecs, *key, *value;
    } rows[] = {
        {"libx264,libx264rgb", "preset", "veryfast"},
        {"libx265", "preset", "ultrafast"},
        {"libx264,libx264rgb,libx265", "tune", "zerolatency"},
        {"h264_nvenc,hevc_nvenc,av1_nvenc", "tune", "ll"},
        {"h264_nvenc,hevc_nvenc,av1_nvenc", "zerolatency", "1"},
        {"h264_nvenc,hevc_nvenc,av1_nvenc", "delay", "0"},
        {"libx264,libx264rgb,libx265,h264_nvenc,hevc_nvenc,av1_nvenc", "forced-idr", "1"},
        {"libvpx,libvpx-vp9", "deadline", "realtime"},
        {"libaom-av1", "usage", "realtime"},
        {"libvpx,libvpx-vp9,libaom-av1", "lag-in-frames", "0"},
        {"libvpx,libvpx-vp9,libaom-av1", "cpu-used", "8"},
        {"libsvtav1", "preset", "10"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (av_match_name(codec->name, rows[i].codecs) &&
            av_opt_find(c->priv_data, rows[i].key, NULL, 0, 0) &&
            av_dict_set(options, rows[i].key, rows[i].value, AV_DICT_DONT_OVERWRITE) < 0)
            return -ENOMEM;
    return 0;
}

bool halo_encode_knows_preset(const AVCodec *codec, const char *preset,
                              char ret_near[HALO_NEAREST_WORDS])
{
    static const char *const presets[] = {"ultrafast", "superfast", "veryfast", "faster",
                                          "fast",      "medium",    "slow",     "slower",
                                          "veryslow",  "placebo"};
    const size_t count = sizeof presets / sizeof *presets;
    if (!preset || !av_match_name(codec->name, "libx264,libx264rgb,libx265"))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!av_strcasecmp(preset, presets[i]))
            return true;
    if (strlen(preset) == 1 && *preset >= '0' && *preset <= '9') /* presets by number */
        return true;
    halo_nearest_words(ret_near, preset, presets, count);
    return false;
}

int halo_encode_check_preset(const AVCodec *codec, const char *preset, struct halo_error *err)
{
    char near[HALO_NEAREST_WORDS];
    if (halo_encode_knows_preset(codec, preset, near))
        return 0;
    return halo_fail_usage(err, "-preset %s: %s has no such preset%s", preset, codec->name, near);
}
