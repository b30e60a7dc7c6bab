/* SPDX-License-Identifier: BSD-2-Clause
 * Checks settings against tables of options (encode_check.h). */
#include "pipeline/output/encode_check.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/eval.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/option.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/encode_choose.h"

enum { MAX_WORDS = 128, X26X_CRF = 51 };

/* Roughly equivalent presets. NULL: there is no equivalent. */
static const struct preset {
    const char *nvenc, *x26x, *svtav1;
} presets[] = {
    {"p1", "superfast", "12"}, {"p2", "veryfast", "11"},  {"p3", "faster", "10"},
    {"fast", "fast", "10"},    {"medium", "medium", "8"}, {"p4", "medium", "8"},
    {"slow", "slow", "6"},     {"p5", "slow", "6"},       {"p6", "slower", "5"},
    {"p7", "veryslow", "4"},   {"p1", "ultrafast", "13"}, {"p7", "placebo", "3"},
    {"default", NULL, NULL},   {"hp", NULL, NULL},        {"hq", NULL, NULL},
    {"bd", NULL, NULL},        {"ll", NULL, NULL},        {"llhq", NULL, NULL},
    {"llhp", NULL, NULL},      {"lossless", NULL, NULL},  {"losslesshp", NULL, NULL},
};

bool halo_nvenc_is(const AVCodec *codec)
{
    return codec->wrapper_name && !strcmp(codec->wrapper_name, "nvenc");
}

const char *halo_nvenc_preset(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (presets[i].x26x && !strcmp(name, presets[i].x26x))
            return presets[i].nvenc;
    return name;
}

const char *halo_nvenc_software_preset(const char *name, enum AVCodecID id)
{
    const bool svtav1 = id == AV_CODEC_ID_AV1;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(name, presets[i].nvenc) ||
            (svtav1 && presets[i].x26x && !strcmp(name, presets[i].x26x)))
            return svtav1 ? presets[i].svtav1 : presets[i].x26x;
    return name;
}

/* FFmpeg's name for the key. */
static const char *option_of(const AVCodec *codec, const char *key)
{
    if (!strcmp(key, "bitrate"))
        return "b";
    return !strcmp(key, "crf") && halo_nvenc_is(codec) ? "cq" : key;
}

static bool is_x26x(const AVCodec *codec)
{
    return av_match_name(codec->name, "libx264,libx264rgb,libx265");
}

/* FFmpeg passes any number to x264, which limits it, and to x265, which then does not start. */
static int check_number(const AVCodec *codec, const AVOption *o, const char *key, const char *value,
                        double number, struct halo_error *err)
{
    const bool crf = !strcmp(key, "crf");
    const double least = crf && o->min < 0 ? 0 : o->min; /* -1 means unset: users omit the key
                                                            instead */
    const double most = crf && is_x26x(codec) ? X26X_CRF : o->max;
    if (number >= least && number <= most)
        return 0;
    return halo_fail_usage(err, "%s: the encoder %s accepts %g to %g", value, codec->name, least,
                           most);
}

/* Checks a name against the option's names for its values. */
static int check_word(AVCodecContext *c, const AVOption *o, const char *key, const char *value,
                      struct halo_error *err)
{
    const char *names[MAX_WORDS];
    size_t count = 0;
    const AVOption *at = NULL;
    while (c->priv_data && (at = av_opt_next(c->priv_data, at)) && count < MAX_WORDS)
        if (at->type == AV_OPT_TYPE_CONST && at->unit && o->unit && !strcmp(at->unit, o->unit))
            names[count++] = at->name;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], value))
            return 0;
    char near[HALO_NEAREST_WORDS];
    return halo_fail_usage(err, "%s: the encoder %s has no such %s%s", value, c->codec->name, key,
                           halo_nearest_words(near, value, names, count));
}

static int check_preset(const AVCodec *codec, const char *value, struct halo_error *err)
{
    char near[HALO_NEAREST_WORDS];
    if (halo_encode_knows_preset(codec, value, near))
        return 0;
    return halo_fail_usage(err, "%s: the encoder %s has no such preset%s", value, codec->name,
                           near);
}

static int check(AVCodecContext *c, const char *key, const char *value, struct halo_error *err)
{
    const AVCodec *codec = c->codec;
    const AVOption *o = av_opt_find(c, option_of(codec, key), NULL, 0, AV_OPT_SEARCH_CHILDREN);
    if (!o)
        return halo_fail_usage(err, "the encoder %s has no %s", codec->name, key);
    if (o->type == AV_OPT_TYPE_STRING)
        return check_preset(codec, value, err);
    char *end;
    const double number = av_strtod(value, &end);
    if (*value && !*end)
        return check_number(codec, o, key, value, number, err);
    if (halo_nvenc_is(codec) && halo_nvenc_preset(value) != value)
        return 0;
    return check_word(c, o, key, value, err);
}

int halo_encode_check(const char *name, const char *key, const char *value, struct halo_error *err)
{
    struct halo_error unknown = {0};
    const AVCodec *codec = halo_av_find_encoder("", name, AVMEDIA_TYPE_VIDEO, &unknown);
    if (!codec)
        return 0;
    AVCodecContext *c = avcodec_alloc_context3(codec);
    if (!c)
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = check(c, key, value, err);
    avcodec_free_context(&c);
    return code;
}

/* Whether it accepts no frames in host memory, as encoders on devices do, except NVENC. */
static bool takes_no_frames(const AVCodec *codec)
{
    const enum AVPixelFormat *at = halo_av_pixel_formats(codec);
    if (codec->type != AVMEDIA_TYPE_VIDEO || !at)
        return false;
    for (; *at != AV_PIX_FMT_NONE; at++)
        if (!(av_pix_fmt_desc_get(*at)->flags & AV_PIX_FMT_FLAG_HWACCEL))
            return false;
    return true;
}

int halo_encode_check_codec(const AVCodec *codec, struct halo_error *err)
{
    if (takes_no_frames(codec))
        return halo_fail_usage(err,
                               "%s: this encoder accepts only hardware frames of a device type "
                               "that halod does not support",
                               codec->name);
    if (codec->capabilities & AV_CODEC_CAP_EXPERIMENTAL)
        return halo_fail_usage(
            err, "%s: this encoder is experimental, and FFmpeg refuses to open it", codec->name);
    return 0;
}
