/* SPDX-License-Identifier: BSD-2-Clause
 * What containers support, beyond what FFmpeg's muxers declare. */
#include "pipeline/output/container.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <string.h>

#include "config/encoding.h"
#include "config/output_kinds.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"

#define ID(name) AV_CODEC_ID_##name

enum { LIMIT = 12 }; /* codecs of a kind, with a final AV_CODEC_ID_NONE */

/* Muxers that do not implement avformat_query_codec() and support more, or fewer, codecs than their
 * defaults. MPEG-TS's accepts any codec, but stores codecs that are not listed here as data of an
 * unknown kind, which no player can play. */
static const struct row {
    const char *names;
    enum AVCodecID video[LIMIT], audio[LIMIT];
} rows[] = {
    {"mpegts,rtp_mpegts",
     {ID(MPEG1VIDEO), ID(MPEG2VIDEO), ID(MPEG4), ID(H264), ID(HEVC), ID(CAVS), ID(DIRAC), ID(VC1)},
     {ID(MP1), ID(MP2), ID(MP3), ID(AAC), ID(AAC_LATM), ID(AC3), ID(EAC3), ID(DTS), ID(OPUS),
      ID(S302M)}},
    {"ogg,ogv", {ID(THEORA), ID(VP8)}, {ID(VORBIS), ID(OPUS), ID(FLAC), ID(SPEEX)}},
    {"mpeg,vcd,svcd,dvd,vob",
     {ID(MPEG1VIDEO), ID(MPEG2VIDEO), ID(MPEG4), ID(H264)},
     {ID(MP1), ID(MP2), ID(MP3), ID(AC3), ID(DTS), ID(PCM_DVD), ID(PCM_S16BE)}},
    {"mxf,mxf_opatom",
     {ID(MPEG2VIDEO), ID(H264), ID(DNXHD), ID(DVVIDEO), ID(JPEG2000)},
     {ID(PCM_S16LE), ID(PCM_S24LE)}},
    {"gxf", {ID(MPEG1VIDEO), ID(MPEG2VIDEO), ID(MJPEG), ID(DVVIDEO)}, {ID(PCM_S16LE)}},
    {"swf,avm2", {ID(FLV1), ID(VP6F), ID(FLASHSV), ID(MJPEG), ID(PNG)}, {ID(MP3)}},
    {"mp3", {ID(NONE)}, {ID(MP3)}}, /* images are covers only */
    {"flac", {ID(NONE)}, {ID(FLAC)}},
};

/* Muxers that do not implement it and accept, or hash, any codec. */
static const char any[] = "rtp,rtsp,sap,null,crc,framecrc,framehash,framemd5,hash,"
                          "md5,streamhash,uncodedframecrc";

static bool in_list(const enum AVCodecID *list, enum AVCodecID id)
{
    while (*list != AV_CODEC_ID_NONE && *list != id)
        list++;
    return *list == id && id != AV_CODEC_ID_NONE;
}

/* Codecs that muxers accept but readers do not get back intact: without times, or without data that
 * decoders need. */
static const struct row broken[] = {
    {"avi",
     {ID(NONE)},
     {ID(VORBIS), ID(ADPCM_MS), ID(ADPCM_IMA_WAV), ID(ADPCM_SWF), ID(ADPCM_YAMAHA), ID(ADPCM_G722),
      ID(EAC3), ID(DTS)}},
    {"asf,asf_stream", {ID(NONE)}, {ID(FLAC)}},
    {"nut", {ID(NONE)}, {ID(WMAV1), ID(WMAV2)}},
    {"mov", {ID(RAWVIDEO)}, {ID(NONE)}},
    {"mp4,ipod,3gp,3g2,psp", {ID(NONE)}, {ID(FLAC), ID(TRUEHD)}}, /* FFmpeg: experimental */
};

static const struct row *find_row(const struct row *list, size_t count,
                                  const AVOutputFormat *container)
{
    for (size_t i = 0; i < count; i++)
        if (av_match_name(container->name, list[i].names))
            return &list[i];
    return NULL;
}

