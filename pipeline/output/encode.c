/* SPDX-License-Identifier: BSD-2-Clause
 * A video encoder: it receives output frames and returns packets. */
#include "pipeline/output/encode.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/gate/gate.h"
#include "pipeline/output/container.h"
#include "pipeline/output/encode_check.h"
#include "pipeline/output/encode_choose.h"
#include "pipeline/frame/format.h"

enum {
    PENDING = 512, /* frames inside an encoder: more than any lookahead */
};

struct timing {
    int64_t pts, duration; /* encoder's time base */
};

struct halo_encoder {
    AVCodecContext *codec;
    struct halo_complaints complaints; /* the encoder's log; `opaque` in its context leads here */
    struct halo_av_packet logged;
    struct halo_encoder_input input;
    struct SwsContext *convert; /* NULL: the encoder accepts the gate's format */
    int64_t last_pts;
    int64_t origin;                 /* input's time base */
    struct timing pending[PENDING]; /* timing that encoders do not pass on; a ring */
    unsigned sent, received;
    bool in_hardware, force_key;
    bool hides_fields;     /* nothing in the output will say that a frame is interlaced */
    bool fills, from_zero; /* fills: no frame may be missing after the first; from_zero: nor before
                              it, from time 0 */
    AVFrame *shown;        /* fills: the last frame, repeated if frames are missing */
    char instead[200];
    unsigned reordered; /* in_hardware: number of frames that a packet may overtake */
};

/* wished: the encoder would accept the frames unconverted. */
static int open_convert(struct halo_encoder *e, const struct halo_encoder_settings *settings,
                        bool wished, struct halo_error *err)
{
    const bool jpeg = settings->jpeg;
    const struct halo_encoder_input *in = &e->input;
    const bool same =
        halo_format_plain(in->format) == e->codec->pix_fmt || in->format == e->codec->pix_fmt;
    const bool scaled = in->width != e->codec->width || in->height != e->codec->height;
    if (in->frames || (same && !scaled))
        return 0;
    const bool full = e->codec->color_range == AVCOL_RANGE_JPEG;
    const bool was_full = jpeg ? halo_encode_is_full(in) : full;
    const bool from_rgb = halo_format_is_rgb(in->format);
    const char *from = av_get_pix_fmt_name(in->format);
    const char *to = av_get_pix_fmt_name(e->codec->pix_fmt);
    const enum AVColorSpace space = e->codec->colorspace;
    e->convert = halo_av_scaler(
        (struct halo_scaler_side){in->width, in->height, in->format, space, from_rgb || was_full},
        (struct halo_scaler_side){.width = e->codec->width,
                                  .height = e->codec->height,
                                  .format = e->codec->pix_fmt,
                                  .space = space,
                                  .full_range = full,
                                  .left = settings->live && !jpeg});
    if (!e->convert)
        return halo_fail(err, -ENOTSUP, "stream %d: cannot convert %s frames to %s",
                         in->stream->index, from, to);
    if (!same && !jpeg)
        halo_log(wished ? HALO_LOG_DEBUG : HALO_LOG_INFO,
                 "stream %d: filtered %s frames are converted to %s for %s", in->stream->index,
                 from, to, e->codec->codec->name);
    return 0;
}

/* Parameters without an FFmpeg option, in the encoder's syntax. NULL: the encoder has no such
 * option. */
static const char *own_parameters(const struct halo_encoder_settings *set, const AVCodec *codec,
                                  enum AVFieldOrder fields, const struct halo_hdr *hdr, char *text,
                                  size_t size)
{
    const char *option = NULL;
    *text = 0;
    if (av_match_name(codec->name, "libx264,libx264rgb")) {
        option = "x264-params";
        /* It uses each frame's order, but writes its own setting to the header that players read
         * first. */
        if (fields == AV_FIELD_BB)
            av_strlcat(text, "bff=1", size);
        /* Its results depend on when the thread that looks ahead runs, and on the processor. */
        if (set->threads)
            av_strlcatf(text, size, "%ssync-lookahead=0:cpu-independent=1", *text ? ":" : "");
    } else if (!strcmp(codec->name, "libx265")) {
        option = "x265-params";
        /* It writes to standard error, bypassing FFmpeg's log, but an error has to be one line,
         * which halod prints. */
        if (halo_log_get_level() < HALO_LOG_DEBUG)
            av_strlcat(text, "log-level=none", size);
        if (set->threads) /* otherwise, it names the processor's features in the video */
            av_strlcatf(text, size, "%sinfo=0", *text ? ":" : "");
    } else if (!strcmp(codec->name, "libsvtav1")) {
        option = "svtav1-params";
    }
    halo_hdr_append(hdr, codec, text, size);
    return *text ? option : NULL;
}

