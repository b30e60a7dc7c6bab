/* SPDX-License-Identifier: BSD-2-Clause
 * Source: a file, URL or standard input, read through FFmpeg's demuxers. */
#include "pipeline/input/source_file.h"

#include <errno.h>
#include <inttypes.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/avutil.h>
#include <libavutil/mathematics.h>
#include <libavutil/mem.h>
#include <stdbool.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/damage.h"
#include "pipeline/input/embedded.h"
#include "pipeline/input/source_open.h"
#include "pipeline/input/source_whole.h"

/* ---- jumps ---- */

/* Makes one continuous timeline from streams whose clock jumps, such as MPEG-TS recordings joined
 * end to end. Use it from one thread at a time.
 *
 * A stream's clock has jumped if its dts goes back by more than a second, or is more than ten
 * seconds later than everything read so far. From then on an offset is added, so that the stream
 * continues at the end of the longest stream. The other streams get the same offset, each when its
 * own clock jumps, because packets from before and after the jump are interleaved. */

enum {
    BACK = AV_TIME_BASE,     /* smaller steps back are disorder, not a jump */
    FAR = 10 * AV_TIME_BASE, /* a larger step forward is another clock, not a pause */
};

/* One stream. All times are in AV_TIME_BASE. */
struct lane {
    int64_t offset; /* added to its times */
    int64_t last;   /* corrected dts of its last packet; AV_NOPTS_VALUE before the first */
    int64_t end;    /* `last` plus the packet's duration */
};

struct halo_jumps {
    int count;
    int64_t offset; /* since the last jump */
    struct lane lane[];
};

static struct halo_jumps *jumps_create(int streams)
{
    struct halo_jumps *j = av_mallocz(sizeof *j + streams * sizeof *j->lane);
    if (!j)
        return NULL;
    j->count = streams;
    for (int i = 0; i < streams; i++)
        j->lane[i].last = j->lane[i].end = AV_NOPTS_VALUE;
    return j;
}

static void jumps_destroy(struct halo_jumps *j)
{
    av_free(j);
}

/* The common end of the streams, except those that stopped long before. */
static int64_t end_near(const struct halo_jumps *j, const struct lane *lane)
{
    int64_t end = lane->end;
    for (int i = 0; i < j->count; i++)
        if (j->lane[i].last != AV_NOPTS_VALUE && j->lane[i].end < lane->end + FAR)
            end = FFMAX(end, j->lane[i].end);
    return end;
}

static bool jumps(const struct halo_jumps *j, const struct lane *lane, int64_t dts)
{
    if (lane->last == AV_NOPTS_VALUE)
        return false;
    if (dts < lane->last - BACK)
        return true;
    for (int i = 0; i < j->count; i++)
        if (j->lane[i].last != AV_NOPTS_VALUE && dts <= j->lane[i].end + FAR)
            return false;
    return true;
}

/* Whether the last offset moves dts close to packets that were read with it. */
static bool fits_newest(const struct halo_jumps *j, const struct lane *lane, int64_t dts)
{
    for (int i = 0; i < j->count && lane->offset != j->offset; i++)
        if (j->lane[i].last != AV_NOPTS_VALUE && j->lane[i].offset == j->offset &&
            FFABS(dts + j->offset - j->lane[i].last) <= FAR)
            return true;
    return false;
}

/* Adds the current offset to pkt's times. Returns true if the clock of pkt's stream jumps at this
 * packet. *ret_step is the size of the jump in seconds if this stream is the first whose clock
 * makes this jump, otherwise 0. */