static bool holds(const AVOutputFormat *container, enum AVMediaType type, enum AVCodecID id)
{
    const bool video = type == AVMEDIA_TYPE_VIDEO;
    const struct row *no = find_row(broken, FF_ARRAY_ELEMS(broken), container);
    const struct row *row = find_row(rows, FF_ARRAY_ELEMS(rows), container);
    if (no && in_list(video ? no->video : no->audio, id))
        return false;
    if (row)
        return in_list(video ? row->video : row->audio, id);
    const int known = avformat_query_codec(container, id, FF_COMPLIANCE_NORMAL);
    if (known == 0 && !strcmp(container->name, "matroska")) /* as in AVI, by VfW's and ACM's tags */
        return av_codec_get_tag(container->codec_tag, id);
    return known >= 0 ? known
                      : id == (video ? container->video_codec : container->audio_codec) ||
                            av_match_name(container->name, any);
}

static bool holds_video(const AVOutputFormat *container, enum AVCodecID id)
{
    return holds(container, AVMEDIA_TYPE_VIDEO, id);
}

bool halo_container_holds(const AVOutputFormat *container, const AVCodecParameters *par)
{
    int known;
    switch (par->codec_type) {
    case AVMEDIA_TYPE_VIDEO:
        return holds_video(container, par->codec_id);
    case AVMEDIA_TYPE_AUDIO:
        return holds(container, par->codec_type, par->codec_id);
    case AVMEDIA_TYPE_ATTACHMENT:
        return av_match_name("matroska", container->name);
    default:
        known = avformat_query_codec(container, par->codec_id, FF_COMPLIANCE_NORMAL);
        if (known >= 0)
            return known;
    }
    if (par->codec_type == AVMEDIA_TYPE_SUBTITLE)
        return container->subtitle_codec != AV_CODEC_ID_NONE ||
               container->codec_tag;                     /* it has tags; perhaps not this codec's */
    return av_match_name(container->name, "mpegts,nut"); /* data of any kind */
}

int halo_container_check(const AVOutputFormat *container, const char *where,
                         const AVCodecParameters *par, struct halo_error *err)
{
    if (!par || halo_container_holds(container, par))
        return 0;
    const bool video = par->codec_type == AVMEDIA_TYPE_VIDEO;
    return halo_fail(
        err, -ENOTSUP,
        "%s: %s does not support %s %s: use another codec%s, or a container such as .mkv", where,
        container->name, avcodec_get_name(par->codec_id), video ? "video" : "audio",
        video ? "" : " (audio: aac)");
}

const AVOutputFormat *halo_container_guess(const char *format, const char *name)
{
    if (format)
        return av_guess_format(format, NULL, NULL);
    return av_match_ext(name, "m4v") ? av_guess_format("mp4", NULL, NULL)
                                     : av_guess_format(NULL, name, NULL);
}

/* The container that goes with a URL's protocol; NULL: none does. */
static const char *container_of_protocol(const char *url)
{
    static const char *const known[][2] = {
        {"rtsp:", "rtsp"},   {"rtsps:", "rtsp"},   {"rtmp:", "flv"},   {"rtmps:", "flv"},
        {"srt:", "mpegts"},  {"udp:", "mpegts"},   {"tcp:", "mpegts"}, {"tls:", "mpegts"},
        {"http:", "mpegts"}, {"https:", "mpegts"},
    };
    for (size_t i = 0; i < FF_ARRAY_ELEMS(known); i++)
        if (av_stristart(url, known[i][0], NULL))
            return known[i][1];
    return NULL;
}

const AVOutputFormat *halo_container_of(const struct halo_output_settings *output)
{
    const struct halo_output_row *row = halo_output_row(output);
    const struct halo_viewer_format *served = halo_output_format(output);
    const char *name = row->container ? row->container : output->format;
    if (!row->coded || !output->target)
        return NULL;
    if (served)
        return served->muxer ? av_guess_format(served->muxer, NULL, NULL) : NULL;
    if (row->target == HALO_AT_URL)
        name = name ? name : container_of_protocol(output->target);
    return name || row->target == HALO_AT_FILE ? halo_container_guess(name, output->target) : NULL;
}

