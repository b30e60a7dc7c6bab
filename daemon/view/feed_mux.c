/* SPDX-License-Identifier: BSD-2-Clause
 * FFmpeg's muxers, writing into memory. */
#include "daemon/view/feed_mux.h"

#include <errno.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/container.h"
#include "pipeline/output/packet_ring.h"

enum {
    IO_BUFFER = 16 << 10,
    STREAMS = 2,
};

struct halo_feed_mux {
    struct halo_feed_mux_settings set;
    halo_feed_mux_write *write;
    void *arg;
    AVFormatContext *format; /* NULL until the first keyframe */
    struct halo_encoding_parameters *begin;
    AVPacket *work;
    const AVPacket *current; /* the packet being muxed: large pieces of it are shared */
    int64_t base;            /* us of the feed: time 0 */
    int64_t last[STREAMS];   /* dts, in the muxer's time base; -1 before */
};

/* ---- bytes ---- */

static int write_bytes(void *opaque, halo_av_written *data, int size)
{
    struct halo_feed_mux *mux = opaque;
    const AVPacket *pkt = mux->current;
    const bool inside = pkt && pkt->buf && data >= pkt->data && data < pkt->data + pkt->size &&
                        size <= pkt->data + pkt->size - data;
    return mux->write(mux->arg, data, (size_t)size, inside ? pkt->buf : NULL) < 0 ? AVERROR(ENOMEM)
                                                                                  : size;
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
        code = halo_av_parameters_copy(bsf->par_in, par);
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

static int add_stream(struct halo_feed_mux *mux, const AVCodecParameters *par, const AVPacket *key)
{
    AVStream *st = halo_parameters_add_stream(mux->format, mux->begin, par);
    if (!st)
        return AVERROR(ENOMEM);
    AVCodecParameters *own = st->codecpar;
    if (own->codec_id == AV_CODEC_ID_RAWVIDEO)
        own->codec_tag = avcodec_pix_fmt_to_codec_tag(own->format);
    st->time_base = AV_TIME_BASE_Q;
    if (own->codec_type != AVMEDIA_TYPE_VIDEO)
        return 0;
    if (!own->extradata_size && keeps_extradata_in_packets(own->codec_id))
        take_extradata(own, key); /* the format does not need it, or reports an error */
    return 0;
}

/* These options keep a muxer's memory constant and its output free of delay. */
static int write_header(struct halo_feed_mux *mux)
{
    AVDictionary *options = NULL;
    av_dict_set(&options, "pes_payload_size", "0", 0); /* mpegts: sound packets are not grouped */
    av_dict_set(&options, "live", "1", 0);             /* matroska: nothing is rewritten later */
    av_dict_set(&options, "write_index", "0", 0);      /* nut */
    av_dict_set(&options, "movflags", "empty_moov+default_base_moof+frag_custom", 0); /* mp4 */
    av_dict_set(&options, "use_editlist", "0", 0);
    const int code = avformat_write_header(mux->format, &options);
    av_dict_free(&options); /* options of the other formats are left in it */
    return code;
}

static void close_format(struct halo_feed_mux *mux)
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

static int open_format(struct halo_feed_mux *mux, const AVPacket *key)
{
    int code = avformat_alloc_output_context2(&mux->format, NULL, mux->set.muxer, NULL);
    uint8_t *buffer = code < 0 ? NULL : av_malloc(IO_BUFFER);
    AVIOContext *io =
        buffer ? avio_alloc_context(buffer, IO_BUFFER, 1, mux, NULL, write_bytes, NULL) : NULL;
    if (!io) {
        av_free(buffer);
        return AVERROR(ENOMEM);
    }
    io->seekable = 0;
    /* Large pieces arrive uncopied from the packet. MP4 goes back in its header to write sizes,
     * which it can do in the buffer only. */
    io->direct = strcmp(mux->set.muxer, "mp4") ? AVIO_FLAG_DIRECT : 0;
    mux->format->pb = io;
    mux->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    mux->format->avoid_negative_ts = 0;
    mux->format->max_delay = 0;
    code = add_stream(mux, mux->begin->video, key);
    if (code >= 0 && mux->begin->audio)
        code = add_stream(mux, mux->begin->audio, NULL);
    if (code >= 0)
        code = write_header(mux);
    mux->base = mux->set.base == INT64_MIN ? key->dts : mux->set.base;
    mux->last[0] = mux->last[1] = -1;
    return code;
}

/* ---- packets ---- */

static int fail_av(const struct halo_feed_mux *mux, struct halo_error *err, int averror)
{
    char text[200];
    return halo_fail(err, halo_av_errno(averror), "%s: %s", mux->set.muxer,
                     halo_av_reason(averror, NULL, text, sizeof text));
}

/* MPEG-TS can signal new parameters in its packets if the codecs do not change. */
static int go_on(struct halo_feed_mux *mux, const struct halo_encoding_parameters *begin,
                 struct halo_error *err)
{
    const struct halo_encoding_parameters *old = mux->begin;
    if (mux->set.rigid || old->video->codec_id != begin->video->codec_id ||
        !halo_parameters_are_same(old->audio, begin->audio))
        return halo_fail(err, -EPIPE,
                         "the stream's parameters changed, which %s cannot signal: reconnect",
                         mux->set.muxer);
    const int code = halo_av_parameters_copy(mux->format->streams[0]->codecpar, begin->video);
    mux->format->streams[0]->codecpar->codec_tag = 0;
    return code < 0 ? fail_av(mux, err, code) : 0;
}

int halo_feed_mux_begin(struct halo_feed_mux *mux, const struct halo_encoding_parameters *begin,
                        struct halo_error *err)
{
    const int code = mux->format ? go_on(mux, begin, err) : 0;
    if (code < 0)
        return code;
    const AVOutputFormat *container = av_guess_format(mux->set.muxer, NULL, NULL);
    if (halo_container_check(container, "the socket", begin->video, err) < 0 ||
        halo_container_check(container, "the socket", begin->audio, err) < 0)
        return -ENOTSUP;
    struct halo_encoding_parameters *copy = halo_parameters_copy(begin);
    if (!copy)
        return halo_fail(err, -ENOMEM, "out of memory");
    halo_begin_destroy(mux->begin);
    mux->begin = copy;
    return 0;
}

/* Sets times in the muxer's time base, which begin at 0 and increase; false: before the viewer's
 * time 0. */
static bool set_times(struct halo_feed_mux *mux, AVPacket *pkt)
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

static int write_packet(struct halo_feed_mux *mux, const AVPacket *pkt)
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

int halo_feed_mux_header(struct halo_feed_mux *mux, const AVPacket *key, struct halo_error *err)
{
    const int code = mux->format ? 0 : open_format(mux, key);
    return code < 0 ? fail_av(mux, err, code) : 0;
}

int halo_feed_mux_packet(struct halo_feed_mux *mux, const AVPacket *pkt, struct halo_error *err)
{
    int code = halo_feed_mux_header(mux, pkt, err);
    if (code < 0)
        return code;
    if (pkt->stream_index < (int)mux->format->nb_streams)
        code = write_packet(mux, pkt);
    return code < 0 ? fail_av(mux, err, code) : 0;
}

void halo_feed_mux_end(struct halo_feed_mux *mux)
{
    if (!mux->format)
        return;
    av_write_trailer(mux->format);
    avio_flush(mux->format->pb);
}

const AVCodecParameters *halo_feed_mux_video(const struct halo_feed_mux *mux)
{
    return mux->format ? mux->format->streams[0]->codecpar : NULL;
}

/* ---- life ---- */

int halo_feed_mux_create(struct halo_feed_mux **ret, const struct halo_feed_mux_settings *settings,
                         halo_feed_mux_write *write, void *arg)
{
    struct halo_feed_mux *mux = calloc(1, sizeof *mux);
    if (!mux || !(mux->work = av_packet_alloc())) {
        free(mux);
        return -ENOMEM;
    }
    mux->set = *settings;
    mux->write = write;
    mux->arg = arg;
    *ret = mux;
    return 0;
}

void halo_feed_mux_destroy(struct halo_feed_mux *mux)
{
    if (!mux)
        return;
    close_format(mux);
    halo_begin_destroy(mux->begin);
    av_packet_free(&mux->work);
    free(mux);
}
