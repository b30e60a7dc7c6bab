/* SPDX-License-Identifier: BSD-2-Clause
 * A viewer with an FFmpeg muxer, which writes MPEG-TS, Matroska or NUT into a queue of bytes. */
#include <errno.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/link/bytes.h"
#include "daemon/view/begin.h"
#include "daemon/view/viewer.h"
#include "pipeline/base/av.h"
#include "pipeline/output/begin_wire.h"
#include "pipeline/output/container.h"
#include "pipeline/output/packet_ring.h"

enum {
    LEAST_LIMIT = 4 << 20, /* bytes that may be queued */
    PICTURES = 3,          /* unencoded frames that may be queued, if that is more */
    IO_BUFFER = 16 << 10,
    STREAMS = 2,
};

struct mux {
    AVFormatContext *format; /* NULL until the first keyframe */
    struct halo_live_begin *begin;
    struct halo_bytes bytes;
    AVPacket *work;
    const AVPacket *current; /* the packet being muxed: large pieces of it are shared */
    size_t limit;
    int64_t base;          /* us of the feed: the viewer's time 0 */
    int64_t last[STREAMS]; /* dts, in the muxer's time base; -1 before */
    bool skips;            /* drops packets up to the next keyframe */
};

/* ---- bytes ---- */

#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int write_bytes(void *opaque, const uint8_t *data, int size)
#else
static int write_bytes(void *opaque, uint8_t *data, int size)
#endif
{
    struct mux *mux = opaque;
    const AVPacket *pkt = mux->current;
    const bool inside = pkt && pkt->buf && data >= pkt->data && data < pkt->data + pkt->size &&
                        size <= pkt->data + pkt->size - data;
    return halo_bytes_put(&mux->bytes, data, (size_t)size, inside ? pkt->buf : NULL) < 0
               ? AVERROR(ENOMEM)
               : size;
}

static int mux_flush(struct halo_viewer *viewer, struct halo_error *err)
{
    struct mux *mux = viewer->own;
    const int sent = halo_bytes_send(&mux->bytes, viewer->fd);
    if (sent < 0)
        return halo_fail(err, sent, "%s", strerror(-sent));
    viewer->shared->sent += sent;
    viewer->wants_write = mux->bytes.count > 0;
    halo_viewer_waits(viewer, viewer->wants_write, sent > 0);
    return 0;
}

/* ---- the header ---- */

/* Extracts parameter sets that the encoder writes only in keyframes, for formats that need them in
 * the header. */
static int take_extradata(AVCodecParameters *par, const AVPacket *key)
{
    const AVBitStreamFilter *filter = av_bsf_get_by_name("extract_extradata");
    AVBSFContext *bsf = NULL;
    AVPacket *pkt = av_packet_clone(key);
    size_t size = 0;
    int code = !filter || !pkt ? AVERROR(ENOMEM) : av_bsf_alloc(filter, &bsf);
    if (code >= 0)
        code = avcodec_parameters_copy(bsf->par_in, par);
    if (code >= 0)
        code = av_bsf_init(bsf);
    if (code >= 0)
        code = av_bsf_send_packet(bsf, pkt);
    if (code >= 0)
        code = av_bsf_receive_packet(bsf, pkt);
    const uint8_t *data =
        code >= 0 ? av_packet_get_side_data(pkt, AV_PKT_DATA_NEW_EXTRADATA, &size) : NULL;
    if (data && size > 0 && size < INT32_MAX / 2)
        par->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (data && par->extradata) {
        memcpy(par->extradata, data, size);
        par->extradata_size = (int)size;
    }
    av_packet_free(&pkt);
    av_bsf_free(&bsf);
    return code;
}

static bool keeps_extradata_in_packets(enum AVCodecID id)
{
    return id == AV_CODEC_ID_H264 || id == AV_CODEC_ID_HEVC || id == AV_CODEC_ID_AV1;
}

static int add_stream(struct mux *mux, const AVCodecParameters *par, const AVPacket *key)
{
    AVStream *st = avformat_new_stream(mux->format, NULL);
    if (!st || avcodec_parameters_copy(st->codecpar, par) < 0)
        return AVERROR(ENOMEM);
    AVCodecParameters *own = st->codecpar;
    own->codec_tag =
        own->codec_id == AV_CODEC_ID_RAWVIDEO ? avcodec_pix_fmt_to_codec_tag(own->format) : 0;
    st->time_base = AV_TIME_BASE_Q;
    if (own->codec_type != AVMEDIA_TYPE_VIDEO)
        return 0;
    st->sample_aspect_ratio = own->sample_aspect_ratio;
    if (mux->begin->framerate.num > 0 && mux->begin->framerate.den > 0)
        st->avg_frame_rate = mux->begin->framerate;
    if (!own->extradata_size && keeps_extradata_in_packets(own->codec_id))
        take_extradata(own, key); /* the format does not need it, or reports an error */
    return 0;
}

