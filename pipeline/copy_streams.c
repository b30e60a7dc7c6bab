/* SPDX-License-Identifier: BSD-2-Clause
 * What becomes of each stream of the input, and of what the file says about itself. */
#include "pipeline/copy_streams.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/audio.h"
#include "pipeline/subtitle.h"

static const char *type_name(enum AVMediaType type)
{
    const char *name = av_get_media_type_string(type);
    return name ? name : "unknown";
}

static enum halo_role drop(const struct halo_run_settings *set, const AVStream *in, const char *why)
{
    if (strcmp(set->output, "null:") != 0)
        halo_log(HALO_LOG_INFO, "stream %d (%s, %s) is dropped: %s", in->index,
                 type_name(in->codecpar->codec_type), avcodec_get_name(in->codecpar->codec_id),
                 why);
    return HALO_ROLE_DROP;
}

static bool is_font(const AVStream *in)
{
    const AVDictionaryEntry *mime = av_dict_get(in->metadata, "mimetype", NULL, 0);
    return in->codecpar->codec_id == AV_CODEC_ID_TTF || in->codecpar->codec_id == AV_CODEC_ID_OTF ||
           (mime && (strstr(mime->value, "font") || strstr(mime->value, "opentype")));
}

bool halo_container_holds(const AVOutputFormat *container, const AVCodecParameters *par)
{
    if (par->codec_type == AVMEDIA_TYPE_ATTACHMENT)
        return av_match_name("matroska", container->name);
    const int known = avformat_query_codec(container, par->codec_id, FF_COMPLIANCE_NORMAL);
    if (known >= 0)
        return known;
    /* A muxer that does not tell: what it takes by default, else assume that it knows. */
    if (par->codec_type == AVMEDIA_TYPE_AUDIO)
        return container->audio_codec != AV_CODEC_ID_NONE;
    if (par->codec_type == AVMEDIA_TYPE_SUBTITLE)
        return container->subtitle_codec != AV_CODEC_ID_NONE ||
               container->codec_tag;                     /* it would have a tag for it */
    return av_match_name(container->name, "mpegts,nut"); /* data of any kind */
}

bool halo_audio_is_coded(const struct halo_run_settings *settings)
{
    return settings->audio_codec && strcmp(settings->audio_codec, "copy") != 0;
}

/* The codec that this stream would have in the output. */
static int check_audio(const struct halo_run_settings *set, const AVStream *in,
                       const AVOutputFormat *container, struct halo_error *err)
{
    AVCodecParameters par = *in->codecpar; /* borrowed: only its kind is looked at */
    if (halo_audio_is_coded(set)) {
        const AVCodec *codec = halo_audio_find(set->audio_codec, err);
        if (!codec)
            return -EINVAL;
        par.codec_id = codec->id;
    }
    if (halo_container_holds(container, &par))
        return 0;
    return halo_fail_usage(err,
                           "stream %d: %s cannot hold %s audio: choose a codec with -c:a, another "
                           "container (.mkv holds nearly all), or leave it out with -an",
                           in->index, container->name, avcodec_get_name(par.codec_id));
}

int halo_role_of(const struct halo_run_settings *set, const AVStream *in,
                 const AVOutputFormat *container, enum halo_role *ret, struct halo_error *err)
{
    const AVCodecParameters *par = in->codecpar;
    const bool null = !strcmp(container->name, "null");
    switch (par->codec_type) {
    case AVMEDIA_TYPE_VIDEO:
        if (in->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS))
            *ret = drop(set, in, "a cover picture would show what the filters hide");
        else
            *ret = HALO_ROLE_FILTER;
        return 0;
    case AVMEDIA_TYPE_AUDIO:
        if (set->no_audio || null) {
            *ret = HALO_ROLE_DROP;
            return 0;
        }
        if (par->sample_rate <= 0) {
            *ret = drop(set, in, "it is announced, but no sound of it was found");
            return 0;
        }
        break;
    case AVMEDIA_TYPE_SUBTITLE:
        break;
    case AVMEDIA_TYPE_ATTACHMENT:
        if (!is_font(in) && !set->copy_unfiltered) {
            *ret = drop(set, in,
                        "an attachment may show what the filters hide (-copy_unfiltered keeps it)");
            return 0;
        }
        break;
    default:
        if (!set->copy_unfiltered) {
            *ret = drop(set, in, "halod does not know what it holds (-copy_unfiltered keeps it)");
            return 0;
        }
    }
    *ret = HALO_ROLE_COPY;
    if (null)
        *ret = HALO_ROLE_DROP;
    else if (par->codec_type == AVMEDIA_TYPE_AUDIO)
        return check_audio(set, in, container, err);
    else if (!halo_container_holds(container, par) &&
             (par->codec_type != AVMEDIA_TYPE_SUBTITLE ||
              halo_subtitle_form(container, par->codec_id) == AV_CODEC_ID_NONE))
        *ret = drop(set, in, "the output's container cannot hold it (.mkv holds nearly all)");
    return 0;
}