static bool jumps_pass(struct halo_jumps *j, const AVStream *st, AVPacket *pkt, double *ret_step)
{
    struct lane *lane = &j->lane[st->index];
    const enum AVMediaType type = st->codecpar->codec_type;
    const int64_t ts = pkt->dts != AV_NOPTS_VALUE ? pkt->dts : pkt->pts;
    bool jumped = false;
    *ret_step = 0;
    if (ts != AV_NOPTS_VALUE) {
        const int64_t dts = av_rescale_q(ts, st->time_base, AV_TIME_BASE_Q);
        const bool first = lane->last == AV_NOPTS_VALUE;
        jumped = jumps(j, lane, dts + lane->offset);
        if ((jumped || first) && fits_newest(j, lane, dts)) {
            lane->offset = j->offset;
        } else if (jumped && (type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO)) {
            *ret_step = (double)(dts + lane->offset - lane->last) / AV_TIME_BASE;
            lane->offset = j->offset = end_near(j, lane) - dts;
        }
        lane->last = dts + lane->offset;
        lane->end = lane->last + av_rescale_q(pkt->duration, st->time_base, AV_TIME_BASE_Q);
    }
    const int64_t add = av_rescale_q(lane->offset, AV_TIME_BASE_Q, st->time_base);
    if (pkt->pts != AV_NOPTS_VALUE)
        pkt->pts += add;
    if (pkt->dts != AV_NOPTS_VALUE)
        pkt->dts += add;
    return jumped;
}

/* ---- the source ---- */

enum {
    BLIND_SEEK = 10, /* seconds: longer than the distance between keyframes of broadcasts */
    JOINT = 4,       /* packets of a stream between the mark of a gap and the jump of its clock */
};

struct halo_source {
    const struct halo_source_settings *settings;
    struct halo_source_part part;
    struct halo_damage *damage;
    const struct halo_source_limits *limits;
    AVFormatContext *format;
    int known; /* number of streams when it was opened */
    struct halo_whole *whole;
    struct halo_jumps *jumps;          /* NULL: the format's clock does not jump */
    struct halo_complaints complaints; /* the demuxer's, if they mean damage */
    int64_t probed;   /* position in the file from which av_read_frame reads data that was not
                         probed */
    int torn;         /* stream that had a packet with a gap, or -1 */
    int patience;     /* packets of it until the gap counts as damage */
    double torn_time; /* seconds */
    int64_t offset;   /* AV_TIME_BASE: subtracted from every time */
    int64_t moved;    /* the part of offset that halo_source_move set */
    int64_t end;      /* AV_TIME_BASE, on the timeline without `moved`; INT64_MAX without -t */
    AVPacket **ahead; /* read by halo_source_peek; the first ahead_taken have been returned */
    int ahead_count, ahead_taken;
};

static bool is_stopped(const struct halo_source *s)
{
    return atomic_load(s->limits->stop) != 0;
}

static int interrupted(void *opaque)
{
    const struct halo_source *s = opaque;
    const int64_t deadline = atomic_load(&s->limits->deadline);
    return is_stopped(s) || (deadline && halo_now_ns() > deadline);
}

static int64_t microseconds(double seconds)
{
    const double most = (double)(INT64_MAX / 4); /* further additions must not overflow */
    return (int64_t)FFMIN(seconds * AV_TIME_BASE + 0.5, most);
}

static int seek_to_start(struct halo_source *s, struct halo_error *err)
{
    const struct halo_source_settings *set = s->settings;
    const int64_t start = s->format->start_time == AV_NOPTS_VALUE ? 0 : s->format->start_time;
    s->end = INT64_MAX;
    if (s->part.seek >= 0)
        s->offset = start + microseconds(s->part.seek);
    if (s->part.duration >= 0)
        s->end = (s->part.seek >= 0 ? 0 : start) + microseconds(s->part.duration);
    if (s->part.seek <= 0)
        return 0;
    const double length = (double)s->format->duration / AV_TIME_BASE;
    if (s->format->duration != AV_NOPTS_VALUE && s->part.seek >= length)
        return halo_fail(err, -EINVAL, "-ss %g: %s is only %.3f s long", s->part.seek, set->input,
                         length);
    /* MPEG streams have no index, so a seek is not exact: begin early enough for a keyframe. */
    const bool blind = s->format->iformat->flags & AVFMT_TS_DISCONT;
    const int64_t to = blind ? s->offset - BLIND_SEEK * (int64_t)AV_TIME_BASE : s->offset;
    if (blind && to <= start)
        return 0;
    const int code = avformat_seek_file(s->format, -1, INT64_MIN, to, to, 0);
    atomic_store(&s->complaints.lines, 0); /* damage before -ss does not concern the user */
    if (code < 0) /* a pipe, or a format without an index: read until -ss */
        halo_log(HALO_LOG_INFO, "%s: cannot seek: reading from the start until -ss is reached",
                 set->input);
    return 0;
}

