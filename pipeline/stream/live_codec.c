/* SPDX-License-Identifier: BSD-2-Clause
 * The encoders of a live stream: opened with its settings, cards made with the same settings,
 * packets in microseconds. */
#include "pipeline/stream/live_codec.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/mathematics.h>
#include <libavutil/mem.h>
#include <libavutil/parseutils.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/ring.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/output/encode.h"
#include "pipeline/output/encode_check.h"
#include "pipeline/output/nvenc.h"
#include "pipeline/frame/format.h"

enum {
    MAX_GOP = 600, /* frames, if the rate is unknown; MPEG-2's maximum */
};

enum { MAX_SIDE = 65534 };

/* Computes one side from the other; even, as encoders of 4:2:0 require. */
static int follow(int other, int of, int to)
{
    const int64_t side = (av_rescale(other, to, of) + 1) / 2 * 2;
    return (int)FFMIN(FFMAX(side, 2), MAX_SIDE);
}

int halo_live_size(const char *text, int width, int height, int *ret_width, int *ret_height)
{
    int w, h, end = 0;
    if (sscanf(text, "%dx%d%n", &w, &h, &end) != 2 || text[end]) {
        if (av_parse_video_size(&w, &h, text) < 0)
            return -EINVAL;
    } else if (w < -1 || h < -1 || w == 0 || h == 0 || w + h == -2) {
        return -EINVAL;
    }
    *ret_width = w > 0 ? w : follow(h, height, width);
    *ret_height = h > 0 ? h : follow(w, width, height);
    return 0;
}

static void size_of(const struct halo_live *live, const struct halo_encoding *what, int *ret_width,
                    int *ret_height)
{
    const struct halo_gate_input *input = &live->format->input;
    *ret_width = input->width;
    *ret_height = input->height;
    if (what->video && what->video->size) /* already checked (live.c) */
        halo_live_size(what->video->size, input->width, input->height, ret_width, ret_height);
}

AVRational halo_live_codec_rate(const struct halo_live_encoding *e)
{
    const AVRational source = e->live->format->framerate;
    const double fps = e->what->video ? e->what->video->fps : 0;
    const bool all = fps <= 0 || (source.num > 0 && av_q2d(source) <= fps);
    return all ? source : av_d2q(fps, 30000);
}

/* Keyframes are requested by time; this is the encoder's own upper limit. */
static int gop_of(const struct halo_live *live, const struct halo_video_settings *video)
{
    const AVRational rate = live->format->framerate;
    const double seconds = video->gop > 0 ? video->gop : 1;
    const double frames = rate.num > 0 ? 2 * seconds * av_q2d(rate) : MAX_GOP;
    return (int)FFMIN(FFMAX(frames, 1), MAX_GOP);
}

static struct halo_encoder_input input_of(const struct halo_live *live)
{
    const struct halo_live_format *shape = live->format;
    return (struct halo_encoder_input){
        .format = shape->format,
        .width = shape->input.width,
        .height = shape->input.height,
        .stream = shape->like->streams[0],
        .framerate = shape->framerate,
        .aspect = shape->aspect,
        .hdr = shape->hdr,
        .gpu = halo_ring_gpu(live->ring, live->settings.device.gpu),
    };
}

static int open_encoder(const struct halo_live *live, const char *name, const char *container,
                        const struct halo_encoder_settings *settings, struct halo_encoder **ret,
                        struct halo_error *err)
{
    struct halo_encoder_settings own = *settings;
    own.container = av_guess_format(container, NULL, NULL);
    const AVCodec *codec = halo_av_find_encoder("codec", name, AVMEDIA_TYPE_VIDEO, err);
    const struct halo_encoder_input input = input_of(live);
    if (!codec)
        return -EINVAL;
    if (!own.container)
        return halo_fail(err, -ENOTSUP, "this FFmpeg has no %s muxer", container);
    return halo_nvenc_is(codec) ? halo_nvenc_open(ret, codec, NULL, &own, &input, err)
                                : halo_encoder_open(ret, codec, &own, &input, err);
}

static int open_for(struct halo_live_encoding *e, struct halo_encoder **ret, struct halo_error *err)
{
    const struct halo_video_settings *video = e->what->video;
    struct halo_encoder_settings settings = {.live = true};
    if (video)
        size_of(e->live, e->what, &settings.width, &settings.height);
    if (e->what->kind == HALO_ENCODING_JPEG) {
        settings.jpeg = true;
        return open_encoder(e->live, "mjpeg", "image2", &settings, ret, err);
    }
    settings.bitrate = video->bitrate;
    settings.crf = video->crf;
    settings.preset = video->preset;
    settings.gop = gop_of(e->live, video);
    settings.chroma = video->chroma;
    return open_encoder(e->live, halo_video_codec(video), "matroska", &settings, ret, err);
}

