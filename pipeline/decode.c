/* SPDX-License-Identifier: BSD-2-Clause
 * A video decoder: packets of one stream in, raw pictures out. */
#include "pipeline/decode.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>
#include <stddef.h>

#include "config/log.h"
#include "pipeline/av.h"
#include "pipeline/damage.h"
#include "pipeline/decode_memory.h"
#include "pipeline/raw_picture.h"

/* What is known of a codec. */
enum traits {
    STARTS_MIDWAY = 1, /* recordings begin between its key frames, and its demuxers mark those */
    HONEST = 2,        /* its decoder's error lines mean damage; the others' may not */
    FUSSY = 4,         /* asked to stop at errors, its decoder stops at healthy pictures */
};

enum {
    MAX_SKIPPED = 1000, /* packets: a demuxer that marks no key frames must not hide the stream */
};

struct halo_decoder {
    const char *name;
    AVStream *stream;
    struct halo_damage *damage;
    struct halo_decode_memory *memory; /* NULL: FFmpeg's own does */
    AVCodecContext *codec;
    AVFrame *frame;
    int64_t last_pts, last_duration; /* of the pictures delivered */
    int64_t packet_time;             /* of the last packet sent */
    struct halo_complaints complaints;
    int known_complaints; /* up to the last good picture */
    int traits;
    int skipped; /* packets before the first key frame */
    bool started, tolerate;
};

static int traits_of(enum AVCodecID id)
{
    static const struct {
        enum AVCodecID id;
        int traits;
    } known[] = {
        {AV_CODEC_ID_H264, STARTS_MIDWAY | FUSSY}, /* damage is in each frame's flags */
        {AV_CODEC_ID_TIFF, FUSSY},                 /* unknown tags */
        {AV_CODEC_ID_HEVC, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_MPEG1VIDEO, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_MPEG2VIDEO, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_MPEG4, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_VC1, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_CAVS, STARTS_MIDWAY},
        {AV_CODEC_ID_VP8, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_VP9, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_AV1, STARTS_MIDWAY | HONEST},
        {AV_CODEC_ID_THEORA, HONEST},
        {AV_CODEC_ID_FFV1, HONEST},
        {AV_CODEC_ID_HUFFYUV, HONEST},
        {AV_CODEC_ID_FFVHUFF, HONEST},
        {AV_CODEC_ID_UTVIDEO, HONEST},
        {AV_CODEC_ID_MJPEG, HONEST},
        {AV_CODEC_ID_PRORES, HONEST},
        {AV_CODEC_ID_DNXHD, HONEST},
        {AV_CODEC_ID_DVVIDEO, HONEST},
        {AV_CODEC_ID_MSMPEG4V3, HONEST},
        {AV_CODEC_ID_WMV1, HONEST},
        {AV_CODEC_ID_WMV2, HONEST},
        {AV_CODEC_ID_WMV3, HONEST},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].id == id)
            return known[i].traits;
    return 0;
}

static int get_buffer(AVCodecContext *c, AVFrame *frame, int flags)
{
    const struct halo_complaints *complaints = c->opaque;
    const struct halo_decoder *d =
        (const void *)((const char *)complaints - offsetof(struct halo_decoder, complaints));
    return halo_decode_memory_get(d->memory, c, frame, flags);
}

/* Pictures in memory that the device reads without a detour, from decoders that can be told where
 * to write. 0 or -ENOMEM. */
static int set_memory(struct halo_decoder *d, const AVCodec *codec, struct halo_memory *memory)
{
    if (!(codec->capabilities & AV_CODEC_CAP_DR1))
        return 0;
    d->memory = halo_decode_memory_create(memory);
    if (!d->memory)
        return -ENOMEM;
    d->codec->get_buffer2 = get_buffer;
#if LIBAVCODEC_VERSION_MAJOR < 60
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    d->codec->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
    return 0;
}