/* H.264 if it is one of several choices, otherwise the container's default. */
static const AVCodec *default_encoder(const AVOutputFormat *container)
{
    enum AVCodecID id = container->video_codec;
    if (id != AV_CODEC_ID_RAWVIDEO && holds_video(container, AV_CODEC_ID_H264))
        return avcodec_find_encoder_by_name("libx264");
    return holds_video(container, id) ? avcodec_find_encoder(id) : NULL;
}

const char *halo_container_advice(const AVOutputFormat *container, const char *advice)
{
    return strcmp(container->name, "matroska") ? advice : "";
}

const AVCodec *halo_container_encoder(const AVOutputFormat *container,
                                      const struct halo_run_settings *settings,
                                      struct halo_error *err)
{
    const char *name = settings->video_codec;
    const AVCodec *own = default_encoder(container), *codec = own;
    if (name && !strcmp(name, "copy")) {
        halo_fail_usage(err, "-c:v copy would pass unfiltered video: use an encoder");
        return NULL;
    }
    if (name)
        codec = halo_av_find_encoder("-c:v", name, AVMEDIA_TYPE_VIDEO, err);
    if (name && !codec)
        return NULL;
    if (codec && holds_video(container, codec->id))
        return codec;
    if (own)
        halo_fail_usage(
            err, "%s does not support %s video: use -c:v %s%s", container->name,
            avcodec_get_name(codec->id), own->name,
            halo_container_advice(container, ", or another container (.mkv supports nearly all)"));
    else
        halo_fail_usage(err,
                        "%s does not support any available video encoder: use .mp4, .mkv, .ts ...",
                        container->name);
    return NULL;
}

const enum AVPixelFormat *halo_container_formats(const AVOutputFormat *container,
                                                 const AVCodec *encoder)
{
    static const enum AVPixelFormat y4m[] = {
        AV_PIX_FMT_GRAY8,  AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,
        AV_PIX_FMT_GRAY10, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10,
        AV_PIX_FMT_GRAY12, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV444P12,
        AV_PIX_FMT_NONE};
    return strcmp(container->name, "yuv4mpegpipe") ? halo_av_pixel_formats(encoder) : y4m;
}

enum halo_starts halo_container_starts(const AVOutputFormat *container, enum AVCodecID id)
{
    if (av_match_name(container->name, "mov,mp4,3gp,3g2,psp,ipod,f4v"))
        return HALO_STARTS_HIDDEN;
    if (av_match_name(container->name, "avi,mxf,mxf_opatom,gxf,swf,avm2,yuv4mpegpipe") ||
        (id == AV_CODEC_ID_FLAC && av_match_name(container->name, "ogg,ogv,oga")))
        return HALO_STARTS_NOWHERE;
    return HALO_STARTS_LATER;
}

bool halo_container_skips(const AVOutputFormat *container, enum AVCodecID id)
{
    const bool mpeg = id == AV_CODEC_ID_MPEG1VIDEO || id == AV_CODEC_ID_MPEG2VIDEO;
    return halo_container_starts(container, id) != HALO_STARTS_NOWHERE &&
           !(mpeg && av_match_name(container->name, "mpeg,vcd,svcd,dvd,vob")) &&
           id != AV_CODEC_ID_THEORA;
}

bool halo_container_reorders(const AVOutputFormat *container)
{
    return !av_match_name(container->name, "avi,swf,avm2");
}

bool halo_container_says_once(const AVOutputFormat *container, enum AVCodecID id)
{
    return id == AV_CODEC_ID_AAC && (halo_container_starts(container, id) == HALO_STARTS_HIDDEN ||
                                     av_match_name(container->name, "matroska,webm,flv"));
}

int halo_container_options(const AVOutputFormat *container, AVDictionary **ret)
{
    /* Empty time before a track is counted in this unit; the default is milliseconds. */
    const bool mov = halo_container_starts(container, AV_CODEC_ID_NONE) == HALO_STARTS_HIDDEN;
    return mov ? av_dict_set(ret, "movie_timescale", "90000", 0) : 0;
}

bool halo_container_seeks(const AVOutputFormat *container)
{
    return halo_container_starts(container, AV_CODEC_ID_NONE) == HALO_STARTS_HIDDEN;
}