/* Numbers that a Matroska muxer once counted for the unfiltered stream. */
static bool is_statistic(const char *key)
{
    return av_strstart(key, "BPS", NULL) || av_strstart(key, "NUMBER_OF_", NULL) ||
           av_strstart(key, "_STATISTICS_", NULL) || !strcmp(key, "DURATION");
}

static int copy_stream_metadata(const AVStream *in, AVStream *out, enum halo_role role)
{
    const AVDictionaryEntry *e = NULL;
    while ((e = av_dict_get(in->metadata, "", e, AV_DICT_IGNORE_SUFFIX))) {
        const bool stale =
            role == HALO_ROLE_FILTER &&
            (is_statistic(e->key) || !strcmp(e->key, "encoder") || !strcmp(e->key, "vendor_id"));
        if (!stale && av_dict_set(&out->metadata, e->key, e->value, 0) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int copy_side_data(const AVStream *in, AVStream *out, enum halo_role role)
{
    for (int i = 0; i < in->nb_side_data; i++) {
        const AVPacketSideData *side = &in->side_data[i];
        /* Of a filtered stream only what says how to show it. */
        if (role == HALO_ROLE_FILTER && side->type != AV_PKT_DATA_DISPLAYMATRIX &&
            side->type != AV_PKT_DATA_STEREO3D && side->type != AV_PKT_DATA_SPHERICAL)
            continue;
        uint8_t *data = av_stream_new_side_data(out, side->type, side->size);
        if (!data)
            return -ENOMEM;
        memcpy(data, side->data, side->size);
    }
    return 0;
}

int halo_copy_stream(const struct halo_run_settings *set, const AVStream *in, AVStream *out,
                     enum halo_role role)
{
    out->disposition = in->disposition;
    if (copy_side_data(in, out, role) < 0)
        return -ENOMEM;
    if (role == HALO_ROLE_COPY) {
        if (avcodec_parameters_copy(out->codecpar, in->codecpar) < 0)
            return -ENOMEM;
        out->codecpar->codec_tag = 0; /* the muxer knows its own */
        out->time_base = in->time_base;
        out->avg_frame_rate = in->avg_frame_rate;
    }
    if (set->map_metadata && role == HALO_ROLE_COPY &&
        in->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT) {
        /* An attachment without a name and type is none. */
        const AVDictionaryEntry *name = av_dict_get(in->metadata, "filename", NULL, 0);
        const AVDictionaryEntry *mime = av_dict_get(in->metadata, "mimetype", NULL, 0);
        if ((name && av_dict_set(&out->metadata, "filename", name->value, 0) < 0) ||
            (mime && av_dict_set(&out->metadata, "mimetype", mime->value, 0) < 0))
            return -ENOMEM;
    }
    return set->map_metadata ? 0 : copy_stream_metadata(in, out, role);
}

static int copy_chapter(const AVChapter *in, AVFormatContext *out, int64_t offset)
{
    const int64_t shift = av_rescale_q(offset, AV_TIME_BASE_Q, in->time_base);
    AVChapter **list = av_realloc_array(out->chapters, out->nb_chapters + 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    out->chapters = list;
    AVChapter *c = av_mallocz(sizeof *c);
    if (!c)
        return -ENOMEM;
    c->id = in->id;
    c->time_base = in->time_base;
    c->start = FFMAX(in->start - shift, 0);
    c->end = in->end - shift;
    list[out->nb_chapters++] = c; /* freed with the context */
    return av_dict_copy(&c->metadata, in->metadata, 0) < 0 ? -ENOMEM : 0;
}

int halo_copy_descriptions(const struct halo_run_settings *set, const AVFormatContext *in,
                           AVFormatContext *out, int64_t offset, int64_t end)
{
    const bool keep = !set->map_metadata;
    if (keep && av_dict_copy(&out->metadata, in->metadata, 0) < 0)
        return -ENOMEM;
    /* What the muxer says of itself, and brands of the old container. */
    static const char *const own[] = {"encoder", "major_brand", "minor_version",
                                      "compatible_brands", "creation_time_offset"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        av_dict_set(&out->metadata, own[i], NULL, 0);
    for (unsigned i = 0; i < in->nb_chapters && keep; i++) {
        const AVChapter *c = in->chapters[i];
        const int64_t shift = av_rescale_q(offset, AV_TIME_BASE_Q, c->time_base);
        if (c->end - shift <= 0 ||
            (end != INT64_MAX &&
             av_compare_ts(c->start - shift, c->time_base, end, AV_TIME_BASE_Q) >= 0))
            continue;
        if (copy_chapter(c, out, offset) < 0)
            return -ENOMEM;
    }
    return 0;
}