int halo_decoder_open(struct halo_decoder **ret, const char *name, AVStream *stream,
                      struct halo_memory *memory, struct halo_damage *damage,
                      struct halo_error *err)
{
    char why[400];
    const AVCodecParameters *par = stream->codecpar;
    const AVCodec *codec = avcodec_find_decoder(par->codec_id);
    if (!codec)
        return halo_fail(err, -ENOTSUP, "%s: stream %d: FFmpeg has no decoder for %s", name,
                         stream->index, avcodec_get_name(par->codec_id));
    struct halo_decoder *d = av_mallocz(sizeof *d);
    if (!d || !(d->codec = avcodec_alloc_context3(codec)) || !(d->frame = av_frame_alloc()) ||
        set_memory(d, codec, memory) < 0) {
        halo_decoder_close(d);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    d->name = name;
    d->traits = traits_of(par->codec_id);
    d->started = !(d->traits & STARTS_MIDWAY);
    d->stream = stream;
    d->damage = damage;
    d->last_pts = d->packet_time = AV_NOPTS_VALUE;
    int r = avcodec_parameters_to_context(d->codec, par);
    d->codec->pkt_timebase = stream->time_base;
    d->codec->thread_count = 0;
    d->codec->opaque = &d->complaints;
    const bool conceal = damage->keep_going || (d->traits & FUSSY);
    d->codec->err_recognition = AV_EF_CRCCHECK | (conceal ? 0 : AV_EF_EXPLODE);
    if (r >= 0)
        r = avcodec_open2(d->codec, codec, NULL);
    if (r < 0) {
        halo_decoder_close(d);
        return halo_fail(err, halo_av_errno(r), "%s: stream %d: the %s decoder does not open: %s",
                         name, stream->index, codec->name, halo_av_reason(r, why, sizeof why));
    }
    *ret = d;
    return 0;
}

void halo_decoder_close(struct halo_decoder *d)
{
    if (!d)
        return;
    avcodec_free_context(&d->codec);
    av_frame_free(&d->frame);
    halo_decode_memory_destroy(d->memory);
    av_free(d);
}

void halo_decoder_tolerate(struct halo_decoder *d, bool tolerate)
{
    d->tolerate = tolerate;
}

/* 0 where damage is accepted. */
static int fail_damaged(const struct halo_decoder *d, int64_t ts, int averror,
                        struct halo_error *err)
{
    char clock[32], why[400];
    const double time = ts == AV_NOPTS_VALUE ? 0 : ts * av_q2d(d->stream->time_base);
    const int ret =
        halo_fail(err, -EBADMSG, "%s: damaged at %s: stream %d (%s): %s", d->name,
                  halo_av_clock(time, clock, sizeof clock), d->stream->index,
                  avcodec_get_name(d->codec->codec_id), halo_av_reason(averror, why, sizeof why));
    return halo_damage_meet(d->damage, ret, err);
}

int halo_decoder_send(struct halo_decoder *d, const AVPacket *pkt, struct halo_error *err)
{
    if (pkt && !d->started) {
        d->started = (pkt->flags & AV_PKT_FLAG_KEY) || d->skipped >= MAX_SKIPPED;
        if (!d->started) {
            d->skipped++;
            return 0;
        }
        if (d->skipped && !d->tolerate)
            halo_log(HALO_LOG_WARNING,
                     "%s: stream %d begins with %d packets before its first key frame: skipped",
                     d->name, d->stream->index, d->skipped);
    }
    if (pkt)
        d->packet_time = pkt->pts != AV_NOPTS_VALUE ? pkt->pts : pkt->dts;
    const int r = avcodec_send_packet(d->codec, pkt);
    if (r >= 0 || (r == AVERROR_EOF && !pkt) || d->tolerate)
        return 0;
    return fail_damaged(d, d->packet_time, r, err);
}

/* Every picture has a time: its own, or one frame after the picture before. */
static void set_time(struct halo_decoder *d, AVFrame *frame)
{
    int64_t pts = frame->best_effort_timestamp;
    int64_t duration = frame->pkt_duration;
    if (duration <= 0 && d->stream->avg_frame_rate.num > 0)
        duration = av_rescale_q(1, av_inv_q(d->stream->avg_frame_rate), d->stream->time_base);
    if (pts == AV_NOPTS_VALUE)
        pts = d->last_pts == AV_NOPTS_VALUE ? 0 : d->last_pts + FFMAX(d->last_duration, 1);
    d->last_pts = frame->pts = pts;
    d->last_duration = duration;
}

int halo_decoder_receive(struct halo_decoder *d, struct halo_raw_picture **ret,
                         struct halo_error *err)
{
    if (!d->started)
        return 0;
    int r, damaged = 0;
    do {
        r = avcodec_receive_frame(d->codec, d->frame);
        if (r == AVERROR(EAGAIN) || r == AVERROR_EOF || (r < 0 && d->tolerate))
            return 0;
        if (r < 0)
            damaged = fail_damaged(d, d->packet_time, r, err);
    } while (r < 0 && damaged == 0);
    if (damaged < 0)
        return damaged;
    set_time(d, d->frame);
    const int complaints = atomic_load(&d->complaints.lines);
    const bool broken = d->frame->decode_error_flags || (d->frame->flags & AV_FRAME_FLAG_CORRUPT) ||
                        (complaints != d->known_complaints && (d->traits & HONEST));
    d->known_complaints = complaints;
    if (broken && !d->tolerate)
        damaged = fail_damaged(d, d->frame->pts, AVERROR_INVALIDDATA, err);
    if (damaged < 0) {
        av_frame_unref(d->frame);
        return damaged;
    }
    struct halo_raw_picture *raw = av_mallocz(sizeof *raw);
    if (!raw || !(raw->frame = av_frame_alloc())) {
        halo_raw_picture_destroy(raw);
        return halo_fail(err, -ENOMEM, "out of memory for a picture");
    }
    av_frame_move_ref(raw->frame, d->frame);
    *ret = raw;
    return 1;
}

int64_t halo_raw_picture_pts(const struct halo_raw_picture *raw)
{
    return raw->frame->pts;
}

void halo_raw_picture_set_pts(struct halo_raw_picture *raw, int64_t pts)
{
    raw->frame->pts = pts;
}

void halo_raw_picture_destroy(struct halo_raw_picture *raw)
{
    if (!raw)
        return;
    av_frame_free(&raw->frame);
    av_free(raw);
}
