/* SPDX-License-Identifier: BSD-2-Clause
 * Writes packets of a live stream to a muxer (output_mux.h). */
#include "pipeline/output/output_mux.h"
#include "pipeline/base/av_version.h"

#include <libavutil/avstring.h>
#include <libavutil/dict.h>

enum {
    US = 1000000,
    INTERLEAVE_US = US, /* longest wait for the other track */
    EARLIER_US = US,    /* audio may begin this much before video */
};

static int add_stream(AVFormatContext *format, const struct halo_encoding_parameters *begin,
                      const AVCodecParameters *par, AVRational clock)
{
    AVStream *st = halo_parameters_add_stream(format, begin, par);
    if (!st)
        return AVERROR(ENOMEM);
    /* Of the two tags for HEVC in MP4, Apple's players know one, which FFmpeg does not choose. */
    if (par->codec_id == AV_CODEC_ID_HEVC && av_match_name(format->oformat->name, "mp4,mov"))
        st->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
    st->time_base = clock; /* requested */
    return 0;
}

static int start(struct halo_mux *mux, const struct halo_encoding_parameters *begin,
                 AVDictionary **options)
{
    AVFormatContext *format = mux->format;
    int code = add_stream(format, begin, begin->video, (AVRational){1, 90000});
    if (code >= 0 && begin->audio)
        code = add_stream(format, begin, begin->audio, (AVRational){1, begin->audio->sample_rate});
    if (code < 0)
        return code;
    format->flags |= AVFMT_FLAG_FLUSH_PACKETS;
    format->flush_packets = 1;
    format->max_interleave_delta = INTERLEAVE_US;
    format->avoid_negative_ts = AVFMT_AVOID_NEG_TS_MAKE_NON_NEGATIVE;
    mux->pkt = av_packet_alloc();
    if (!mux->pkt)
        return AVERROR(ENOMEM);
    code = avformat_write_header(format, options);
    if (code < 0)
        return code;
    mux->started = true;
    for (unsigned i = 0; i < format->nb_streams; i++)
        mux->clock[i] = format->streams[i]->time_base;
    return 0;
}

int halo_mux_open(struct halo_mux *mux, AVFormatContext *format,
                  const struct halo_encoding_parameters *begin, AVDictionary **options)
{
    *mux = (struct halo_mux){.format = format, .last = {INT64_MIN, INT64_MIN}};
    const int code = start(mux, begin, options);
    if (code < 0)
        halo_mux_close(mux);
    return code;
}

/* Audio from before the first frame is kept, and shifts the whole file, as long as none of the file
 * can have been written yet; packets that are older still are dropped. */
static bool is_too_early(const struct halo_mux *mux, const AVPacket *pkt)
{
    const int64_t at = pkt->dts - mux->origin;
    return at < -EARLIER_US || (at < 0 && mux->newest > INTERLEAVE_US * 9 / 10);
}

int halo_mux_write(struct halo_mux *mux, const AVPacket *pkt)
{
    const unsigned track = pkt->stream_index;
    if (track >= mux->format->nb_streams || pkt->dts == AV_NOPTS_VALUE ||
        pkt->pts == AV_NOPTS_VALUE)
        return 0;
    if (!mux->begun) {
        mux->origin = pkt->dts;
        mux->begun = true;
    }
    if (is_too_early(mux, pkt))
        return 0;
    if (track == 0)
        mux->newest = FFMAX(mux->newest, pkt->dts - mux->origin);
    const int code = av_packet_ref(mux->pkt, pkt);
    if (code < 0)
        return code;
    AVPacket *to = mux->pkt;
    to->pts += mux->base - mux->origin;
    to->dts += mux->base - mux->origin;
    to->pos = -1;
    av_packet_rescale_ts(to, (AVRational){1, US}, mux->clock[track]);
    if (to->dts <= mux->last[track])
        to->dts = mux->last[track] + 1;
    to->pts = FFMAX(to->pts, to->dts);
    mux->last[track] = to->dts;
    const int written = av_interleaved_write_frame(mux->format, to);
    av_packet_unref(to);
    if (written >= 0 && mux->format->pb && mux->format->pb->error < 0)
        return mux->format->pb->error;
    return FFMIN(written, 0);
}

int halo_mux_close(struct halo_mux *mux)
{
    int code = 0;
    if (mux->started)
        code = av_write_trailer(mux->format);
    if (mux->started && mux->format->pb) {
        avio_flush(mux->format->pb);
        if (code >= 0)
            code = FFMIN(mux->format->pb->error, 0);
    }
    avformat_free_context(mux->format);
    av_packet_free(&mux->pkt);
    *mux = (struct halo_mux){NULL};
    return code;
}

int halo_mux_options(const AVOutputFormat *container, AVDictionary **ret)
{
    int code = 0;
    if (av_match_name(container->name, "mp4,mov,ipod")) {
        /* frag_discont: fragments carry their times, because the header at the beginning has no
         * edit list that could; use_editlist: otherwise reordered frames would be late by its
         * length. */
        code = av_dict_set(ret, "movflags",
                           "frag_keyframe+empty_moov+default_base_moof+frag_discont", 0);
        if (code >= 0)
            code = av_dict_set(ret, "use_editlist", "0", 0);
    } else if (av_match_name(container->name, "matroska,webm")) {
        code = av_dict_set(ret, "cluster_time_limit", "1000", 0); /* ms that are kept in memory */
    } else if (av_match_name(container->name, "flv")) {
        code = av_dict_set(ret, "flvflags", "no_duration_filesize", 0);
    }
    return code < 0 ? -ENOMEM : 0;
}