static int encoder_options(const struct halo_encoder_settings *set, const AVCodecContext *c,
                           const AVCodec *codec, const struct halo_hdr *hdr, AVDictionary **ret)
{
    char text[400], threads[16] = "auto";
    const char *option = own_parameters(set, codec, c->field_order, hdr, text, sizeof text);
    const char *pairs[][2] = {{halo_nvenc_is(codec) ? "cq" : "crf", set->crf},
                              {"preset", set->preset},
                              {"b", set->bitrate},
                              {"threads", threads},
                              {option ? option : "", option ? text : NULL}};
    if (set->threads)
        snprintf(threads, sizeof threads, "%d", set->threads);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1] && av_dict_set(ret, pairs[i][0], pairs[i][1], 0) < 0)
            return -ENOMEM;
    return set->live ? halo_encode_live_options(c, codec, ret) : 0;
}

static int fail_refused(struct halo_encoder *e, const AVCodec *codec, int averror,
                        struct halo_error *err)
{
    char why[400];
    const AVCodecContext *c = e->codec;
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(c->pix_fmt);
    const char *format = av_get_pix_fmt_name(c->pix_fmt);
    if (c->width & ((1 << d->log2_chroma_w) - 1) || c->height & ((1 << d->log2_chroma_h) - 1))
        return halo_fail_usage(err,
                               "the encoder %s does not support odd sizes with %s (%dx%d): use "
                               "-c:v ffv1 or mpeg4, or crop or scale IN first",
                               codec->name, format, c->width, c->height);
    return halo_fail_usage(
        err,
        "the encoder %s does not accept these settings (%dx%d, %s): %s; -v debug may show more",
        codec->name, c->width, c->height, format,
        halo_av_reason(averror, &e->complaints, why, sizeof why));
}

/* x265 calls libnuma, which several threads must not call at the same time. */
static struct halo_mutex opening;

static int open_codec(struct halo_encoder *e, const AVCodec *codec,
                      const struct halo_encoder_settings *set, struct halo_error *err)
{
    char why[400];
    AVDictionary *options = NULL;
    int code = encoder_options(set, e->codec, codec, &e->input.hdr, &options);
    halo_lock(&opening);
    if (code >= 0)
        code = avcodec_open2(e->codec, codec, &options); /* forgets the codec on failure */
    halo_unlock(&opening);
    const AVDictionaryEntry *left = av_dict_get(options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (code >= 0 && left)
        code =
            halo_fail_usage(err, "-%s: the encoder %s has no such option", left->key, codec->name);
    else if (code == AVERROR(EINVAL) || code == AVERROR(ERANGE) ||
             code == AVERROR_OPTION_NOT_FOUND || code == AVERROR_EXTERNAL ||
             code == AVERROR_INVALIDDATA)
        code = fail_refused(e, codec, code, err);
    else if (code < 0)
        code = halo_fail(err, halo_av_errno(code), "the encoder %s could not be opened: %s",
                         codec->name, halo_av_reason(code, &e->complaints, why, sizeof why));
    av_dict_free(&options);
    return code;
}

/* The codec context gets its own references, which are freed with it. */
static int set_device(AVCodecContext *c, const struct halo_encoder_input *input)
{
    if (input->device && !(c->hw_device_ctx = av_buffer_ref(input->device)))
        return -ENOMEM;
    if (input->frames && !(c->hw_frames_ctx = av_buffer_ref(input->frames)))
        return -ENOMEM;
    return 0;
}

/* Other encoders report this themselves, or limit the value. */
static int check_crf(const AVCodec *codec, const char *crf, struct halo_error *err)
{
    struct halo_error inner = {0};
    if (!crf || strcmp(codec->name, "libx265"))
        return 0;
    const int code = halo_encode_check(codec->name, "crf", crf, &inner);
    return code < 0 ? halo_fail_usage(err, "-crf %s", inner.text) : 0;
}

/* FFmpeg's Y4M muxer drops the last column of chroma for odd widths, and no reader finds the
 * frames. */
static int check_size(const AVOutputFormat *container, const AVCodecContext *c,
                      struct halo_error *err)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(c->pix_fmt);
    if (strcmp(container->name, "yuv4mpegpipe") || d->comp[0].depth <= 8 ||
        !(c->width & ((1 << d->log2_chroma_w) - 1)))
        return 0;
    return halo_fail_usage(err,
                           "%s does not support odd widths with %s (%dx%d): use .nut, or crop or "
                           "scale IN first",
                           container->name, av_get_pix_fmt_name(c->pix_fmt), c->width, c->height);
}

int halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                      const struct halo_encoder_settings *settings,
                      const struct halo_encoder_input *input, struct halo_error *err)
{
    const AVOutputFormat *container = settings->container;
    struct halo_encoder *e = av_mallocz(sizeof *e);
    if (!e || !(e->codec = avcodec_alloc_context3(codec))) {
        av_free(e);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    e->input = *input;
    e->last_pts = AV_NOPTS_VALUE;
    AVCodecContext *c = e->codec;
    e->logged.complaints = &e->complaints;
    c->opaque = &e->logged;
    halo_encode_choose(c, codec, settings, input);
    if (container->flags & AVFMT_GLOBALHEADER)
        c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    int code = halo_encode_check_preset(codec, settings->preset, err);
    if (code >= 0)
        code = check_crf(codec, settings->crf, err);
    if (code >= 0)
        code = check_size(container, c, err);
    if (code >= 0 && (code = set_device(c, input)) < 0)
        halo_fail(err, code, "out of memory");
    if (code >= 0)
        code = open_codec(e, codec, settings, err);
    if (code >= 0)
        code = open_convert(e, settings, halo_encode_takes(container, codec, input->format), err);
    e->input.device = e->input.frames = NULL;
    e->in_hardware = halo_nvenc_is(codec);
    e->hides_fields = !settings->live && !(c->flags & AV_CODEC_FLAG_INTERLACED_DCT) &&
                      (input->stream->codecpar->field_order <= AV_FIELD_PROGRESSIVE ||
                       !av_match_name(container->name, "matroska,webm,mov"));
    e->from_zero = halo_container_starts(container, codec->id) == HALO_STARTS_NOWHERE;
    e->fills = !halo_container_skips(container, codec->id) && !settings->live;
    if (code < 0) {
        halo_encoder_close(e);
        return code;
    }
    *ret = e;
    return 0;
}

void halo_encoder_close(struct halo_encoder *e)
{
    if (!e)
        return;
    sws_freeContext(e->convert);
    av_frame_free(&e->shown);
    avcodec_free_context(&e->codec);
    av_free(e);
}

int halo_encoder_describe(const struct halo_encoder *e, AVStream *out)
{
    out->time_base = e->codec->time_base;
    out->avg_frame_rate = e->codec->framerate;
    out->sample_aspect_ratio = e->codec->sample_aspect_ratio;
    if (halo_hdr_describe(&e->input.hdr, out) < 0)
        return -ENOMEM;
    if (halo_av_parameters_from_context(out->codecpar, e->codec) < 0)
        return -ENOMEM;
    const enum AVFieldOrder fields = e->input.stream->codecpar->field_order;
    if (fields > AV_FIELD_PROGRESSIVE) /* also with an encoder that does not know of fields */
        out->codecpar->field_order = fields;
    return 0;
}

bool halo_encoder_converts(const struct halo_encoder *e)
{
    return e->convert;
}

const char *halo_encoder_name(const struct halo_encoder *e)
{
    return e->codec->codec->name;
}

enum AVPixelFormat halo_encoder_format(const struct halo_encoder *e)
{
    return e->codec->pix_fmt;
}

bool halo_encoder_in_hardware(const struct halo_encoder *e)
{
    return halo_av_is_hardware(e->codec->codec);
}

const char *halo_encoder_instead(const struct halo_encoder *e)
{
    return e->instead;
}

void halo_encoder_set_instead(struct halo_encoder *e, const char *words)
{
    snprintf(e->instead, sizeof e->instead, "%s", words);
}

AVRational halo_encoder_time_base(const struct halo_encoder *e)
{
    return e->codec->time_base;
}

/* A reference to the frame, or its conversion, which the encoder may keep. 0, -ENOMEM or -EIO. */
static int encoder_frame(struct halo_encoder *e, const AVFrame *picture, AVFrame **ret)
{
    AVFrame *frame = e->convert ? av_frame_alloc() : av_frame_clone(picture);
    if (!frame)
        return -ENOMEM;
    frame->format = e->codec->pix_fmt;
    int code = 0;
    if (e->convert) {
        frame->width = e->codec->width;
        frame->height = e->codec->height;
        code = av_frame_copy_props(frame, picture) < 0 || av_frame_get_buffer(frame, 0) < 0
                   ? -ENOMEM
                   : halo_av_scale(e->convert, picture, frame);
    }
    if (code < 0)
        av_frame_free(&frame);
    else
        *ret = frame;
    return code;
}

/* Encoders need increasing times. If those of the input are not increasing (or if two of them fall
 * on the same tick of a fixed rate), the later frame is moved by one tick and nothing is lost, but
 * no frame is moved by more than one frame's duration. */
static int grow(struct halo_encoder *e, int64_t *pts, struct halo_error *err)
{
    static atomic_int said;
    char clock[32];
    const int index = e->input.stream->index;
    const double tick = av_q2d(e->codec->time_base);
    const double rate = e->input.framerate.num > 0 ? av_q2d(e->input.framerate) : 25;
    const int64_t wanted = *pts;
    if (e->last_pts != AV_NOPTS_VALUE && wanted <= e->last_pts)
        *pts = e->last_pts + 1;
    e->last_pts = *pts;
    const double late = (*pts - wanted) * tick;
    if (late == 0 || late <= 1.5 * FFMAX(tick, 1 / rate)) {
        if (late > 0 && HALO_ONCE(said))
            halo_log(HALO_LOG_WARNING,
                     "stream %d: some frame timestamps repeat or go backwards: each such frame is "
                     "placed one tick after the previous one",
                     index);
        return 0;
    }
    halo_av_clock(wanted * tick, clock, sizeof clock);
    if (av_cmp_q(e->codec->time_base, e->input.stream->time_base) != 0)
        return halo_fail(err, -ENOTSUP,
                         "stream %d: at %s a frame would be %.3f s late, because the output has a "
                         "fixed rate of %.5g frames per second and the input has a higher rate: "
                         "use .mkv or .mp4 with libx264, which support any timestamps",
                         index, clock, late, 1 / tick);
    return halo_fail(err, -EBADMSG, "stream %d: at %s the frame timestamps go backwards by %.3f s",
                     index, clock, late);
}

void halo_encoder_count_from(struct halo_encoder *e, int64_t origin)
{
    e->origin = origin;
}

void halo_encoder_force_key(struct halo_encoder *e)
{
    e->force_key = true;
}

/* A failure in hardware may be temporary. */
static int fail_codec(struct halo_encoder *e, int averror, struct halo_error *err)
{
    char why[400];
    const char *name = e->codec->codec->name;
    halo_av_reason(averror, &e->complaints, why, sizeof why);
    if (e->in_hardware)
        return halo_fail_device(err, "the encoder %s failed: %s", name, why);
    return halo_fail(err, halo_av_errno(averror), "the encoder %s failed: %s", name, why);
}

/* The time of the next frame to be sent, if no frame may be missing; own: the time of the given
 * frame. */
static int64_t next_time(const struct halo_encoder *e, int64_t own)
{
    if (!e->fills || (e->last_pts == AV_NOPTS_VALUE && !e->from_zero))
        return own;
    return FFMIN(own, e->last_pts == AV_NOPTS_VALUE ? 0 : e->last_pts + 1);
}

/* *ret: the frame; if one is missing before it, the last one shown. */
static int choose_frame(struct halo_encoder *e, const AVFrame *frame, bool missing, AVFrame **ret)
{
    if (missing && e->shown)
        return (*ret = av_frame_clone(e->shown)) ? 0 : -ENOMEM;
    const int code = encoder_frame(e, frame, ret);
    if (code < 0 || !e->fills)
        return code;
    av_frame_free(&e->shown);
    e->shown = av_frame_clone(*ret);
    return e->shown ? 0 : -ENOMEM;
}

/* 1: *ret fills a gap before the frame, which has to be passed again; 0: *ret is the frame;
 * -errno. */
static int prepare(struct halo_encoder *e, const AVFrame *picture, AVFrame **ret,
                   struct halo_error *err)
{
    const AVRational from = e->input.stream->time_base, to = e->codec->time_base;
    const int64_t own = av_rescale_q(picture->pts - e->origin, from, to);
    int64_t pts = next_time(e, own);
    const bool missing = pts < own;
    int code = choose_frame(e, picture, missing, ret);
    if (code < 0)
        return halo_fail(err, code, "cannot convert a frame to %s for the encoder: %s",
                         av_get_pix_fmt_name(e->codec->pix_fmt), strerror(-code));
    code = grow(e, &pts, err);
    AVFrame *frame = *ret;
    frame->pts = pts;
    frame->pict_type = e->force_key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    e->force_key = false;
    frame->color_range = e->codec->color_range;
    e->pending[e->sent++ % PENDING] =
        (struct timing){pts, missing ? 1 : av_rescale_q(halo_av_frame_duration(picture), from, to)};
    return code < 0 ? code : missing;
}

static void say_fields_hidden(struct halo_encoder *e)
{
    const bool first = e->last_pts == AV_NOPTS_VALUE;
    halo_log(
        HALO_LOG_WARNING,
        "stream %d: %s interlaced, but the output is not marked as interlaced, because %s, so "
        "players show comb artefacts: use libx264, mpeg2video or mpeg4, or deinterlace IN first",
        e->input.stream->index, first ? "its frames are" : "some frames are",
        e->input.stream->codecpar->field_order > AV_FIELD_PROGRESSIVE
            ? "the encoder does not support this"
            : "the first frame is progressive");
    e->hides_fields = false;
}

int halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *picture,
                      struct halo_error *err)
{
    AVFrame *frame = NULL;
    if (picture && e->hides_fields &&
        halo_av_frame_fields(halo_output_frame_frame(picture)) & HALO_AV_INTERLACED)
        say_fields_hidden(e);
    const int more = picture ? prepare(e, halo_output_frame_frame(picture), &frame, err) : 0;
    const int code = more < 0 ? 0 : avcodec_send_frame(e->codec, frame);
    av_frame_free(&frame);
    return code >= 0 || code == AVERROR_EOF ? more : fail_codec(e, code, err);
}