/* Sets up the state that is kept while reading the file. */
static int begin_reading(struct halo_source *s, struct halo_error *err)
{
    AVFormatContext *f = s->format;
    s->torn = -1;
    s->probed = f->pb ? avio_tell(f->pb) : -1;
    if (f->iformat->flags & AVFMT_TS_DISCONT)
        s->jumps = jumps_create(s->known);
    s->whole = halo_whole_create(f);
    if (!s->whole || (!s->jumps && (f->iformat->flags & AVFMT_TS_DISCONT)))
        return halo_fail(err, -ENOMEM, "out of memory");
    return 0;
}

/* The same, and prepares each stream. */
static int prepare_reading(struct halo_source *s, struct halo_error *err)
{
    AVFormatContext *f = s->format;
    s->known = (int)f->nb_streams;
    int code = begin_reading(s, err);
    for (int i = 0; i < s->known && code >= 0; i++)
        code = halo_embedded_clean_stream(s->settings->input, f->streams[i], err);
    return code;
}

int halo_source_open(struct halo_source **ret, const struct halo_source_settings *settings,
                     const struct halo_source_part *part, struct halo_damage *damage,
                     const struct halo_source_limits *limits, struct halo_error *err)
{
    struct halo_source *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->settings = settings;
    s->part = part ? *part : (struct halo_source_part){-1, -1};
    s->damage = damage;
    s->limits = limits;
    int code = halo_source_open_format(&s->format, settings, (AVIOInterruptCB){interrupted, s},
                                       &s->complaints, &limits->header, err);
    if (code >= 0)
        code = seek_to_start(s, err);
    if (code >= 0)
        code = prepare_reading(s, err);
    if (code < 0) {
        halo_source_close(s);
        return code;
    }
    *ret = s;
    return 0;
}

static void forget_ahead(struct halo_source *s)
{
    for (int i = 0; i < s->ahead_count; i++)
        av_packet_free(&s->ahead[i]);
    s->ahead_count = s->ahead_taken = 0;
}

void halo_source_close(struct halo_source *s)
{
    if (!s)
        return;
    avformat_close_input(&s->format);
    halo_whole_destroy(s->whole);
    jumps_destroy(s->jumps);
    forget_ahead(s);
    av_free(s->ahead);
    av_free(s);
}

/* Begins to read somewhere else, with what is known about the streams. */
static int begin_again(struct halo_source *s)
{
    struct halo_error ignored = {0};
    atomic_store(&s->complaints.lines, 0);
    halo_whole_destroy(s->whole);
    jumps_destroy(s->jumps);
    s->whole = NULL;
    s->jumps = NULL;
    return begin_reading(s, &ignored);
}

/* Seeks by bytes if packets follow one another: a format without an index is not searched for a
 * time. */
int halo_source_rewind(struct halo_source *s)
{
    AVFormatContext *f = s->format;
    const int64_t start = f->start_time == AV_NOPTS_VALUE ? 0 : f->start_time;
    const bool blind = f->iformat->flags & (AVFMT_TS_DISCONT | AVFMT_NOTIMESTAMPS);
    const bool bytes = blind && !(f->iformat->flags & AVFMT_NO_BYTE_SEEK);
    const int code = avformat_seek_file(f, -1, INT64_MIN, bytes ? 0 : start, bytes ? 0 : start,
                                        bytes ? AVSEEK_FLAG_BYTE : 0);
    return code < 0 ? halo_av_errno(code) : begin_again(s);
}

