/* SPDX-License-Identifier: BSD-2-Clause
 * Source: a file, URL or standard input, through FFmpeg's demuxers. */
#include "pipeline/source_file.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <string.h>
#include <sys/stat.h>

#include "config/log.h"
#include "pipeline/av.h"
#include "pipeline/path.h"

enum {
    BLIND_SEEK = 10, /* seconds: longer than the distance between key frames of broadcasts */
};

/* What has been read of one stream, to compare with what it declares. */
struct seen {
    int64_t packets;
    double end;       /* seconds: largest pts + duration */
    double last_gap;  /* seconds: the longest step between presentation times so far */
    double last_time; /* of the packet before */
};

struct halo_source {
    const struct halo_run_settings *settings;
    const atomic_int *stop;
    AVFormatContext *format;
    struct seen *seen;
    int64_t offset; /* AV_TIME_BASE: subtracted from every time */
    int64_t end;    /* AV_TIME_BASE, on the moved line; INT64_MAX without -t */
};

static int interrupted(void *opaque)
{
    const struct halo_source *s = opaque;
    return atomic_load(s->stop) != 0;
}

static int demuxer_options(const struct halo_run_settings *set, AVDictionary **ret)
{
    const char *pairs[][2] = {{"video_size", set->video_size},
                              {"framerate", set->framerate},
                              {"pixel_format", set->pixel_format}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1] && av_dict_set(ret, pairs[i][0], pairs[i][1], 0) < 0)
            return -ENOMEM;
    return 0;
}

/* A local path is given to FFmpeg as file:PATH, so that a colon in its name means nothing. */
static char *input_url(const char *input, struct halo_error *err)
{
    struct stat st;
    const char *path = halo_path_of(input);
    if (!strcmp(input, "-"))
        return av_strdup("pipe:0");
    if (stat(path, &st) < 0)
        return av_strdup(input);
    if (S_ISDIR(st.st_mode)) {
        halo_fail(err, -EISDIR, "%s: is a directory: name a file", input);
        return NULL;
    }
    if (S_ISCHR(st.st_mode) && strncmp(path, "/dev/fd/", 8) && strcmp(path, "/dev/stdin")) {
        halo_fail(err, -ENOTSUP, "%s: is a device: halod run reads files, URLs and pipes", input);
        return NULL;
    }
    return av_asprintf("file:%s", path);
}

