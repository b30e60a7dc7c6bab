/* SPDX-License-Identifier: BSD-2-Clause
 * Decides what happens to each stream of the input, and copies the file's metadata. */
#include "pipeline/stream/copy_streams.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/input/embedded.h"
#include "pipeline/output/audio.h"
#include "pipeline/output/container.h"
#include "pipeline/output/subtitle.h"

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

static enum halo_role drop_unheld(const struct halo_run_settings *set, const AVStream *in,
                                  const AVOutputFormat *container)
{
    char why[100];
    snprintf(why, sizeof why, "the output's container cannot store the stream%s",
             halo_container_advice(container, " (.mkv can store nearly all)"));
    return drop(set, in, why);
}

/* Checks the declared type and the bytes. */
static bool is_font(const AVStream *in)
{
    const AVCodecParameters *par = in->codecpar;
    const AVDictionaryEntry *mime = av_dict_get(in->metadata, "mimetype", NULL, 0);
    const bool declared =
        par->codec_id == AV_CODEC_ID_TTF || par->codec_id == AV_CODEC_ID_OTF ||
        (mime && (strstr(mime->value, "font") || strstr(mime->value, "opentype")));
    return declared && par->extradata_size > 0 &&
           halo_embedded_is_font(par->extradata, (size_t)par->extradata_size);
}

/* Whether this is the text track in which a MOV file stores its chapters; they are copied as
 * chapters. */
static bool is_chapter_track(const AVStream *in)
{
    return in->codecpar->codec_id == AV_CODEC_ID_BIN_DATA && in->discard == AVDISCARD_ALL &&
           in->codecpar->codec_tag == MKTAG('t', 'e', 'x', 't');
}

bool halo_audio_is_coded(const struct halo_run_settings *settings)
{
    return settings->audio_codec && strcmp(settings->audio_codec, "copy") != 0;
}

/* Checks the codec that this stream would have in the output. */
static int check_audio(const struct halo_run_settings *set, const AVStream *in,
                       const AVOutputFormat *container, struct halo_error *err)
{
    AVCodecParameters par = *in->codecpar; /* shallow copy: only used to check the codec */
    if (halo_audio_is_coded(set)) {
        const AVCodec *codec = halo_audio_find(set->audio_codec, err);
        if (!codec)
            return -EINVAL;
        par.codec_id = codec->id;
    }
    if (halo_container_holds(container, &par))
        return 0;
    return halo_fail_usage(
        err,
        "stream %d: %s cannot store %s audio: choose %s codec with -c:a,%s or leave it out with "
        "-an",
        in->index, container->name, avcodec_get_name(par.codec_id),
        set->audio_codec ? "another" : "a",
        halo_container_advice(container, " another container (.mkv can store nearly all),"));
}

