/* SPDX-License-Identifier: BSD-2-Clause
 * When the streams of a file begin (starts.h). */
#include "pipeline/stream/starts.h"

#include <libavutil/avstring.h>

#include "pipeline/base/av.h"
#include "pipeline/output/container.h"

enum {
    SPARE_US = 50000,   /* audio before the first frame that may be lost: mostly priming */
    USUAL_FRAME = 1024, /* samples */
    MAX_AHEAD = 100,    /* packets read ahead to find the first of a stream */
};

/* Start times in the output; earliest and picture are INT64_MAX if no stream has one. */
struct starts {
    int64_t earliest, picture; /* us */
    AVStream *video;
};

/* Finds the time of the first packet that is kept (stage_source.c): edit lists hide earlier
 * packets, which the stream's start time ignores. AV_NOPTS_VALUE: it is not among the first
 * packets. */
static int find_sound(struct halo_source *source, const AVStream *st, int64_t *ret,
                      struct halo_error *err)
{
    const AVPacket *pkt;
    int r = 1;
    *ret = AV_NOPTS_VALUE;
    for (int i = 0; i < MAX_AHEAD && (r = halo_source_peek(source, i, &pkt, err)) > 0; i++) {
        const bool hidden = pkt->flags & AV_PKT_FLAG_DISCARD;
        if (pkt->stream_index != st->index)
            continue;
        if (hidden || *ret == AV_NOPTS_VALUE)
            *ret = pkt->pts;
        if (!hidden)
            break;
    }
    return FFMIN(r, 0);
}

static bool has_edits(const AVInputFormat *input)
{
    return av_match_name("mov", input->name);
}

static int note(struct starts *all, struct halo_source *source, AVStream *st,
                const struct halo_run_settings *settings, struct halo_error *err)
{
    const AVInputFormat *from = halo_source_format(source)->iformat;
    const enum AVMediaType type = st->codecpar->codec_type;
    const bool video = halo_av_is_video(st);
    const bool sound = type == AVMEDIA_TYPE_AUDIO && !settings->source.no_audio;
    int64_t first = st->start_time;
    int code = 0;
    if (sound && has_edits(from))
        code = find_sound(source, st, &first, err);
    if (code < 0 || first == AV_NOPTS_VALUE || (!video && !sound))
        return code;
    const int64_t start = av_rescale_q(first, st->time_base, AV_TIME_BASE_Q);
    if (video && start < all->picture) {
        all->video = st;
        all->picture = start;
    }
    all->earliest = FFMIN(all->earliest, start);
    return 0;
}

/* Puts the first frame at a whole number of frames after 0, and audio at 0 or a little later. */
static int64_t on_a_frame(AVFormatContext *input, const struct starts *all)
{
    const AVRational rate = av_guess_frame_rate(input, all->video, NULL);
    const int64_t before = all->picture - all->earliest - SPARE_US;
    if (before <= 0 || rate.num <= 0)
        return all->picture;
    const AVRational frame = av_inv_q(rate);
    const int64_t frames = av_rescale_q_rnd(before, AV_TIME_BASE_Q, frame, AV_ROUND_UP);
    return all->picture - av_rescale_q(frames, frame, AV_TIME_BASE_Q);
}

int halo_starts_offset(struct halo_source *source, const AVOutputFormat *container,
                       const struct halo_run_settings *settings, int64_t *ret,
                       struct halo_error *err)
{
    AVFormatContext *input = halo_source_format(source);
    struct starts all = {INT64_MAX, INT64_MAX, NULL};
    *ret = 0;
    if (settings->part.seek >= 0)
        return 0;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        const int code = note(&all, source, input->streams[i], settings, err);
        if (code < 0)
            return code;
    }
    if (!all.video)
        return 0;
    switch (halo_container_starts(container, AV_CODEC_ID_NONE)) {
    case HALO_STARTS_NOWHERE:
        *ret = on_a_frame(input, &all);
        break;
    case HALO_STARTS_HIDDEN: /* audio before 0 that the input hides stays hidden */
        if (all.picture < 0)
            *ret = has_edits(input->iformat) ? all.picture : all.earliest;
        break;
    case HALO_STARTS_LATER:
        *ret = FFMIN(all.earliest, 0);
        break;
    }
    return 0;
}

bool halo_starts_too_late(const AVOutputFormat *container, const AVCodecParameters *par,
                          int64_t start, AVRational tb)
{
    const int samples = par->frame_size > 0 ? par->frame_size : USUAL_FRAME;
    return halo_container_starts(container, par->codec_id) == HALO_STARTS_NOWHERE &&
           start != AV_NOPTS_VALUE && par->sample_rate > 0 &&
           av_compare_ts(start, tb, samples, (AVRational){1, par->sample_rate}) > 0;
}