AVFormatContext *halo_source_format(const struct halo_source *s)
{
    return s->format;
}

/* 0 if damage is accepted. A failed connection does not count as damage. */
static int fail_damaged(const struct halo_source *s, int code, double time, const char *why,
                        struct halo_error *err)
{
    char clock[32];
    halo_fail(err, code, "%s: damaged at %s: %s", s->settings->input,
              halo_av_clock(time, clock, sizeof clock), why);
    return code == -EBADMSG || code == -EIO ? halo_damage_meet(s->damage, code, err) : code;
}

/* Reads a packet. Returns 0 or more, or an AVERROR code: AVERROR_EOF at the end, AVERROR_EXIT after
 * a stop request. */
static int read_packet(struct halo_source *s, AVPacket *pkt)
{
    AVFormatContext *f = s->format;
    int code;
    av_packet_unref(pkt);
    do
        code = interrupted(s) ? AVERROR_EXIT : av_read_frame(f, pkt);
    while (code == AVERROR(EAGAIN));
    if (code < 0 && interrupted(s))
        return AVERROR_EXIT;
    /* Some old demuxers report the end as -1, and gxf does it in the other way since FFmpeg 9.0. */
    if ((code == -1 || (code == AVERROR_INVALIDDATA && av_match_name(f->iformat->name, "gxf"))) &&
        f->pb && avio_feof(f->pb))
        code = AVERROR_EOF;
    return code == AVERROR_EOF && f->pb && f->pb->error < 0 ? f->pb->error : code;
}

/* 1: a packet; 0: the end or a stop; -errno. Accepted damage is skipped, as long as the demuxer
 * advances. */
static int demux(struct halo_source *s, AVPacket *pkt, struct halo_error *err)
{
    AVIOContext *pb = s->format->pb;
    char why[400];
    int64_t at = -1;
    for (;;) {
        const int ret = read_packet(s, pkt);
        if (ret == AVERROR_EXIT)
            return 0;
        const bool over = ret == AVERROR_EOF;
        const bool complains =
            atomic_load(&s->complaints.lines) && (over || avio_tell(pb) != s->probed);
        if ((ret >= 0 || over) && !complains)
            return !over;
        const int code = complains ? -EBADMSG : halo_av_errno(ret);
        const int damaged = fail_damaged(
            s, code, halo_whole_end(s->whole),
            halo_av_reason(complains ? AVERROR_INVALIDDATA : ret, NULL, why, sizeof why), err);
        if (damaged < 0)
            return damaged;
        atomic_store(&s->complaints.lines, 0);
        if (ret >= 0 || over)
            return !over;
        if (!pb || avio_tell(pb) == at)
            return 0;
        at = avio_tell(pb);
    }
}

/* Handles a stream that begins after the output's header was written and therefore cannot be
 * output. Video must not be lost without an error; other streams may be. */
static int pass_over_late(struct halo_source *s, AVStream *st, struct halo_error *err)
{
    const enum AVMediaType type = st->codecpar->codec_type;
    char clock[32];
    if (type == AVMEDIA_TYPE_VIDEO)
        return halo_fail(err, -ENOTSUP,
                         "%s: a new video stream begins in the middle of the file, at %s, which "
                         "is not supported",
                         s->settings->input,
                         halo_av_clock(halo_whole_end(s->whole), clock, sizeof clock));
    if (st->discard != AVDISCARD_ALL && (type != AVMEDIA_TYPE_AUDIO || !s->settings->no_audio))
        halo_log(HALO_LOG_WARNING,
                 "stream %d (%s) is dropped: it begins in the middle of the file, at %s", st->index,
                 avcodec_get_name(st->codecpar->codec_id),
                 halo_av_clock(halo_whole_end(s->whole), clock, sizeof clock));
    st->discard = AVDISCARD_ALL; /* reported once */
    return 0;
}

