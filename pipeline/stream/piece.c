/* SPDX-License-Identifier: BSD-2-Clause
 * A stream as a piece of a run in segments (piece.h). */
#include "pipeline/stream/piece.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/detect/detections.h"
#include "pipeline/detect/replay.h"
#include "pipeline/output/container.h"
#include "pipeline/stream/stream_private.h"

void halo_stream_set_piece(struct halo_stream *s, struct halo_segments *segments,
                           const struct halo_segment *segment)
{
    s->piece = (struct halo_piece){.segments = segments, .joins = segment == NULL};
    if (segment)
        s->piece.segment = *segment;
    if (segment)
        s->piece.frozen = halo_segments_frozen(segments);
}

/* The encoder of each segment must give what one encoder would: it cannot know the frames
 * before. */
static int check_output(const struct halo_stream *s, const struct halo_track *t,
                        struct halo_error *err)
{
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

/* Detectors look at the frames, or what they answered is there. */
static int begin_detections(struct halo_stream *s, struct halo_error *err)
{
    struct halo_piece *p = &s->piece;
    const struct halo_detections *all = halo_segments_detections(p->segments);
    const AVCodecParameters *par = s->tracks.track[p->track].in->codecpar;
    if (halo_segments_detects(p->segments)) {
        p->record = s->detect_settings.record = av_mallocz(sizeof *p->record);
        if (!p->record)
            return halo_fail(err, -ENOMEM, "out of memory");
        p->record->width = par->width;
        p->record->height = par->height;
        return 0;
    }
    if (!all || !all->finds)
        return 0;
    struct halo_replay_settings replay = {.detections = all,
                                          .detector = s->settings->detector,
                                          .count = all->segment[p->segment.number]};
    for (int i = 0; i < p->segment.number; i++)
        replay.from += all->segment[i];
    if (halo_replay_create(&p->replay, &replay) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->detect_settings.replay = p->replay;
    return 0;
}

static int begin_segment(struct halo_stream *s, const struct halo_track *t, struct halo_error *err)
{
    struct halo_piece *p = &s->piece;
    int code = 0;
    halo_source_read_only(s->source, t->in);
    if (p->segment.number > 0)
        code = halo_source_go_to(s->source, p->track, &p->segment.from, err);
    p->hash = halo_packet_hash_create();
    if (!p->hash)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = begin_detections(s, err);
    if (code < 0 || !halo_piece_encodes(p))
        return code;
    return halo_segments_create(p->segments, &p->segment, t->out->codecpar, &p->writer, err);
}

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
    const struct halo_piece *p = &s->piece;
    const AVRational tb = halo_encoder_time_base(s->tracks.track[p->track].encoder);
    const struct halo_joined joined = {p->joined, (double)(p->last - p->first) * av_q2d(tb)};
    return halo_segments_check(p->segments, path, &joined, err);
}

int halo_piece_begin(struct halo_stream *s, struct halo_error *err)
{
    struct halo_piece *p = &s->piece;
    while (s->tracks.track[p->track].role != HALO_ROLE_FILTER)
        p->track++;
    const struct halo_track *t = &s->tracks.track[p->track];
    const int code = check_output(s, t, err);
    if (code < 0 || !p->joins)
        return code < 0 ? code : begin_segment(s, t, err);
    p->order.delay = delay_of(t->out->codecpar);
    halo_sink_write_in(s->sink, halo_segments_output(p->segments));
    halo_sink_set_check(s->sink, check_joined, s);
    halo_sink_format(s->sink)->flags |= AVFMT_FLAG_BITEXACT; /* no random numbers */
    return 0;
}

int halo_piece_take(struct halo_stream *s, const AVPacket *pkt)
{
    struct halo_piece *p = &s->piece;
    if (pkt->stream_index != p->track)
        return 1;
    if (p->packets == p->segment.packets)
        return 0;
    halo_packet_hash_add(p->hash, pkt);
    p->packets++;
    return 1;
}

int halo_piece_finish(struct halo_stream *s, struct halo_error *err)
{
    struct halo_piece *p = &s->piece;
    const struct halo_segment_hash hash = halo_packet_hash_take(p->hash);
    const bool cut = s->tracks.track[p->track].over; /* -t ends before the last packet */
    if (!cut &&
        (p->packets != p->segment.packets || memcmp(&hash, &p->segment.hash, sizeof hash) != 0))
        return halo_fail(err, -ESTALE, "%s: has changed, or cannot be read from the middle: %s",
                         s->settings->source.input,
                         halo_segments_are_of_job(p->segments)
                             ? "split again with -y, or use halod run without -segments"
                             : "run again, without -segments");
    atomic_store(&p->stored, true);
    if (halo_piece_takes(p)) {
        halo_segments_set_done(p->segments, p->segment.number);
        return 0;
    }
    if (halo_piece_detects(p))
        return halo_segments_finish_detections(p->segments, &p->segment, p->record, err);
    return halo_segments_finish(p->segments, &p->segment, p->writer, atomic_load(&s->frames), err);
}

/* ---- the stream that joins ---- */

/* Reads the next packet of the parts into p->pkt, unless there is one; sets p->over at the end. */
static int fetch(struct halo_stream *s, struct halo_error *err)
{
    struct halo_piece *p = &s->piece;
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

/* Whether the packet of the part belongs before the packet of the input, which has the time `until`
 * (AV_NOPTS_VALUE: in any case). */
static bool is_due(const struct halo_stream *s, const struct halo_track *t, int64_t until)
{
    return until == AV_NOPTS_VALUE ||
           av_compare_ts(s->piece.pkt->dts, halo_encoder_time_base(t->encoder), until,
                         t->in->time_base) <= 0;
}

int halo_piece_join(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_piece *p = &s->piece;
    struct halo_track *t = &s->tracks.track[p->track];
    int64_t until = AV_NOPTS_VALUE;
    if (pkt) {
        const int64_t time = pkt->dts != AV_NOPTS_VALUE ? pkt->dts : pkt->pts;
        until = halo_source_shift(s->source, time, t->in->time_base);
        if (until == AV_NOPTS_VALUE)
            return 0;
        t->over = halo_source_window(s->source, until, t->in->time_base) > 0;
    }
    int code;
    while ((code = fetch(s, err)) >= 0 && p->pkt && is_due(s, t, until)) {
        const struct halo_item item = {HALO_ITEM_PACKET, p->track, {.packet = p->pkt}};
        p->first = p->joined ? FFMIN(p->first, p->pkt->pts) : p->pkt->pts;
        p->last = p->joined++ ? FFMAX(p->last, p->pkt->pts) : p->pkt->pts;
        p->pkt = NULL;
        t->pictures++;
        code = halo_stages_give(s->stages, item);
        if (code < 0)
            return code;
    }
    return code;
}

void halo_piece_close(struct halo_piece *p)
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