/* Records which software encoder replaces the GPU's, if any. */
static void note_instead(struct halo_live_encoding *e)
{
    const char *why = e->codec.encoder ? halo_encoder_instead(e->codec.encoder) : "";
    const bool no_session = strstr(why, HALO_NVENC_NO_SESSION) != NULL;
    halo_live_note_instead(e->live->counters, e->number, why, no_session);
}

int halo_live_codec_open(struct halo_live_encoding *e, struct halo_error *err)
{
    e->codec.last_sent = INT64_MIN;
    e->codec.last_key = INT64_MIN;
    const int code = open_for(e, &e->codec.encoder, err);
    note_instead(e);
    return code;
}

/* Repeats the parameter sets before every keyframe, for readers without the stream's header. */
static int open_headers(struct halo_live_encoding *e)
{
    const AVCodecParameters *par = e->codec.out->streams[0]->codecpar;
    const enum AVCodecID id = par->codec_id;
    const AVBitStreamFilter *filter = av_bsf_get_by_name("dump_extra");
    if (!filter || !par->extradata_size ||
        (id != AV_CODEC_ID_H264 && id != AV_CODEC_ID_HEVC && id != AV_CODEC_ID_MPEG4 &&
         id != AV_CODEC_ID_MPEG1VIDEO && id != AV_CODEC_ID_MPEG2VIDEO))
        return 0;
    if (av_bsf_alloc(filter, &e->codec.headers) < 0 ||
        halo_av_parameters_copy(e->codec.headers->par_in, par) < 0 ||
        av_bsf_init(e->codec.headers) < 0)
        return -ENOMEM;
    return 0;
}

/* 1: pkt is in microseconds and has its parameter sets. */
static int finish_packet(struct halo_live_encoding *e, struct halo_encoder *encoder, AVPacket *pkt,
                         struct halo_error *err)
{
    av_packet_rescale_ts(pkt, halo_encoder_time_base(encoder), HALO_LIVE_TIME);
    pkt->pts += pkt->pts == AV_NOPTS_VALUE ? 0 : e->codec.origin;
    pkt->dts += pkt->dts == AV_NOPTS_VALUE ? 0 : e->codec.origin;
    int code = e->codec.headers ? av_bsf_send_packet(e->codec.headers, pkt) : 0;
    if (code >= 0 && e->codec.headers)
        code = av_bsf_receive_packet(e->codec.headers, pkt);
    return code < 0 ? halo_fail(err, halo_av_errno(code), "out of memory for a packet") : 1;
}

/* Encodes only this frame, and returns the first packet. */
static int encode_one(struct halo_encoder *encoder, const struct halo_output_frame *frame,
                      AVPacket *pkt, struct halo_error *err)
{
    int code = halo_encoder_send(encoder, frame, err);
    if (code >= 0)
        code = halo_encoder_receive(encoder, pkt, err);
    if (code == 0 && (code = halo_encoder_send(encoder, NULL, err)) >= 0)
        code = halo_encoder_receive(encoder, pkt, err);
    return code == 0 ? halo_fail(err, -EIO, "the encoder returned no packet for a frame") : code;
}

static int make_card(struct halo_live_encoding *e, int which, struct halo_error *err)
{
    struct halo_encoder *encoder = NULL;
    const struct halo_output_frame *blank = e->live->format->blank[which];
    e->codec.origin = 0;
    int code = open_for(e, &encoder, err);
    if (code >= 0 && which == 0) {
        code = halo_encoder_describe(encoder, e->codec.out->streams[0]);
        if (code >= 0)
            code = open_headers(e);
        if (code < 0)
            halo_fail(err, code, "out of memory");
    }
    if (code >= 0) {
        halo_live_enter(e->live->stalls, e->number, !halo_encoder_in_hardware(encoder));
        code = encode_one(encoder, blank, e->codec.card[which], err);
        halo_live_leave(e->live->stalls, e->number);
    }
    if (code > 0)
        code = finish_packet(e, encoder, e->codec.card[which], err);
    e->codec.card[which]->pts = e->codec.card[which]->dts = 0;
    halo_encoder_close(encoder);
    return code;
}