/* Fails if a packet has a gap, unless the clock jumps there: at joints between recordings, the
 * continuity counter, by which gaps in MPEG-TS are detected, jumps as well, and the mark of the gap
 * is just before the jump of the clock (the parser puts some packets of video between them). pkt is
 * NULL at the end. */
static int check_torn(struct halo_source *s, const AVPacket *pkt, bool jumped,
                      struct halo_error *err)
{
    char why[400];
    if (s->torn >= 0 && (!pkt || pkt->stream_index == s->torn)) {
        if (!jumped && (!pkt || --s->patience == 0)) {
            s->torn = -1;
            return fail_damaged(s, -EBADMSG, s->torn_time,
                                halo_av_reason(AVERROR_INVALIDDATA, NULL, why, sizeof why), err);
        }
        if (jumped)
            s->torn = -1;
    }
    if (pkt && (pkt->flags & AV_PKT_FLAG_CORRUPT) && !jumped && s->torn < 0 &&
        !is_stopped(s)) { /* a stop truncates packets, too */
        s->torn = pkt->stream_index;
        s->torn_time = halo_whole_time(s->whole, pkt->stream_index);
        const AVStream *st = s->format->streams[pkt->stream_index];
        s->patience = st->codecpar->codec_type == AVMEDIA_TYPE_VIDEO ? JOINT : 1;
        return s->jumps ? 0 : check_torn(s, NULL, false, err);
    }
    return 0;
}

/* Moves pkt to the common timeline, and checks whether it is complete. */
static int straighten(struct halo_source *s, AVPacket *pkt, struct halo_error *err)
{
    static atomic_int said;
    const AVStream *st = s->format->streams[pkt->stream_index];
    char clock[32];
    bool jumped = false;
    double step = 0;
    if (s->jumps)
        jumped = jumps_pass(s->jumps, st, pkt, &step);
    if (step != 0 && HALO_ONCE(said))
        halo_log(HALO_LOG_WARNING,
                 "%s: the clock jumps by %.3f s at %s: timestamps are adjusted so that all streams "
                 "continue without a gap",
                 s->settings->input, step,
                 halo_av_clock(halo_whole_end(s->whole), clock, sizeof clock));
    if (st->codecpar->codec_type != AVMEDIA_TYPE_VIDEO)
        halo_embedded_clean_packet(pkt);
    halo_whole_note(s->whole, pkt);
    const int code = check_torn(s, pkt, jumped, err);
    return code < 0 ? code : 1;
}

/* 1: a packet; 0: the end or a stop; -errno. */
static int read_next(struct halo_source *s, AVPacket *pkt, struct halo_error *err)
{
    int code;
    while ((code = demux(s, pkt, err)) > 0 && pkt->stream_index >= s->known) {
        code = pass_over_late(s, s->format->streams[pkt->stream_index], err);
        if (code < 0)
            return code;
    }
    if (code == 0 && !is_stopped(s))
        code = check_torn(s, NULL, false, err);
    return code <= 0 ? code : straighten(s, pkt, err);
}

int halo_source_peek(struct halo_source *s, int index, const AVPacket **ret, struct halo_error *err)
{
    while (s->ahead_count <= index) {
        AVPacket **grown = av_realloc_array(s->ahead, s->ahead_count + 1, sizeof *s->ahead);
        AVPacket *pkt = grown ? av_packet_alloc() : NULL;
        if (grown)
            s->ahead = grown;
        if (!pkt)
            return halo_fail(err, -ENOMEM, "out of memory");
        const int code = read_next(s, pkt, err);
        if (code <= 0) {
            av_packet_free(&pkt);
            return code;
        }
        s->ahead[s->ahead_count++] = pkt;
    }
    *ret = s->ahead[index];
    return 1;
}

int halo_source_read(struct halo_source *s, AVPacket *pkt, struct halo_error *err)
{
    if (s->ahead_taken == s->ahead_count)
        return read_next(s, pkt, err);
    av_packet_unref(pkt);
    av_packet_move_ref(pkt, s->ahead[s->ahead_taken++]);
    return 1;
}

