/* SPDX-License-Identifier: BSD-2-Clause
 * Where an input is cut into segments (cut_list.h). */
#include "pipeline/segment/cut_list.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>
#include <libavutil/murmur3.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "pipeline/base/damage.h"
#include "pipeline/base/path.h"
#include "pipeline/input/decode_cuts.h"

struct AVMurMur3 *halo_packet_hash_create(void)
{
    struct AVMurMur3 *hash = av_murmur3_alloc();
    if (hash)
        av_murmur3_init(hash);
    return hash;
}

/* Without decoding times and durations: demuxers guess those that a file does not contain, and
 * after a seek they guess differently. */
void halo_packet_hash_add(struct AVMurMur3 *hash, const AVPacket *pkt)
{
    const int64_t head[] = {pkt->pts, pkt->size,
                            pkt->flags & (AV_PKT_FLAG_KEY | AV_PKT_FLAG_DISCARD)};
    av_murmur3_update(hash, (const uint8_t *)head, sizeof head);
    av_murmur3_update(hash, pkt->data, (size_t)pkt->size);
}

struct halo_segment_hash halo_packet_hash_take(struct AVMurMur3 *hash)
{
    struct halo_segment_hash ret;
    av_murmur3_final(hash, ret.byte);
    av_murmur3_init(hash);
    return ret;
}

struct reader {
    const struct halo_run_settings *settings;
    struct halo_source *source;
    AVStream *stream;
    struct AVMurMur3 *hash;
    halo_cut_found *found;
    void *arg;
    bool intra; /* no frame refers to another one */
    struct halo_cuts cuts;
    const char *reason; /* why there are no further cuts; NULL: there may be */
    int64_t keys;       /* keyframes with which decoding cannot begin */
    int64_t last;       /* time of the last packet */
    int64_t begin;      /* time from which segments are counted */
    struct halo_segment segment;
};

static int find_stream(struct reader *r, struct halo_error *err)
{
    const AVFormatContext *f = halo_source_format(r->source);
    int count = 0;
    for (unsigned i = 0; i < f->nb_streams; i++) {
        AVStream *st = f->streams[i];
        if (!halo_av_is_video(st))
            continue;
        r->stream = st;
        count++;
    }
    halo_source_read_only(r->source, r->stream);
    if (count == 1)
        return 0;
    return halo_fail_usage(err,
                           "-segments: %s has %d video streams, but only inputs with one can "
                           "be encoded in segments",
                           r->settings->source.input, count);
}

static bool may_begin_with(struct reader *r, const AVPacket *pkt)
{
    if (r->reason)
        return false;
    if (!r->intra) {
        const enum halo_cut cut = halo_cuts_next(&r->cuts, pkt);
        r->reason = cut == HALO_CUT_NEVER ? r->cuts.reason : NULL;
        return cut == HALO_CUT_HERE;
    }
    if (pkt->pts == AV_NOPTS_VALUE || pkt->pts <= r->cuts.latest)
        r->reason = "its times do not increase";
    r->cuts.latest = pkt->pts;
    return !r->reason && (pkt->flags & AV_PKT_FLAG_KEY);
}

static double seconds_of(const struct reader *r, int64_t pts)
{
    return (double)(pts - r->begin) * av_q2d(r->stream->time_base);
}

/* The next multiple of -segment_time has been reached. */
static bool is_long_enough(const struct reader *r, const AVPacket *pkt)
{
    if (r->segment.packets == 0) /* `begin` is not known before the first packet */
        return false;
    const double step = r->settings->segment_time;
    const int64_t before = (int64_t)(seconds_of(r, r->segment.from.pts) / step);
    return (int64_t)(seconds_of(r, pkt->pts) / step) > before;
}

static int report(struct reader *r, struct halo_error *err)
{
    r->segment.hash = halo_packet_hash_take(r->hash);
    const int code = r->found(r->arg, &r->segment, err);
    r->segment.number++;
    r->segment.packets = 0;
    return code;
}

static int take(struct reader *r, const AVPacket *pkt, struct halo_error *err)
{
    int code = 0;
    const bool begins = may_begin_with(r, pkt);
    if (begins && is_long_enough(r, pkt))
        code = report(r, err);
    r->keys += !begins && (pkt->flags & AV_PKT_FLAG_KEY);
    r->last = pkt->pts;
    if (r->segment.packets == 0) {
        if (r->segment.number == 0 && r->begin == INT64_MIN)
            r->begin = pkt->pts == AV_NOPTS_VALUE ? 0 : pkt->pts;
        r->segment.from = (struct halo_packet_place){pkt->pts, pkt->size};
        r->segment.time = pkt->pts == AV_NOPTS_VALUE ? 0 : seconds_of(r, pkt->pts);
    }
    halo_packet_hash_add(r->hash, pkt);
    r->segment.packets++;
    return code;
}