/* FFmpeg's NVENC assumes one tick for each frame when it computes the first decoding times, and our
 * ticks are finer: if frames are reordered, packets would be presented before they are decoded. So
 * each packet is decoded at the time at which the frame `reordered` places before it is
 * presented. */
static void set_decoding_time(struct halo_encoder *e, AVPacket *pkt)
{
    const unsigned at = e->received++;
    const int64_t first = e->pending[0].pts; /* still valid while the first packets arrive */
    const AVRational tb = e->codec->time_base;
    const AVRational rate = e->input.framerate.num > 0 ? e->input.framerate : (AVRational){25, 1};
    if (at == 0)
        e->reordered = (unsigned)av_clip64((first - pkt->dts) / tb.num, 0, PENDING / 2);
    if (at >= e->reordered)
        pkt->dts = e->pending[(at - e->reordered) % PENDING].pts;
    else
        pkt->dts = first - (e->reordered - at) * FFMAX(1, av_rescale_q(1, av_inv_q(rate), tb));
}

int halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err)
{
    const int code = avcodec_receive_packet(e->codec, pkt);
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF)
        return 0;
    if (code < 0)
        return fail_codec(e, code, err);
    if (e->in_hardware)
        set_decoding_time(e, pkt);
    for (int i = 0; i < PENDING; i++)
        if (e->pending[i].pts == pkt->pts && e->pending[i].duration > 0)
            pkt->duration = e->pending[i].duration;
    return 1;
}