int halo_role_of(const struct halo_run_settings *set, const AVStream *in,
                 const AVOutputFormat *container, enum halo_role *ret, struct halo_error *err)
{
    const AVCodecParameters *par = in->codecpar;
    const bool null = !strcmp(container->name, "null");
    switch (par->codec_type) {
    case AVMEDIA_TYPE_VIDEO:
        if (!halo_av_is_video(in))
            *ret = drop(set, in, "a cover picture would show what the filters hide");
        else
            *ret = HALO_ROLE_FILTER;
        return 0;
    case AVMEDIA_TYPE_AUDIO:
        if (set->source.no_audio || null) {
            *ret = HALO_ROLE_DROP;
            return 0;
        }
        if (par->sample_rate <= 0) {
            *ret = drop(set, in,
                        "the input declares this stream, but no audio was found in the stream");
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
        if (is_chapter_track(in)) {
            halo_log(HALO_LOG_DEBUG,
                     "stream %d is dropped: its chapters are copied as the chapters of the output",
                     in->index);
            *ret = HALO_ROLE_DROP;
            return 0;
        }
        if (!set->copy_unfiltered) {
            *ret = drop(set, in,
                        "halod does not know what the stream contains (-copy_unfiltered keeps it)");
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
              halo_subtitle_codec(container, par->codec_id) == AV_CODEC_ID_NONE))
        *ret = drop_unheld(set, in, container);
    return 0;
}

/* Numbers that a Matroska muxer counted for the unfiltered stream. */
static bool is_statistic(const char *key)
{
    return av_strstart(key, "BPS", NULL) || av_strstart(key, "NUMBER_OF_", NULL) ||
           av_strstart(key, "_STATISTICS_", NULL) || !strcmp(key, "DURATION");
}

/* Tags that were true only for the unfiltered stream: halod's frames have no alpha, for example. */
static bool is_stale(const char *key)
{
    return is_statistic(key) || !strcmp(key, "encoder") || !strcmp(key, "vendor_id") ||
           !av_strcasecmp(key, "alpha_mode");
}

static int copy_tags(const struct halo_run_settings *set, const AVDictionary *in,
                     AVDictionary **out, bool filtered)
{
    const AVDictionaryEntry *e = NULL;
    while ((e = av_dict_get(in, "", e, AV_DICT_IGNORE_SUFFIX))) {
        const bool frame = halo_embedded_tag_is_picture(e->key, e->value);
        if (frame && strcmp(set->output, "null:") != 0)
            halo_log(HALO_LOG_INFO,
                     "the tag %s is dropped: a cover picture would show what the filters hide",
                     e->key);
        if (!frame && !(filtered && is_stale(e->key)) && av_dict_set(out, e->key, e->value, 0) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int copy_side_data(const AVStream *in, AVStream *out, enum halo_role role)
{
    int count;
    const AVPacketSideData *all = halo_av_stream_all_side_data(in, &count);
    for (int i = 0; i < count; i++) {
        const AVPacketSideData *side = &all[i];
        /* For a filtered stream, only the side data that players need to show it. */
        if (role == HALO_ROLE_FILTER && side->type != AV_PKT_DATA_DISPLAYMATRIX &&
            side->type != AV_PKT_DATA_STEREO3D && side->type != AV_PKT_DATA_SPHERICAL)
            continue;
        if (role == HALO_ROLE_COPY && !halo_embedded_side_data_is_plain(side->type))
            continue;
        uint8_t *data = halo_av_stream_new_side_data(out, side->type, side->size);
        if (!data)
            return -ENOMEM;
        memcpy(data, side->data, side->size);
    }
    return 0;
}

/* Whether each packet is one frame, whatever its size. AVI's header then must not declare the size
 * of a block, or readers compute times from sizes. */
static bool has_whole_frames(enum AVCodecID id)
{
    switch (id) {
    case AV_CODEC_ID_MP1:
    case AV_CODEC_ID_MP2:
    case AV_CODEC_ID_MP3:
    case AV_CODEC_ID_AAC:
    case AV_CODEC_ID_AC3:
    case AV_CODEC_ID_EAC3:
    case AV_CODEC_ID_DTS:
    case AV_CODEC_ID_FLAC:
        return true;
    default:
        return false;
    }
}

int halo_copy_stream(const struct halo_run_settings *set, const AVStream *in, AVStream *out,
                     enum halo_role role)
{
    out->disposition = in->disposition;
    if (copy_side_data(in, out, role) < 0)
        return -ENOMEM;
    if (role == HALO_ROLE_COPY) {
        if (halo_av_parameters_copy(out->codecpar, in->codecpar) < 0)
            return -ENOMEM;
        out->codecpar->codec_tag = 0; /* the muxer chooses its own */
        if (has_whole_frames(out->codecpar->codec_id))
            out->codecpar->block_align = 0;
        out->time_base = in->time_base;
        out->avg_frame_rate = in->avg_frame_rate;
    }
    if (set->map_metadata && role == HALO_ROLE_COPY &&
        in->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT) {
        /* An attachment without a name and type is invalid. */
        const AVDictionaryEntry *name = av_dict_get(in->metadata, "filename", NULL, 0);
        const AVDictionaryEntry *mime = av_dict_get(in->metadata, "mimetype", NULL, 0);
        if ((name && av_dict_set(&out->metadata, "filename", name->value, 0) < 0) ||
            (mime && av_dict_set(&out->metadata, "mimetype", mime->value, 0) < 0))
            return -ENOMEM;
    }
    return set->map_metadata
               ? 0
               : copy_tags(set, in->metadata, &out->metadata, role == HALO_ROLE_FILTER);
}

/* end: where the output ends, in AV_TIME_BASE; INT64_MAX: at the end of the input. */
static int copy_chapter(const struct halo_run_settings *set, const AVChapter *in,
                        AVFormatContext *out, int64_t offset, int64_t end)
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
    if (end != INT64_MAX)
        c->end = FFMIN(c->end, av_rescale_q(end, AV_TIME_BASE_Q, in->time_base));
    list[out->nb_chapters++] = c; /* freed with the context */
    return copy_tags(set, in->metadata, &c->metadata, false);
}

int halo_copy_descriptions(const struct halo_run_settings *set, const AVFormatContext *in,
                           AVFormatContext *out, int64_t offset, int64_t end)
{
    const bool keep = !set->map_metadata;
    if (keep && copy_tags(set, in->metadata, &out->metadata, false) < 0)
        return -ENOMEM;
    /* The muxer's own tags, and brands of the old container. */
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
        if (copy_chapter(set, c, out, offset, end) < 0)
            return -ENOMEM;
    }
    return 0;
}
