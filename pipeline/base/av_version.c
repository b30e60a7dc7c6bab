/* SPDX-License-Identifier: BSD-2-Clause
 * FFmpeg's versions (av_version.h). The numbers are those of doc/APIchanges. */
#include "pipeline/base/av_version.h"

#include <libavcodec/packet.h>

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100) /* FFmpeg 6.0 */
int64_t halo_av_frame_duration(const AVFrame *frame)
{
    return frame->duration;
}

void halo_av_frame_set_duration(AVFrame *frame, int64_t duration)
{
    frame->duration = duration;
}
#else
int64_t halo_av_frame_duration(const AVFrame *frame)
{
    return frame->pkt_duration;
}

void halo_av_frame_set_duration(AVFrame *frame, int64_t duration)
{
    frame->pkt_duration = duration;
}
#endif

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100) /* FFmpeg 6.1 */
int halo_av_frame_fields(const AVFrame *frame)
{
    return (frame->flags & AV_FRAME_FLAG_INTERLACED ? HALO_AV_INTERLACED : 0) |
           (frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST ? HALO_AV_TOP_FIRST : 0);
}

void halo_av_frame_set_fields(AVFrame *frame, int fields)
{
    frame->flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
    frame->flags |= (fields & HALO_AV_INTERLACED ? AV_FRAME_FLAG_INTERLACED : 0) |
                    (fields & HALO_AV_TOP_FIRST ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0);
}
#else
int halo_av_frame_fields(const AVFrame *frame)
{
    return (frame->interlaced_frame ? HALO_AV_INTERLACED : 0) |
           (frame->top_field_first ? HALO_AV_TOP_FIRST : 0);
}

void halo_av_frame_set_fields(AVFrame *frame, int fields)
{
    frame->interlaced_frame = (fields & HALO_AV_INTERLACED) != 0;
    frame->top_field_first = (fields & HALO_AV_TOP_FIRST) != 0;
}
#endif

#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100) /* FFmpeg 6.1 */
const uint8_t *halo_av_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                        size_t *ret_size)
{
    const AVPacketSideData *side = av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
    *ret_size = side ? side->size : 0;
    return side ? side->data : NULL;
}

uint8_t *halo_av_stream_new_side_data(AVStream *stream, enum AVPacketSideDataType type, size_t size)
{
    AVPacketSideData *side = av_packet_side_data_new(
        &stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data, type, size, 0);
    return side ? side->data : NULL;
}

const AVPacketSideData *halo_av_stream_all_side_data(const AVStream *stream, int *ret_count)
{
    *ret_count = stream->codecpar->nb_coded_side_data;
    return stream->codecpar->coded_side_data;
}

/* Takes the side data away from parameters that are about to be replaced, and puts it back. */
struct kept {
    AVPacketSideData *data;
    int count;
};

static struct kept keep_side_data(AVCodecParameters *par)
{
    const struct kept kept = {par->coded_side_data, par->nb_coded_side_data};
    par->coded_side_data = NULL;
    par->nb_coded_side_data = 0;
    return kept;
}

static int restore_side_data(AVCodecParameters *par, struct kept kept, int code)
{
    av_packet_side_data_free(&par->coded_side_data, &par->nb_coded_side_data);
    par->coded_side_data = kept.data;
    par->nb_coded_side_data = kept.count;
    return code;
}

int halo_av_parameters_copy(AVCodecParameters *to, const AVCodecParameters *from)
{
    const struct kept kept = keep_side_data(to);
    return restore_side_data(to, kept, avcodec_parameters_copy(to, from));
}

int halo_av_parameters_from_context(AVCodecParameters *to, const AVCodecContext *from)
{
    const struct kept kept = keep_side_data(to);
    return restore_side_data(to, kept, avcodec_parameters_from_context(to, from));
}
#else
const uint8_t *halo_av_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                        size_t *ret_size)
{
    *ret_size = 0;
    return av_stream_get_side_data(stream, type, ret_size);
}

uint8_t *halo_av_stream_new_side_data(AVStream *stream, enum AVPacketSideDataType type, size_t size)
{
    return av_stream_new_side_data(stream, type, size);
}

const AVPacketSideData *halo_av_stream_all_side_data(const AVStream *stream, int *ret_count)
{
    *ret_count = stream->nb_side_data;
    return stream->side_data;
}

int halo_av_parameters_copy(AVCodecParameters *to, const AVCodecParameters *from)
{
    return avcodec_parameters_copy(to, from);
}

int halo_av_parameters_from_context(AVCodecParameters *to, const AVCodecContext *from)
{
    return avcodec_parameters_from_context(to, from);
}
#endif

#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100) /* FFmpeg 7.1 */
static const void *supported(const AVCodec *codec, enum AVCodecConfig what)
{
    const void *list = NULL;
    return avcodec_get_supported_config(NULL, codec, what, 0, &list, NULL) < 0 ? NULL : list;
}

const enum AVPixelFormat *halo_av_pixel_formats(const AVCodec *codec)
{
    return supported(codec, AV_CODEC_CONFIG_PIX_FORMAT);
}

const enum AVSampleFormat *halo_av_sample_formats(const AVCodec *codec)
{
    return supported(codec, AV_CODEC_CONFIG_SAMPLE_FORMAT);
}

const int *halo_av_sample_rates(const AVCodec *codec)
{
    return supported(codec, AV_CODEC_CONFIG_SAMPLE_RATE);
}

const AVChannelLayout *halo_av_channel_layouts(const AVCodec *codec)
{
    return supported(codec, AV_CODEC_CONFIG_CHANNEL_LAYOUT);
}
#else
const enum AVPixelFormat *halo_av_pixel_formats(const AVCodec *codec)
{
    return codec->pix_fmts;
}

const enum AVSampleFormat *halo_av_sample_formats(const AVCodec *codec)
{
    return codec->sample_fmts;
}

const int *halo_av_sample_rates(const AVCodec *codec)
{
    return codec->supported_samplerates;
}

const AVChannelLayout *halo_av_channel_layouts(const AVCodec *codec)
{
    return codec->ch_layouts;
}
#endif

bool halo_av_matroska_turns(void)
{
    return LIBAVFORMAT_VERSION_MAJOR >= 61; /* FFmpeg 7.0 */
}

void halo_av_hand_out_surfaces(AVCodecContext *codec)
{
#ifdef AV_HWACCEL_FLAG_UNSAFE_OUTPUT /* FFmpeg 6.0 */
    codec->hwaccel_flags |= AV_HWACCEL_FLAG_UNSAFE_OUTPUT;
#else
    (void)codec;
#endif
}

void halo_av_allow_parallel_callbacks(AVCodecContext *codec)
{
#if LIBAVCODEC_VERSION_MAJOR < 60 /* FFmpeg 5.1, where the field is deprecated already */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    codec->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#else
    (void)codec;
#endif
}
