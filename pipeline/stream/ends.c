/* SPDX-License-Identifier: BSD-2-Clause
 * The two ends of each kind of stream (ends.h). */
#include "pipeline/stream/ends.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/detect/detections.h"
#include "pipeline/detect/replay.h"
#include "pipeline/output/container.h"
#include "pipeline/stream/stream_private.h"

/* ---- whole runs ---- */

static int read_input(struct halo_stream *s, AVPacket *ret, struct halo_error *err)
{
    if (halo_tracks_over(&s->tracks))
        return 0;
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_READ);
    const int code = halo_source_read(s->source, ret, err);
    halo_stats_end(s->stats, HALO_STAGE_READ, begin);
    return code;
}

static int check_input(struct halo_stream *s, struct halo_error *err)
{
    const int code = halo_source_check_whole(s->source, err);
    bool some = code < 0 || atomic_load(&s->stop);
    for (int i = 0; i < s->tracks.count; i++)
        some |= s->tracks.track[i].frames > 0;
    if (some)
        return code;
    return halo_fail(err, -ENODATA, "%s: no frame could be decoded%s", s->settings->source.input,
                     s->settings->part.duration >= 0 ? ": -t ends before its first frame"
                     : s->settings->part.seek > 0    ? " at or after -ss"
                                                     : "");
}

static int start_output(struct halo_stream *s, struct halo_error *err)
{
    return s->trial ? 0 : halo_sink_start(s->sink, err);
}

static int write_output(struct halo_stream *s, AVPacket *pkt, int index, AVRational tb,
                        struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    if (s->trial) {
        av_packet_unref(pkt);
        return 0;
    }
    pkt->stream_index = t->out->index;
    pkt->pts += pkt->pts != AV_NOPTS_VALUE ? t->delay : 0;
    pkt->dts += pkt->dts != AV_NOPTS_VALUE ? t->delay : 0;
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_WRITE);
    const int code = halo_sink_write(s->sink, pkt, tb, err);
    halo_stats_end(s->stats, HALO_STAGE_WRITE, begin);
    return code;
}

/* After a stop request, what was written until then is completed. */
static int finish_output(struct halo_stream *s, struct halo_error *err)
{
    const bool asked = atomic_load(&s->stop) & HALO_STOP_ASKED;
    const enum halo_sink_end how = !asked                    ? HALO_SINK_WHOLE
                                   : atomic_load(&s->frames) ? HALO_SINK_PARTIAL
                                                             : HALO_SINK_DISCARD;
    const int64_t begin = halo_stats_begin(s->stats, HALO_STAGE_FINISH);
    const int code = halo_sink_finish(s->sink, how, &s->path, err);
    halo_stats_end(s->stats, HALO_STAGE_FINISH, begin);
    return how == HALO_SINK_DISCARD ? 0 : code;
}

const struct halo_ends halo_ends_whole = {
    .start = start_output,
    .read = read_input,
    .check = check_input,
    .write = write_output,
    .finish = finish_output,
};

/* ---- the stream of a segment ---- */

/* Finds the filtered track, and checks the output: the encoder of each segment must give what one
 * encoder would, and cannot know the frames before. */
static int find_track(struct halo_stream *s, struct halo_error *err)
{
    while (s->tracks.track[s->segment.track].role < HALO_ROLE_FILTER)
        s->segment.track++;
    const struct halo_track *t = &s->tracks.track[s->segment.track];
    const AVFormatContext *output = halo_sink_format(s->sink);
    const AVOutputFormat *container = output->oformat;
    const enum AVCodecID codec = t->out->codecpar->codec_id;
    if (!halo_sink_is_file(s->sink))
        return halo_fail_usage(err,
                               "-segments: OUT (%s) must be a file, because segments are written "
                               "to a folder next to it",
                               s->settings->output);
    if (halo_encoder_in_hardware(t->encoder))
        return halo_fail_usage(err, "-segments: GPU encoders do not always give the same bytes: "
                                    "choose a software encoder with -c:v");
    if (halo_container_starts(container, codec) == HALO_STARTS_NOWHERE ||
        !halo_container_skips(container, codec) || codec == AV_CODEC_ID_WRAPPED_AVFRAME)
        return halo_fail_usage(err,
                               "-segments: %s with %s stores the number of each frame instead "
                               "of its time, so segments cannot be joined: use .mkv or .mp4 "
                               "with libx264",
                               container->name, avcodec_get_name(codec));
    return 0;
}

static int begin_reading(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    int code = find_track(s, err);
    if (code < 0)
        return code;
    halo_source_read_only(s->source, s->tracks.track[p->track].in);
    if (p->segment.number > 0)
        code = halo_source_go_to(s->source, p->track, &p->segment.from, err);
    p->hash = halo_packet_hash_create();
    return p->hash ? code : halo_fail(err, -ENOMEM, "out of memory");
}

