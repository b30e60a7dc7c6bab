/* SPDX-License-Identifier: BSD-2-Clause
 * Settings for an input that does not describe itself. */
#include "pipeline/input/raw_input.h"

#include <errno.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/imgutils.h>
#include <libavutil/parseutils.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/option.h"
#include "config/run.h"

enum { MAX_RATE = 10000 }; /* frames per second: a higher rate is a typing error */

/* "-video_size (-s)": the user may have typed either. */
static const char *both_names(const char *key, char *text, size_t size)
{
    const struct halo_option *row = halo_option_find(halo_run_options, key, strlen(key));
    const bool alias = row && row->alias;
    snprintf(text, size, "-%s%s%s%s", key, alias ? " (-" : "", alias ? row->alias : "",
             alias ? ")" : "");
    return text;
}

static int check_size(const char *text, struct halo_error *err)
{
    int width, height;
    if (av_parse_video_size(&width, &height, text) >= 0 &&
        av_image_check_size(width, height, 0, NULL) >= 0)
        return 0;
    return halo_fail_usage(err, "-video_size (-s) %.80s: must be a size such as 640x480 or hd720",
                           text);
}

static int check_rate(const char *text, struct halo_error *err)
{
    AVRational rate;
    if (av_parse_video_rate(&rate, text) >= 0 && av_cmp_q(rate, av_make_q(MAX_RATE, 1)) <= 0)
        return 0;
    return halo_fail_usage(err,
                           "-framerate (-r) %.80s: must be a rate such as 25 or 30000/1001, above "
                           "0 and at most %d",
                           text, MAX_RATE);
}

int halo_raw_input_check(const struct halo_source_settings *set, struct halo_error *err)
{
    if (set->video_size && check_size(set->video_size, err) < 0)
        return -EINVAL;
    if (set->framerate && check_rate(set->framerate, err) < 0)
        return -EINVAL;
    if (set->pixel_format && av_get_pix_fmt(set->pixel_format) == AV_PIX_FMT_NONE)
        return halo_fail_usage(err,
                               "-pixel_format %.80s: FFmpeg has no such format (ffmpeg -pix_fmts "
                               "lists them)",
                               set->pixel_format);
    return 0;
}

int halo_raw_input_check_size(const struct halo_source_settings *set, struct halo_error *err)
{
    const AVInputFormat *raw = av_find_input_format("rawvideo");
    const bool is_raw = set->format ? av_match_name(set->format, "rawvideo,v210,v210x,bitpacked")
                                    : raw && av_match_ext(set->input, raw->extensions);
    if (set->video_size || !is_raw)
        return 0;
    return halo_fail_usage(err,
                           "%s: raw video does not contain its size: set -video_size WxH, and "
                           "-framerate and -pixel_format if they are not 25 and yuv420p",
                           set->input);
}

int halo_raw_input_options(const struct halo_source_settings *set, AVDictionary **ret)
{
    const char *pairs[][2] = {{"video_size", set->video_size},
                              {"framerate", set->framerate},
                              {"pixel_format", set->pixel_format}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1] && av_dict_set(ret, pairs[i][0], pairs[i][1], 0) < 0)
            return -ENOMEM;
    return 0;
}

int halo_raw_input_refuse(const char *key, const char *demuxer, struct halo_error *err)
{
    char names[64];
    return halo_fail_usage(err,
                           "%s: applies to raw input only; IN (%s) already specifies this, and "
                           "halod does not convert sizes, rates or formats",
                           both_names(key, names, sizeof names), demuxer);
}