/* These options keep a muxer's memory constant and its output free of delay. */
static int write_header(struct mux *mux)
{
    AVDictionary *options = NULL;
    av_dict_set(&options, "pes_payload_size", "0", 0); /* mpegts: sound packets are not grouped */
    av_dict_set(&options, "live", "1", 0);             /* matroska: nothing is rewritten later */
    av_dict_set(&options, "write_index", "0", 0);      /* nut */
    const int code = avformat_write_header(mux->format, &options);
    av_dict_free(&options); /* options of the other formats are left in it */
    return code;
}

static void close_format(struct mux *mux)
{
    if (!mux->format)
        return;
    AVIOContext *io = mux->format->pb;
    if (io)
        av_freep(&io->buffer);
    avio_context_free(&io);
    mux->format->pb = NULL;
    avformat_free_context(mux->format);
    mux->format = NULL;
}

static int open_format(struct halo_viewer *viewer, const AVPacket *key)
{
    struct mux *mux = viewer->own;
    int code =
        avformat_alloc_output_context2(&mux->format, NULL, viewer->shared->format->muxer, NULL);
    uint8_t *buffer = code < 0 ? NULL : av_malloc(IO_BUFFER);
    AVIOContext *io =
        buffer ? avio_alloc_context(buffer, IO_BUFFER, 1, mux, NULL, write_bytes, NULL) : NULL;
    if (!io) {
        av_free(buffer);
        return AVERROR(ENOMEM);
    }
    io->seekable = 0;
    io->direct = AVIO_FLAG_DIRECT; /* so that large pieces arrive uncopied from the packet */
    mux->format->pb = io;
    mux->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    mux->format->avoid_negative_ts = 0;
    mux->format->max_delay = 0;
    code = add_stream(mux, mux->begin->video, key);
    if (code >= 0 && mux->begin->audio)
        code = add_stream(mux, mux->begin->audio, NULL);
    if (code >= 0)
        code = write_header(mux);
    mux->base = key->dts;
    mux->last[0] = mux->last[1] = -1;
    return code;
}

/* ---- from the feed ---- */

static int fail_av(struct halo_error *err, const char *what, int averror)
{
    char text[200];
    return halo_fail(err, halo_av_errno(averror), "%s: %s", what,
                     halo_av_reason(averror, text, sizeof text));
}

/* MPEG-TS can signal new parameters in its packets if the codecs do not change. */
static int go_on(struct halo_viewer *viewer, const struct halo_live_begin *begin,
                 struct halo_error *err)
{
    struct mux *mux = viewer->own;
    const struct halo_live_begin *old = mux->begin;
    if (viewer->shared->format->rigid || old->video->codec_id != begin->video->codec_id ||
        !halo_begin_is_same(old->audio, begin->audio))
        return halo_fail(err, -EPIPE,
                         "the stream's parameters changed, which %s cannot signal: reconnect",
                         viewer->shared->format->muxer);
    const int code = avcodec_parameters_copy(mux->format->streams[0]->codecpar, begin->video);
    mux->format->streams[0]->codecpar->codec_tag = 0;
    return code < 0 ? fail_av(err, "new parameters", code) : 0;
}

static int mux_begin(struct halo_viewer *viewer, const struct halo_live_begin *begin,
                     struct halo_error *err)
{
    struct mux *mux = viewer->own;
    const AVCodecParameters *video = begin->video;
    if (mux->format) {
        const int code = go_on(viewer, begin, err);
        if (code < 0)
            return code;
    }
    const AVOutputFormat *container = av_guess_format(viewer->shared->format->muxer, NULL, NULL);
    if (halo_container_check(container, "the socket", video, err) < 0 ||
        halo_container_check(container, "the socket", begin->audio, err) < 0)
        return -ENOTSUP;
    struct halo_live_begin *copy = halo_begin_copy(begin);
    if (!copy)
        return halo_fail(err, -ENOMEM, "out of memory");
    halo_begin_destroy(mux->begin);
    mux->begin = copy;
    const int picture =
        video->codec_id == AV_CODEC_ID_RAWVIDEO
            ? av_image_get_buffer_size(video->format, video->width, video->height, 1)
            : 0;
    mux->limit = LEAST_LIMIT;
    if (picture > LEAST_LIMIT / PICTURES)
        mux->limit = (size_t)picture * PICTURES + LEAST_LIMIT / PICTURES;
    return 0;
}