/* ---- frames that are not encoded ---- */

/* Programs assume limited-range BT.601 for a camera's frames, whatever is signalled. */
static void be_like_a_camera(AVCodecParameters *par)
{
    par->color_range = AVCOL_RANGE_MPEG;
    if (par->color_space != AVCOL_SPC_UNSPECIFIED)
        par->color_space = AVCOL_SPC_SMPTE170M;
}

static int is_full(const AVCodecParameters *par)
{
    return par->color_range == AVCOL_RANGE_JPEG || par->color_space == AVCOL_SPC_RGB;
}

static int open_scaler(struct halo_live_encoding *e, const struct halo_scaler_side *from,
                       struct halo_error *err)
{
    const AVCodecParameters *par = e->codec.out->streams[0]->codecpar;
    const struct halo_scaler_side to = {par->width, par->height, par->format, par->color_space,
                                        is_full(par)};
    if (from->width == to.width && from->height == to.height && from->format == to.format &&
        from->space == to.space && from->full_range == to.full_range)
        return 0;
    e->codec.scaler = halo_av_scaler(*from, to);
    return e->codec.scaler
               ? 0
               : halo_fail(err, -ENOTSUP, "frames cannot be scaled to %dx%d", to.width, to.height);
}

/* Encoders signal the aspect ratio of pixels; programs that read raw frames ignore it. */
static void say_stretched(const struct halo_live_format *shape, const AVCodecParameters *par)
{
    const int w = shape->input.width, h = shape->input.height;
    const int64_t a = (int64_t)par->width * h, b = (int64_t)par->height * w;
    if (FFABS(a - b) * 50 > b) /* rounding to even sizes alone is less */
        halo_log(HALO_LOG_WARNING,
                 "the output size %dx%d stretches frames of %dx%d: a size of %dx-1 would keep "
                 "their aspect ratio",
                 par->width, par->height, w, h, par->width);
}