void halo_source_read_only(struct halo_source *s, const AVStream *stream)
{
    for (int i = 0; i < s->known && !s->jumps; i++)
        if (s->format->streams[i] != stream)
            s->format->streams[i]->discard = AVDISCARD_ALL;
}

/* Reads until the packet, which is then returned next. Returns 1, 0 if it is not found, or
 * -errno. */
static int find_place(struct halo_source *s, int index, const struct halo_packet_place *place,
                      struct halo_error *err)
{
    const AVPacket *pkt;
    int code;
    while ((code = halo_source_peek(s, 0, &pkt, err)) > 0) {
        const bool ours = pkt->stream_index == index;
        if (ours && pkt->pts == place->pts && pkt->size == place->size)
            return 1;
        if (ours && pkt->dts != AV_NOPTS_VALUE && pkt->dts > place->pts)
            return 0;
        forget_ahead(s);
    }
    return code;
}

int halo_source_go_to(struct halo_source *s, int index, const struct halo_packet_place *place,
                      struct halo_error *err)
{
    AVFormatContext *f = s->format;
    struct halo_error ignored = {0};
    const int64_t to = place->pts;
    forget_ahead(s);
    int code = avformat_seek_file(f, index, INT64_MIN, to, to, 0) < 0 ? 0 : begin_again(s);
    if (code >= 0 && (code = find_place(s, index, place, &ignored)) > 0)
        return 0;
    if (is_stopped(s))
        return halo_fail(err, -ECANCELED, "stopped");
    forget_ahead(s);
    code = halo_source_rewind(s);
    if (code >= 0)
        code = find_place(s, index, place, err);
    if (code > 0)
        return 0;
    return halo_fail(err, code < 0 ? code : -ESTALE,
                     "%s: has changed, or cannot be read from the middle", s->settings->input);
}

int halo_source_check_whole(const struct halo_source *s, struct halo_error *err)
{
    if (s->part.duration >= 0 || s->part.seek > 0 || is_stopped(s))
        return 0;
    const int code = halo_whole_check(s->whole, s->settings->input, err);
    return code < 0 ? halo_damage_meet(s->damage, code, err) : 0;
}

void halo_source_move(struct halo_source *s, int64_t offset)
{
    s->offset += offset;
    s->moved += offset;
}

int64_t halo_source_end(const struct halo_source *s)
{
    return s->end == INT64_MAX ? s->end : s->end - s->moved;
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
    if (s->part.seek >= 0 && shifted < 0)
        return -1;
    const int64_t before = shifted + av_rescale_q(s->moved, AV_TIME_BASE_Q, tb);
    return s->end != INT64_MAX && av_compare_ts(before, tb, s->end, AV_TIME_BASE_Q) >= 0 ? 1 : 0;
}

void halo_source_bounds(const struct halo_source *s, AVRational tb, int64_t *ret_from,
                        int64_t *ret_until)
{
    *ret_from = s->part.seek >= 0 ? av_rescale_q(s->offset, AV_TIME_BASE_Q, tb) : INT64_MIN;
    *ret_until = s->end == INT64_MAX
                     ? INT64_MAX
                     : av_rescale_q_rnd(s->end + s->offset, AV_TIME_BASE_Q, tb, AV_ROUND_UP);
}

double halo_source_duration(const struct halo_source *s)
{
    if (s->format->duration == AV_NOPTS_VALUE || s->format->duration <= 0)
        return s->part.duration;
    double whole = (double)s->format->duration / AV_TIME_BASE;
    if (s->part.seek > 0)
        whole -= s->part.seek;
    if (s->part.duration >= 0 && s->part.duration < whole)
        whole = s->part.duration;
    return whole;
}

bool halo_source_declares(const struct halo_source *s)
{
    return halo_whole_declares(s->format);
}
