/* SPDX-License-Identifier: BSD-2-Clause
 * Tags that containers support (tags.h). */
#include "pipeline/output/tags.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"

#define ITUNES                                                                                     \
    "album,album_artist,artist,comment,compilation,composer,copyright,creation_time,date,"         \
    "description,disc,episode_id,gapless_playback,genre,grouping,hd_video,keywords,location,"      \
    "lyrics,media_type,network,season_number,show,synopsis,timecode,title,track"
#define QUICKTIME                                                                                  \
    "album,artist,comment,copyright,creation_time,date,genre,location,make,model,timecode,title"
#define THREEGPP "album,artist,comment,copyright,creation_time,date,genre,location,title"
#define TRACK    "handler_name,language,timecode,title"

/* The tags that FFmpeg's muxers write, separated by commas. Muxers that are not listed write
 * none. */
static const struct row {
    const char *containers;
    const char *file, *streams, *chapters; /* NULL: any key; chapters "": no chapters at all */
    bool keys; /* QuickTime's metadata keys, which can be anything, may replace the file's tags */
} rows[] = {
    {"matroska,nut", NULL, NULL, NULL, false},
    {"webm", NULL, NULL, "title", false},
    {"mp4,ipod,f4v", ITUNES, TRACK, "title", true},
    {"mov", QUICKTIME, TRACK, "title", true},
    {"3gp,3g2", THREEGPP, TRACK, "title", false},
    {"psp", "creation_time,timecode", TRACK, "", false},
    {"mpegts", "service_name,service_provider,title", "language", "", false},
    {"avi", "album,artist,comment,copyright,date,encoded_by,genre,language,title,track", "title",
     "", false},
    {"flv", NULL, "", "", false},
    {"ogg,ogv", NULL, NULL, "title", false},
    {"asf,asf_stream", NULL, "language", "title", false},
    {"null,crc,framecrc,framehash,framemd5,hash,md5,streamhash,uncodedframecrc", NULL, NULL, NULL,
     false},
};