/* What detectors answered earlier about the frames of the segment. */
static int begin_replay(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const struct halo_detections *all = halo_segments_detections(p->segments);
    const int code = begin_reading(s, err);
    if (code < 0 || !all || !all->finds)
        return code;
    struct halo_replay_settings replay = {.detections = all,
                                          .detector = s->settings->detector,
                                          .count = all->segment[p->segment.number]};
    for (int i = 0; i < p->segment.number; i++)
        replay.from += all->segment[i];
    if (halo_replay_create(&p->replay, &replay) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->detect_settings.replay = p->replay;
    s->stages->set.replay = p->replay;
    return 0;
}

static int begin_part(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const int code = begin_replay(s, err);
    return code < 0
               ? code
               : halo_segments_create(p->segments, &p->segment,
                                      s->tracks.track[p->track].out->codecpar, &p->writer, err);
}

static int begin_record(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const int code = begin_reading(s, err);
    if (code < 0)
        return code;
    p->record = s->detect_settings.record = av_mallocz(sizeof *p->record);
    if (!p->record)
        return halo_fail(err, -ENOMEM, "out of memory");
    p->record->width = s->tracks.track[p->track].in->codecpar->width;
    p->record->height = s->tracks.track[p->track].in->codecpar->height;
    return 0;
}

static int read_segment(struct halo_stream *s, AVPacket *ret, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const int code = read_input(s, ret, err);
    if (code <= 0 || ret->stream_index != p->track)
        return code;
    if (p->packets == p->segment.packets)
        return 0;
    halo_packet_hash_add(p->hash, ret);
    p->packets++;
    return code;
}

/* -ESTALE if other packets were read than those in the cut list. */
static int check_segment(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const struct halo_segment_hash hash = halo_packet_hash_take(p->hash);
    const bool cut = s->tracks.track[p->track].over; /* -t ends before the last packet */
    if (cut || atomic_load(&s->stop) ||
        (p->packets == p->segment.packets && memcmp(&hash, &p->segment.hash, sizeof hash) == 0))
        return 0;
    return halo_fail(err, -ESTALE, "%s: has changed, or cannot be read from the middle: %s",
                     s->settings->source.input,
                     halo_segments_are_of_job(p->segments)
                         ? "split again with -y, or use halod run without -segments"
                         : "run again, without -segments");
}

static int write_part(struct halo_stream *s, AVPacket *pkt, int index, AVRational tb,
                      struct halo_error *err)
{
    (void)index;
    (void)tb;
    return halo_part_write(s->segment.writer, pkt, err);
}

/* Nothing is completed after a stop request. */
static bool completes(struct halo_stream *s)
{
    const bool ret = !(atomic_load(&s->stop) & HALO_STOP_ASKED);
    if (ret)
        atomic_store(&s->segment.stored, true);
    return ret;
}

static int finish_part(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    return completes(s) ? halo_segments_finish(p->segments, &p->segment, p->writer,
                                               atomic_load(&s->frames), err)
                        : 0;
}

static int finish_record(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    return completes(s) ? halo_segments_finish_detections(p->segments, &p->segment, p->record, err)
                        : 0;
}

static int finish_taking(struct halo_stream *s, struct halo_error *err)
{
    (void)err;
    if (completes(s))
        halo_segments_set_done(s->segment.segments, s->segment.segment.number);
    return 0;
}

static const struct halo_ends ends_of_segment = {
    .in_segments = true,
    .alone = true,
    .begin = begin_part,
    .read = read_segment,
    .check = check_segment,
    .write = write_part,
    .finish = finish_part,
};

static const struct halo_ends ends_of_detection = {
    .in_segments = true,
    .alone = true,
    .begin = begin_record,
    .read = read_segment,
    .check = check_segment,
    .finish = finish_record,
};

static const struct halo_ends ends_that_take = {
    .in_segments = true,
    .alone = true,
    .begin = begin_replay,
    .read = read_segment,
    .check = check_segment,
    .finish = finish_taking,
};

/* ---- the stream that joins ---- */

/* Frames by which the encoder reorders. FFmpeg does not tell for x265, which has up to two. */
static int delay_of(const AVCodecParameters *par)
{
    enum { X265_DELAY = 2 };
    const int delay = FFMAX(par->video_delay, par->codec_id == AV_CODEC_ID_HEVC ? X265_DELAY : 0);
    return FFMIN(delay, HALO_PART_MAX_DELAY);
}

static int check_joined(void *arg, const char *path, struct halo_error *err)
{
    struct halo_stream *s = arg;
    const struct halo_segment_ends *p = &s->segment;
    const AVRational tb = halo_encoder_time_base(s->tracks.track[p->track].encoder);
    const struct halo_joined joined = {p->joined, (double)(p->last - p->first) * av_q2d(tb)};
    return halo_segments_check(p->segments, path, &joined, err);
}

static int begin_joining(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const int code = find_track(s, err);
    if (code < 0)
        return code;
    p->until = INT64_MIN;
    p->order.delay = delay_of(s->tracks.track[p->track].out->codecpar);
    halo_sink_write_in(s->sink, halo_segments_output(p->segments));
    halo_sink_set_check(s->sink, check_joined, s);
    halo_sink_format(s->sink)->flags |= AVFMT_FLAG_BITEXACT; /* no random numbers */
    return 0;
}

static int start_joined(struct halo_stream *s, struct halo_error *err)
{
    const int code = start_output(s, err);
    return code < 0 || s->trial
               ? code
               : halo_segments_note_output(s->segment.segments, halo_sink_inode(s->sink), err);
}

/* Reads the next packet of the parts into p->pkt, unless there is one; sets p->over at the end. */
static int fetch(struct halo_stream *s, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const AVCodecParameters *par = s->tracks.track[p->track].out->codecpar;
    int code = 0;
    while (!p->pkt && !p->over) {
        if (!p->reader) {
            code = halo_segments_next_part(p->segments, p->next++, par, &p->order, &p->reader, err);
            p->over = code == 0;
            if (code <= 0)
                return code;
        }
        p->pkt = av_packet_alloc();
        code = p->pkt ? halo_part_read(p->reader, p->pkt, err)
                      : halo_fail(err, -ENOMEM, "out of memory");
        if (code > 0)
            return 0;
        av_packet_free(&p->pkt);
        if (code < 0)
            return code;
        halo_part_close(p->reader);
        p->reader = NULL;
    }
    return 0;
}

/* Whether the packet of the part belongs before what the input has next. */
static bool is_due(const struct halo_stream *s, const struct halo_track *t)
{
    const struct halo_segment_ends *p = &s->segment;
    return p->until == INT64_MAX || av_compare_ts(p->pkt->dts, halo_encoder_time_base(t->encoder),
                                                  p->until, t->in->time_base) <= 0;
}

/* Notes how far the input's own video goes, whose packets those of the parts replace. */
static void pass_over(struct halo_stream *s, const AVPacket *pkt)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    const int64_t time = halo_source_shift(
        s->source, pkt->dts != AV_NOPTS_VALUE ? pkt->dts : pkt->pts, t->in->time_base);
    if (t->over || time == AV_NOPTS_VALUE)
        return;
    s->segment.until = time;
    t->over = halo_source_window(s->source, time, t->in->time_base) > 0;
}