/* Whether the queue has room for pkt. After a packet without room, everything up to the next
 * keyframe is dropped. */
static bool has_room(struct mux *mux, const AVPacket *pkt)
{
    const bool key = pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY);
    const size_t count = mux->bytes.count;
    mux->skips = (mux->skips && !key) || (count > 0 && count + (size_t)pkt->size > mux->limit);
    return !mux->skips;
}

/* Sets times in the muxer's time base, which begin at 0 and increase; false: before the viewer's
 * time 0. */
static bool set_times(struct mux *mux, AVPacket *pkt)
{
    const int index = pkt->stream_index;
    const AVRational base = mux->format->streams[index]->time_base;
    if (pkt->dts < mux->base)
        return false;
    pkt->dts = av_rescale_q(pkt->dts - mux->base, AV_TIME_BASE_Q, base);
    pkt->pts = av_rescale_q(pkt->pts - mux->base, AV_TIME_BASE_Q, base);
    pkt->duration = av_rescale_q(pkt->duration, AV_TIME_BASE_Q, base);
    if (pkt->dts <= mux->last[index])
        pkt->dts = mux->last[index] + 1;
    if (pkt->pts < pkt->dts)
        pkt->pts = pkt->dts;
    mux->last[index] = pkt->dts;
    return true;
}

static int write_packet(struct mux *mux, const AVPacket *pkt)
{
    AVPacket *work = mux->work;
    int code = av_packet_ref(work, pkt);
    if (code < 0)
        return code;
    work->flags &= ~HALO_PACKET_CARD; /* no player may skip it */
    if (set_times(mux, work)) {
        mux->current = pkt;
        code = av_write_frame(mux->format, work);
        if (code >= 0)
            code = av_write_frame(mux->format, NULL); /* completes the cluster */
        avio_flush(mux->format->pb);
        mux->current = NULL;
        if (code >= 0)
            code = mux->format->pb->error;
    }
    av_packet_unref(work);
    return code;
}

static int mux_packet(struct halo_viewer *viewer, const AVPacket *pkt, struct halo_error *err)
{
    struct mux *mux = viewer->own;
    if (!has_room(mux, pkt)) {
        viewer->shared->dropped++;
        return 0; /* the socket is full and is being polled */
    }
    int code = 0;
    if (!mux->format)
        code = open_format(viewer, pkt);
    if (code < 0)
        return fail_av(err, viewer->shared->format->muxer, code);
    if (pkt->stream_index < (int)mux->format->nb_streams)
        code = write_packet(mux, pkt);
    if (code < 0)
        return fail_av(err, viewer->shared->format->muxer, code);
    return viewer->wants_write ? 0 : mux_flush(viewer, err);
}

/* ---- life ---- */

static int mux_receive(struct halo_viewer *viewer, const uint8_t *data, size_t size,
                       struct halo_error *err)
{
    (void)viewer, (void)data, (void)size, (void)err;
    return 0; /* data from players is ignored */
}

static void mux_end(struct halo_viewer *viewer)
{
    struct mux *mux = viewer->own;
    if (mux->format && !mux->skips) {
        av_write_trailer(mux->format);
        avio_flush(mux->format->pb);
    }
    halo_bytes_send(&mux->bytes, viewer->fd);
}

static void mux_close(struct halo_viewer *viewer)
{
    struct mux *mux = viewer->own;
    if (!mux)
        return;
    close_format(mux);
    halo_begin_destroy(mux->begin);
    halo_bytes_clear(&mux->bytes);
    av_packet_free(&mux->work);
    free(mux);
}

static int mux_open(struct halo_viewer *viewer)
{
    struct mux *mux = calloc(1, sizeof *mux);
    viewer->own = mux;
    if (mux)
        mux->work = av_packet_alloc();
    return mux && mux->work ? 0 : -ENOMEM;
}

const struct halo_viewer_ops halo_viewer_mux = {
    .open = mux_open,
    .begin = mux_begin,
    .packet = mux_packet,
    .flush = mux_flush,
    .receive = mux_receive,
    .end = mux_end,
    .close = mux_close,
};