static int open_input(struct halo_source *s, struct halo_error *err)
{
    const struct halo_run_settings *set = s->settings;
    const AVInputFormat *forced = NULL;
    char why[400];
    if (set->input_format && !(forced = av_find_input_format(set->input_format)))
        return halo_fail_usage(err, "-f %s: FFmpeg has no such demuxer (see ffmpeg -demuxers)",
                               set->input_format);
    char *url = input_url(set->input, err);
    if (!url)
        return halo_fail(err, -ENOMEM, "out of memory");
    AVDictionary *options = NULL;
    s->format = avformat_alloc_context();
    int ret = s->format ? demuxer_options(set, &options) : -ENOMEM;
    if (ret < 0) {
        av_free(url);
        return halo_fail(err, ret, "out of memory");
    }
    s->format->interrupt_callback = (AVIOInterruptCB){interrupted, s};
    ret = avformat_open_input(&s->format, url, forced, &options); /* frees the context on failure */
    av_free(url);
    const AVDictionaryEntry *left = av_dict_get(options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (ret >= 0 && left)
        ret = halo_fail_usage(err, "-%s: the %s demuxer has no such option", left->key,
                              s->format->iformat->name);
    else if (ret < 0)
        halo_fail(err, halo_av_errno(ret), "%s: cannot be read: %s", set->input,
                  halo_av_reason(ret, why, sizeof why));
    av_dict_free(&options);
    if (ret < 0)
        return ret;
    if (!forced && !strcmp(s->format->iformat->name, "tty"))
        return halo_fail(err, -EBADMSG, "%s: is text, not a video (-f tty reads it as ANSI art)",
                         set->input);
    ret = avformat_find_stream_info(s->format, NULL);
    if (ret < 0)
        return halo_fail(err, halo_av_errno(ret), "%s: its streams cannot be read: %s", set->input,
                         halo_av_reason(ret, why, sizeof why));
    return 0;
}

static int seek_to_start(struct halo_source *s, struct halo_error *err)
{
    const struct halo_run_settings *set = s->settings;
    const int64_t start = s->format->start_time == AV_NOPTS_VALUE ? 0 : s->format->start_time;
    s->end = INT64_MAX;
    if (set->seek >= 0)
        s->offset = start + (int64_t)(set->seek * AV_TIME_BASE + 0.5);
    if (set->duration >= 0)
        s->end = (set->seek >= 0 ? 0 : start) + (int64_t)(set->duration * AV_TIME_BASE + 0.5);
    if (set->seek <= 0)
        return 0;
    const double length = (double)s->format->duration / AV_TIME_BASE;
    if (s->format->duration != AV_NOPTS_VALUE && set->seek >= length)
        return halo_fail(err, -EINVAL, "-ss %g: %s is only %.3f s long", set->seek, set->input,
                         length);
    /* MPEG's streams have no index: a seek lands anywhere, so begin early enough for a key
     * frame. */
    const bool blind = s->format->iformat->flags & AVFMT_TS_DISCONT;
    const int64_t to = blind ? s->offset - BLIND_SEEK * (int64_t)AV_TIME_BASE : s->offset;
    if (blind && to <= start)
        return 0;
    const int ret = avformat_seek_file(s->format, -1, INT64_MIN, to, to, 0);
    if (ret < 0) /* a pipe, or a format without an index: read up to there */
        halo_log(HALO_LOG_INFO, "%s: cannot seek: reading from its beginning to -ss", set->input);
    return 0;
}

int halo_source_open(struct halo_source **ret, const struct halo_run_settings *settings,
                     const atomic_int *stop, struct halo_error *err)
{
    struct halo_source *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->settings = settings;
    s->stop = stop;
    int r = open_input(s, err);
    if (r >= 0)
        r = seek_to_start(s, err);
    if (r >= 0 && !(s->seen = av_calloc(s->format->nb_streams + 1, sizeof *s->seen)))
        r = halo_fail(err, -ENOMEM, "out of memory");
    if (r < 0) {
        halo_source_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

void halo_source_close(struct halo_source *s)
{
    if (!s)
        return;
    avformat_close_input(&s->format);
    av_free(s->seen);
    av_free(s);
}

AVFormatContext *halo_source_format(const struct halo_source *s)
{
    return s->format;
}

static void note_packet(struct halo_source *s, const AVPacket *pkt)
{
    const AVStream *st = s->format->streams[pkt->stream_index];
    struct seen *seen = &s->seen[pkt->stream_index];
    seen->packets++;
    const int64_t ts = pkt->pts != AV_NOPTS_VALUE ? pkt->pts : pkt->dts;
    if (ts == AV_NOPTS_VALUE)
        return;
    const double time = ts * av_q2d(st->time_base);
    const double end = time + pkt->duration * av_q2d(st->time_base);
    if (seen->packets > 1 && time - seen->last_time > seen->last_gap)
        seen->last_gap = time - seen->last_time;
    seen->last_time = time;
    if (seen->packets == 1 || end > seen->end)
        seen->end = end;
}

static int fail_damaged(const struct halo_source *s, int code, double time, const char *why,
                        struct halo_error *err)
{
    char clock[32];
    return halo_fail(err, code, "%s: damaged at %s: %s", s->settings->input,
                     halo_av_clock(time, clock, sizeof clock), why);
}

static double last_time(const struct halo_source *s)
{
    double last = 0;
    for (unsigned i = 0; i < s->format->nb_streams; i++)
        if (s->seen[i].packets && s->seen[i].end > last)
            last = s->seen[i].end;
    return last;
}

int halo_source_read(struct halo_source *s, AVPacket *pkt, struct halo_error *err)
{
    char why[400];
    av_packet_unref(pkt);
    if (atomic_load(s->stop))
        return 0;
    const unsigned known = s->format->nb_streams;
    int ret;
    do
        ret = av_read_frame(s->format, pkt);
    while (ret == AVERROR(EAGAIN) && !atomic_load(s->stop));
    if (ret == AVERROR_EXIT || (ret < 0 && atomic_load(s->stop)))
        return 0;
    if (ret == AVERROR_EOF && s->format->pb && s->format->pb->error < 0)
        ret = s->format->pb->error;
    if (ret == AVERROR_EOF)
        return 0;
    if (ret < 0)
        return fail_damaged(s, halo_av_errno(ret), last_time(s),
                            halo_av_reason(ret, why, sizeof why), err);
    if (pkt->stream_index >= (int)known) /* a stream that appears later is not one we chose */
        return halo_fail(err, -ENOTSUP,
                         "%s: a new stream begins inside the file, which is not supported",
                         s->settings->input);
    note_packet(s, pkt);
    if (pkt->flags & AV_PKT_FLAG_CORRUPT && atomic_load(s->stop))
        return 0; /* cut short by the stop */
    if (pkt->flags & AV_PKT_FLAG_CORRUPT)
        return fail_damaged(s, -EBADMSG, s->seen[pkt->stream_index].last_time,
                            halo_av_reason(AVERROR_INVALIDDATA, why, sizeof why), err);
    return 1;
}

/* Formats whose header counts the samples say exactly how many packets there are. */
static int check_count(const struct halo_source *s, const AVStream *st, struct halo_error *err)
{
    const int64_t got = s->seen[st->index].packets;
    char clock[32];
    if (st->codecpar->codec_type != AVMEDIA_TYPE_VIDEO || st->nb_frames <= 0 ||
        got + 1 >= st->nb_frames)
        return 0;
    return halo_fail(err, -EBADMSG,
                     "%s: truncated at %s: stream %d has %" PRId64 " of the %" PRId64
                     " frames that it declares",
                     s->settings->input, halo_av_clock(s->seen[st->index].end, clock, sizeof clock),
                     st->index, got, st->nb_frames);
}

static double frame_time(const struct halo_source *s)
{
    double longest = 0;
    for (unsigned i = 0; i < s->format->nb_streams; i++) {
        const AVStream *st = s->format->streams[i];
        if (st->codecpar->codec_type != AVMEDIA_TYPE_VIDEO ||
            (st->disposition & AV_DISPOSITION_ATTACHED_PIC))
            continue;
        double one = st->avg_frame_rate.num ? 1 / av_q2d(st->avg_frame_rate) : 0;
        longest = FFMAX(longest, FFMAX(one, s->seen[i].last_gap));
    }
    return longest;
}

int halo_source_check_whole(const struct halo_source *s, struct halo_error *err)
{
    char at[32], whole[32];
    if (s->settings->duration >= 0 || s->settings->seek > 0 || atomic_load(s->stop))
        return 0;
    for (unsigned i = 0; i < s->format->nb_streams; i++) {
        const int ret = check_count(s, s->format->streams[i], err);
        if (ret < 0)
            return ret;
    }
    if (s->format->duration == AV_NOPTS_VALUE ||
        s->format->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
        return 0;
    /* One frame may be missing at the end, and some muxers declare the last frame's duration
     * although its packet has none. */
    const double start =
        s->format->start_time == AV_NOPTS_VALUE ? 0 : (double)s->format->start_time / AV_TIME_BASE;
    /* Some containers count their length from time 0, some from the first picture. */
    const double length = (double)s->format->duration / AV_TIME_BASE;
    const double declared = start > 0 ? length : start + length;
    const double end = last_time(s);
    if (end + 2 * frame_time(s) + 0.05 >= declared)
        return 0;
    return halo_fail(err, -EBADMSG, "%s: truncated at %s: it declares a length of %s",
                     s->settings->input, halo_av_clock(end, at, sizeof at),
                     halo_av_clock(declared, whole, sizeof whole));
}

int64_t halo_source_shift(const struct halo_source *s, int64_t ts, AVRational tb)
{
    if (ts == AV_NOPTS_VALUE || !s->offset)
        return ts;
    return ts - av_rescale_q(s->offset, AV_TIME_BASE_Q, tb);
}

int halo_source_window(const struct halo_source *s, int64_t shifted, AVRational tb)
{
    if (shifted == AV_NOPTS_VALUE)
        return 0;
    if (s->settings->seek >= 0 && shifted < 0)
        return -1;
    return s->end != INT64_MAX && av_compare_ts(shifted, tb, s->end, AV_TIME_BASE_Q) >= 0 ? 1 : 0;
}

double halo_source_duration(const struct halo_source *s)
{
    if (s->format->duration == AV_NOPTS_VALUE || s->format->duration <= 0)
        return s->settings->duration;
    double whole = (double)s->format->duration / AV_TIME_BASE;
    if (s->settings->seek > 0)
        whole -= s->settings->seek;
    if (s->settings->duration >= 0 && s->settings->duration < whole)
        whole = s->settings->duration;
    return whole;
}