static const struct row *row_of(const AVOutputFormat *container)
{
    static const struct row none = {"", "", "", "", false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (av_match_name(container->name, rows[i].containers))
            return &rows[i];
    return &none;
}

/* The ISO 639-2 codes for which FFmpeg has MOV numbers: for a few languages with two codes, it
 * knows only one. */
static const char mov_languages[] =
    "alb,amh,ara,arm,asm,aym,aze,baq,bel,ben,bul,bur,cat,ces,chi,dan,dut,dzo,eng,epo,est,fin,fra,"
    "geo,ger,gre,grn,guj,heb,hin,hun,ice,ind,ita,jav,jpn,kan,kas,kaz,khm,kin,kir,kor,kur,lao,lat,"
    "lav,lit,mac,mal,mar,may,mlg,mlt,mon,nep,nor,nya,ori,orm,per,pol,por,pus,que,ron,run,rus,san,"
    "sin,slk,slv,smi,snd,som,spa,swa,tam,tat,tel,tgk,tgl,tha,tib,tir,tuk,tur,uig,ukr,urd,uzb,vie,"
    "wel,yid";
static const char *const same_languages[][2] = {
    {"sqi", "alb"}, {"hye", "arm"}, {"eus", "baq"}, {"mya", "bur"}, {"cze", "ces"},
    {"zho", "chi"}, {"nld", "dut"}, {"fre", "fra"}, {"kat", "geo"}, {"deu", "ger"},
    {"ell", "gre"}, {"isl", "ice"}, {"mkd", "mac"}, {"msa", "may"}, {"fas", "per"},
    {"rum", "ron"}, {"slo", "slk"}, {"bod", "tib"}, {"cym", "wel"}};

/* Whether the tag is technical data of a muxer, or only states that nothing is known. */
static bool says_nothing(const AVDictionaryEntry *e)
{
    static const char technical[] = "handler_name,vendor_id,encoder,duration,variant_bitrate,"
                                    "filename,mimetype";
    return !*e->value || av_match_name(e->key, technical) ||
           av_stristart(e->key, "duration-", NULL) || av_stristart(e->key, "_STATISTICS_", NULL) ||
           av_stristart(e->key, "BPS", NULL) || av_stristart(e->key, "NUMBER_OF_", NULL) ||
           (!av_strcasecmp(e->key, "language") && !strcmp(e->value, "und"));
}

/* Whether it is a duplicate: FFmpeg's demuxers return a tag with a language twice, as KEY and as
 * KEY-LANGUAGE. */
static bool is_twin(const AVDictionary *tags, const AVDictionaryEntry *e)
{
    char base[64];
    const char *dash = strrchr(e->key, '-');
    if (!dash || strlen(dash) != 4 || (size_t)(dash - e->key) >= sizeof base)
        return false;
    av_strlcpy(base, e->key, (size_t)(dash - e->key) + 1);
    const AVDictionaryEntry *plain = av_dict_get(tags, base, NULL, 0);
    return plain && !strcmp(plain->value, e->value);
}

static bool is_lost(const char *held, const AVDictionary *tags, const AVDictionaryEntry *e)
{
    return held && !says_nothing(e) && !av_match_name(e->key, held) && !is_twin(tags, e);
}

static bool any_lost(const char *held, const AVDictionary *tags)
{
    const AVDictionaryEntry *e = NULL;
    while ((e = av_dict_get(tags, "", e, AV_DICT_IGNORE_SUFFIX)))
        if (is_lost(held, tags, e))
            return true;
    return false;
}

/* For Ogg, FFmpeg writes chapters only among the tags of Opus. */
static bool holds_chapters(const AVFormatContext *out, const struct row *row)
{
    if (!av_match_name(out->oformat->name, "ogg,ogv"))
        return !row->chapters || *row->chapters;
    for (unsigned i = 0; i < out->nb_streams; i++)
        if (out->streams[i]->codecpar->codec_id == AV_CODEC_ID_OPUS)
            return true;
    return false;
}

static bool is_mov(const AVFormatContext *out)
{
    return !strcmp(out->oformat->name, "mov");
}

struct list {
    char text[640];
    int count;
};

enum { MAX_NAMED = 10, LONGEST = 40 /* bytes of a name */ };

static void add(struct list *list, const char *name, const char *whose, int index)
{
    if (++list->count > MAX_NAMED)
        return;
    av_strlcatf(list->text, sizeof list->text, "%s%.*s", list->count > 1 ? ", " : "", LONGEST,
                name);
    if (whose)
        av_strlcatf(list->text, sizeof list->text, " (%s %d)", whose, index);
}

/* A stream's time of creation is its file's, so it is listed once. */
static void add_lost(struct list *list, const char *held, const AVDictionary *tags,
                     const char *whose, int index)
{
    const AVDictionaryEntry *e = NULL;
    while ((e = av_dict_get(tags, "", e, AV_DICT_IGNORE_SUFFIX)))
        if (is_lost(held, tags, e) && !(whose && !av_strcasecmp(e->key, "creation_time")))
            add(list, e->key, whose, index);
}

static void say_lost(const AVFormatContext *out)
{
    const struct row *row = row_of(out->oformat);
    struct list list = {.count = 0};
    add_lost(&list, row->keys ? NULL : row->file, out->metadata, NULL, 0);
    for (unsigned i = 0; i < out->nb_streams; i++) {
        const AVDictionary *tags = out->streams[i]->metadata;
        add_lost(&list, row->streams, tags, "stream", (int)i);
        const AVDictionaryEntry *e = av_dict_get(tags, "language", NULL, 0);
        if (is_mov(out) && e && !says_nothing(e) && !av_match_name(e->value, mov_languages))
            add(&list, e->key, "stream", (int)i);
    }
    const bool chapters = holds_chapters(out, row);
    if (!chapters && out->nb_chapters)
        add(&list, "all chapters", NULL, 0);
    for (unsigned i = 0; i < out->nb_chapters && chapters; i++)
        add_lost(&list, row->chapters, out->chapters[i]->metadata, "chapter", (int)i);
    if (!list.count)
        return;
    char more[40] = "";
    if (list.count > MAX_NAMED)
        snprintf(more, sizeof more, " and %d more", list.count - MAX_NAMED);
    halo_log(HALO_LOG_WARNING,
             "%s does not support this metadata, which is left out: %s%s (.mkv supports it)",
             out->oformat->name, list.text, more);
}

static int name_languages(const AVFormatContext *out)
{
    for (unsigned i = 0; i < out->nb_streams; i++) {
        AVDictionary **tags = &out->streams[i]->metadata;
        const AVDictionaryEntry *e = av_dict_get(*tags, "language", NULL, 0);
        for (size_t n = 0; e && n < sizeof same_languages / sizeof *same_languages; n++)
            if (!strcmp(e->value, same_languages[n][0])) {
                if (av_dict_set(tags, "language", same_languages[n][1], 0) < 0)
                    return -ENOMEM;
                break;
            }
    }
    return 0;
}

/* FFmpeg writes a title to a place that few readers use (its own does not): they show the handler's
 * name. */
static int name_tracks(const AVFormatContext *out)
{
    for (unsigned i = 0; i < out->nb_streams; i++) {
        AVDictionary **tags = &out->streams[i]->metadata;
        const AVDictionaryEntry *title = av_dict_get(*tags, "title", NULL, 0);
        const AVDictionaryEntry *handler = av_dict_get(*tags, "handler_name", NULL, 0);
        const bool given = handler && !av_stristr(handler->value, "handler");
        if (title && !given && av_dict_set(tags, "handler_name", title->value, 0) < 0)
            return -ENOMEM;
    }
    return 0;
}

int halo_tags_fit(AVFormatContext *out)
{
    const char *streams = row_of(out->oformat)->streams;
    const int code = is_mov(out) ? name_languages(out) : 0;
    if (code < 0)
        return code;
    say_lost(out);
    return streams && av_match_name("handler_name", streams) ? name_tracks(out) : 0;
}

int halo_tags_options(const AVFormatContext *out, AVDictionary **ret)
{
    const struct row *row = row_of(out->oformat);
    return row->keys && any_lost(row->file, out->metadata)
               ? av_dict_set(ret, "movflags", "use_metadata_tags", 0)
               : 0;
}