static int open_raw(struct halo_live_encoding *e, struct halo_error *err)
{
    const struct halo_live_format *shape = e->live->format;
    AVCodecParameters *par = e->codec.out->streams[0]->codecpar;
    if (halo_av_parameters_copy(par, shape->like->streams[0]->codecpar) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    av_freep(&par->extradata);
    par->extradata_size = 0;
    par->codec_id = AV_CODEC_ID_RAWVIDEO;
    par->bit_rate = par->profile = par->level = 0;
    if (halo_format_is_rgb(shape->format))
        par->color_space = AVCOL_SPC_RGB;
    const struct halo_scaler_side from = {shape->input.width, shape->input.height, shape->format,
                                          par->color_space, is_full(par)};
    par->format = e->what->format ? av_get_pix_fmt(e->what->format) : shape->format;
    par->codec_tag = avcodec_pix_fmt_to_codec_tag(par->format);
    size_of(e->live, e->what, &par->width, &par->height);
    say_stretched(shape, par);
    if (e->what->format)
        be_like_a_camera(par);
    const int code = open_scaler(e, &from, err);
    if (code < 0)
        return code;
    const int size = av_image_get_buffer_size(par->format, par->width, par->height, 1);
    e->codec.raw = size < 0 ? NULL
                            : av_buffer_pool_init((size_t)size + AV_INPUT_BUFFER_PADDING_SIZE,
                                                  av_buffer_allocz);
    return e->codec.raw ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

static int scale(struct halo_live_encoding *e, const AVFrame *from, AVFrame **ret)
{
    const AVCodecParameters *par = e->codec.out->streams[0]->codecpar;
    AVFrame *to = av_frame_alloc();
    if (!to)
        return -ENOMEM;
    to->format = par->format;
    to->width = par->width;
    to->height = par->height;
    int code = av_frame_get_buffer(to, 0) < 0 ? -ENOMEM : halo_av_scale(e->codec.scaler, from, to);
    if (code < 0)
        av_frame_free(&to);
    else
        *ret = to;
    return code;
}

int halo_live_codec_pack(struct halo_live_encoding *e, const struct halo_output_frame *picture,
                         AVPacket *pkt, struct halo_error *err)
{
    const AVCodecParameters *par = e->codec.out->streams[0]->codecpar;
    const AVFrame *from = halo_output_frame_frame(picture);
    AVFrame *scaled = NULL;
    int code = e->codec.scaler ? scale(e, from, &scaled) : 0;
    const AVFrame *frame = scaled ? scaled : from;
    const int size = av_image_get_buffer_size(par->format, par->width, par->height, 1);
    AVBufferRef *buffer = code >= 0 ? av_buffer_pool_get(e->codec.raw) : NULL;
    if (!buffer) {
        av_frame_free(&scaled);
        return halo_fail(err, code < 0 ? code : -ENOMEM, "a frame cannot be copied: %s",
                         strerror(code < 0 ? -code : ENOMEM));
    }
    av_image_copy_to_buffer(buffer->data, size, (const uint8_t *const *)frame->data,
                            frame->linesize, par->format, par->width, par->height, 1);
    av_packet_unref(pkt);
    pkt->buf = buffer;
    pkt->data = buffer->data;
    pkt->size = size;
    pkt->pts = pkt->dts = from->pts;
    const AVRational rate = halo_live_codec_rate(e);
    pkt->duration = rate.num > 0 && av_cmp_q(rate, e->live->format->framerate)
                        ? av_rescale_q(1, av_inv_q(rate), HALO_LIVE_TIME)
                        : halo_av_frame_duration(from);
    pkt->flags |= AV_PKT_FLAG_KEY;
    av_frame_free(&scaled);
    return 1;
}

/* ---- */

int halo_live_codec_prepare(struct halo_live_encoding *e, struct halo_error *err)
{
    int code = 0;
    e->codec.out = avformat_alloc_context();
    e->codec.card[0] = av_packet_alloc();
    e->codec.card[1] = av_packet_alloc();
    if (!e->codec.out || !e->codec.card[0] || !e->codec.card[1] ||
        !avformat_new_stream(e->codec.out, NULL))
        return halo_fail(err, -ENOMEM, "out of memory");
    const bool raw = e->what->kind == HALO_ENCODING_RAW;
    if (raw)
        code = open_raw(e, err);
    for (int i = 0; i < 2 && code >= 0; i++)
        code = raw ? halo_live_codec_pack(e, e->live->format->blank[i], e->codec.card[i], err)
                   : make_card(e, i, err);
    return code;
}

int halo_live_codec_receive(struct halo_live_encoding *e, AVPacket *pkt, struct halo_error *err)
{
    const int ret = halo_encoder_receive(e->codec.encoder, pkt, err);
    return ret > 0 ? finish_packet(e, e->codec.encoder, pkt, err) : ret;
}

void halo_live_codec_end(struct halo_live_encoding *e)
{
    halo_encoder_close(e->codec.encoder);
    e->codec.encoder = NULL;
    e->codec.held = 0;
    note_instead(e);
}

void halo_live_codec_close(struct halo_live_encoding *e)
{
    halo_live_codec_end(e);
    av_bsf_free(&e->codec.headers);
    avformat_free_context(e->codec.out);
    e->codec.out = NULL;
    sws_freeContext(e->codec.scaler);
    e->codec.scaler = NULL;
    av_buffer_pool_uninit(&e->codec.raw);
    for (int i = 0; i < 2; i++)
        av_packet_free(&e->codec.card[i]);
}

int halo_live_codec_image(const struct halo_live *live, const char *codec,
                          const struct halo_output_frame *frame, AVPacket *ret,
                          struct halo_error *err)
{
    struct halo_encoder *encoder;
    const struct halo_encoder_settings settings = {.live = true, .jpeg = !strcmp(codec, "mjpeg")};
    int code = open_encoder(live, codec, "image2", &settings, &encoder, err);
    if (code < 0)
        return code;
    code = encode_one(encoder, frame, ret, err);
    halo_encoder_close(encoder);
    return code;
}

void halo_live_encoding_send(struct halo_live_encoding *e, AVPacket *pkt, int stream, bool card)
{
    struct halo_live *live = e->live;
    const int64_t dts = pkt->dts == AV_NOPTS_VALUE ? pkt->pts : pkt->dts;
    if (dts == AV_NOPTS_VALUE || dts <= e->last_dts[stream])
        return; /* at an earlier time than the last packet */
    e->last_dts[stream] = dts;
    pkt->stream_index = stream;
    pkt->time_base = HALO_LIVE_TIME;
    pkt->pos = -1;
    if (pkt->flags & AV_PKT_FLAG_KEY)
        pkt->flags &= ~AV_PKT_FLAG_DISPOSABLE; /* only cards may be left out */
    halo_live_count_packet(live->counters, pkt->size, stream != 0, card);
    if (card)
        halo_live_tell_card(live->listener, e->number, pkt);
    else
        halo_live_tell_packet(live->listener, e->number, pkt);
}