static int read_all(struct reader *r, struct halo_error *err)
{
    int64_t until;
    halo_source_bounds(r->source, r->stream->time_base, &r->begin, &until);
    AVPacket *pkt = av_packet_alloc();
    int code = pkt ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    while (code >= 0 && (code = halo_source_read(r->source, pkt, err)) > 0) {
        if (pkt->stream_index != r->stream->index)
            continue;
        if (pkt->dts != AV_NOPTS_VALUE && pkt->dts >= until)
            break;
        code = take(r, pkt, err);
    }
    av_packet_free(&pkt);
    return code < 0 ? code : 0;
}

/* Why there are fewer than half of the segments that -segment_time asks for; NULL: there are
 * enough. */
static const char *why_few(const struct reader *r, int count)
{
    const double length = r->last == AV_NOPTS_VALUE ? 0 : seconds_of(r, r->last);
    if (r->reason || length < 2 * count * r->settings->segment_time)
        return r->reason;
    return r->keys ? "its groups of pictures are open: frames after a keyframe refer to frames "
                     "before it"
                   : "its keyframes are far apart";
}

static void say_uncut(const struct reader *r)
{
    char clock[32];
    const int count = r->segment.number + (r->segment.packets > 0);
    const char *input = r->settings->source.input, *why = why_few(r, count);
    if (why && count < 2)
        halo_log(HALO_LOG_INFO, "%s: is encoded as one segment: %s", input, why);
    else if (r->reason)
        halo_log(HALO_LOG_INFO, "%s: is encoded as one segment from %s on: %s", input,
                 halo_av_clock(r->segment.time, clock, sizeof clock), why);
    else if (why)
        halo_log(HALO_LOG_INFO, "%s: is encoded as only %d segments: %s", input, count, why);
}

static int fail_unseekable(const struct halo_run_settings *settings, struct halo_error *err)
{
    return halo_fail_usage(err,
                           "-segments: IN (%s) must be a file, because it is read several times",
                           settings->source.input);
}

static int open_input(struct reader *r, const struct halo_source_limits *limits,
                      struct halo_damage *damage, struct halo_error *err)
{
    const struct halo_run_settings *settings = r->settings;
    const char *input = settings->source.input;
    if (!strcmp(input, "-") || halo_path_is_url(input))
        return fail_unseekable(settings, err);
    const int code =
        halo_source_open(&r->source, &settings->source, &settings->part, damage, limits, err);
    if (code < 0)
        return code;
    return halo_path_opens_again(input) ? find_stream(r, err) : fail_unseekable(settings, err);
}

static void describe(const struct reader *r, struct halo_cut_input *ret)
{
    const AVFormatContext *f = halo_source_format(r->source);
    const AVCodecParameters *par = r->stream->codecpar;
    *ret = (struct halo_cut_input){f->pb ? avio_size(f->pb) : -1, par->width, par->height,
                                   par->codec_id};
}

int halo_cut_list_read(struct halo_cut_input *ret, const struct halo_run_settings *settings,
                       const atomic_int *stop, halo_cut_found *found, void *arg,
                       struct halo_error *err)
{
    struct halo_damage damage = {0};
    const struct halo_source_limits limits = {.stop = stop};
    struct reader r = {
        .settings = settings, .found = found, .arg = arg, .hash = halo_packet_hash_create()};
    int code = r.hash ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = open_input(&r, &limits, &damage, err);
    if (code >= 0) {
        describe(&r, ret);
        const AVCodecDescriptor *d = avcodec_descriptor_get(r.stream->codecpar->codec_id);
        r.intra = d && (d->props & AV_CODEC_PROP_INTRA_ONLY);
        r.cuts.latest = INT64_MIN;
        if (!r.intra && !halo_cuts_init(&r.cuts, r.stream))
            r.reason = r.cuts.reason;
        code = read_all(&r, err);
    }
    if (code >= 0 && !atomic_load(stop)) {
        say_uncut(&r);
        if (r.segment.packets > 0)
            code = report(&r, err);
    }
    halo_source_close(r.source);
    av_free(r.hash);
    return code;
}