/* Packets of the parts come as those of the track, up to the time at which the input has a packet
 * of video; all that remain, at its end. Waits for segments that are being encoded. */
static int read_joined(struct halo_stream *s, AVPacket *ret, struct halo_error *err)
{
    struct halo_segment_ends *p = &s->segment;
    const struct halo_track *t = &s->tracks.track[p->track];
    for (;;) {
        int code = p->until == INT64_MIN ? 0 : fetch(s, err);
        if (code < 0 || (p->over && p->until == INT64_MAX))
            return code;
        if (p->pkt && is_due(s, t)) {
            av_packet_unref(ret);
            av_packet_move_ref(ret, p->pkt);
            av_packet_free(&p->pkt);
            ret->stream_index = p->track;
            p->first = p->joined ? FFMIN(p->first, ret->pts) : ret->pts;
            p->last = p->joined++ ? FFMAX(p->last, ret->pts) : ret->pts;
            return 1;
        }
        code = read_input(s, ret, err);
        if (code < 0 || (code > 0 && ret->stream_index != p->track))
            return code;
        if (code > 0)
            pass_over(s, ret);
        else
            p->until = INT64_MAX;
    }
}

static const struct halo_ends ends_that_join = {
    .in_segments = true,
    .joins = true,
    .begin = begin_joining,
    .start = start_joined,
    .read = read_joined,
    .check = check_input,
    .write = write_output,
    .finish = finish_output,
};

/* ---- all ---- */

void halo_stream_set_segment(struct halo_stream *s, struct halo_segments *segments,
                             const struct halo_segment *segment)
{
    s->segment = (struct halo_segment_ends){.segments = segments};
    s->ends = &ends_that_join;
    if (!segment)
        return;
    s->segment.segment = *segment;
    s->segment.frozen = halo_segments_frozen(segments);
    s->stages->set.frozen = s->segment.frozen;
    s->ends = halo_segments_detects(segments)        ? &ends_of_detection
              : halo_frozen_takes(s->segment.frozen) ? &ends_that_take
                                                     : &ends_of_segment;
}

void halo_segment_ends_close(struct halo_segment_ends *p)
{
    halo_part_discard(p->writer);
    halo_part_close(p->reader);
    if (p->record)
        halo_detections_finish(p->record);
    av_freep(&p->record);
    halo_replay_destroy(p->replay);
    p->replay = NULL;
    av_freep(&p->hash);
    av_packet_free(&p->pkt);
    p->writer = NULL;
    p->reader = NULL;
}
