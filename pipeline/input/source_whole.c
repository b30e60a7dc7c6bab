/* SPDX-License-Identifier: BSD-2-Clause
 * Checks whether a file was complete: by declared lengths, counted frames, and the size of the
 * outermost element. */
#include "pipeline/input/source_whole.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/base/av.h"

/* Data about the packets read of one stream, to be compared with what the stream declares. */
struct seen {
    int64_t packets;
    int64_t indexed;  /* index entries when the file was opened */
    double end;       /* seconds: largest pts + duration */
    double last_gap;  /* seconds: longest step between presentation times so far */
    double last_time; /* of the previous packet */
};

struct halo_whole {
    AVFormatContext *format;
    int count;
    struct seen seen[];
};

struct halo_whole *halo_whole_create(AVFormatContext *input)
{
    struct halo_whole *w = av_mallocz(sizeof *w + input->nb_streams * sizeof *w->seen);
    if (!w)
        return NULL;
    w->format = input;
    w->count = (int)input->nb_streams;
    for (int i = 0; i < w->count; i++)
        w->seen[i].indexed = avformat_index_get_entries_count(input->streams[i]);
    return w;
}

void halo_whole_destroy(struct halo_whole *w)
{
    av_free(w);
}

void halo_whole_note(struct halo_whole *w, const AVPacket *pkt)
{
    const AVStream *st = w->format->streams[pkt->stream_index];
    struct seen *seen = &w->seen[pkt->stream_index];
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

double halo_whole_time(const struct halo_whole *w, int stream)
{
    return w->seen[stream].last_time;
}

double halo_whole_end(const struct halo_whole *w)
{
    double last = 0;
    for (int i = 0; i < w->count; i++)
        if (w->seen[i].packets && w->seen[i].end > last)
            last = w->seen[i].end;
    return last;
}

/* ---- the outermost size ---- */

/* A variable-length EBML number; -1 if it is malformed or means "unknown". An element's name keeps
 * the bits that mark its length. */
static int64_t ebml_number(AVIOContext *pb, bool name)
{
    const int first = avio_r8(pb);
    int length = 1;
    while (length <= 8 && !(first & 0x100 >> length))
        length++;
    if (length > 8)
        return -1;
    uint64_t value = name ? (uint64_t)first : (uint64_t)first & (0xff >> length);
    for (int i = 1; i < length; i++)
        value = value << 8 | (uint64_t)avio_r8(pb);
    return !name && value == (UINT64_C(1) << 7 * length) - 1 ? -1 : (int64_t)value;
}

static int64_t matroska_end(AVIOContext *pb)
{
    enum { HEADER = 0x1A45DFA3, SEGMENT = 0x18538067 };
    if (ebml_number(pb, true) != HEADER)
        return -1;
    const int64_t header = ebml_number(pb, false);
    if (header < 0 || avio_skip(pb, header) < 0 || ebml_number(pb, true) != SEGMENT)
        return -1;
    const int64_t size = ebml_number(pb, false);
    return size < 0 ? -1 : avio_tell(pb) + size;
}

/* Checks a Matroska segment from the end of its header: known elements must follow one another up
 * to its end, also those inside clusters if `deep` is set. Returns 0, or the offset at which no
 * known element begins. */
static int64_t broken_element(AVIOContext *pb, int64_t end, bool deep)
{
    enum { CLUSTER = 0x1F43B675 };
    static const int64_t known[] = {CLUSTER,    0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B,
                                    0x1941A469, 0x1043A770, 0x1254C367, 0xEC,       0xBF,
                                    0xE7,       0xA3,       0xA0,       0xAB,       0xA7,
                                    0x5854,     0xAF};
    int64_t cluster_end = -1, at;
    while ((at = avio_tell(pb)) < end) {
        const int64_t id = ebml_number(pb, true), size = ebml_number(pb, false);
        const bool outer = id > 0xFFFF, any = id == 0xEC || id == 0xBF;
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= id == known[i];
        if (!is_known || (size < 0 && id != CLUSTER) || (outer && at < cluster_end) ||
            (!outer && !any && at == cluster_end))
            return at;
        if (id == CLUSTER && size < 0 && !deep)
            return 0; /* its end is not declared */
        if (id == CLUSTER)
            cluster_end = size < 0 ? -1 : avio_tell(pb) + size;
        if ((id != CLUSTER || !deep) && avio_skip(pb, size) < 0)
            return at;
    }
    return at == end ? 0 : end;
}

/* The end of the last RIFF chunk: long AVI files have several, one after the other. */
static int64_t riff_end(AVIOContext *pb, int64_t size)
{
    int64_t end = 0;
    while (end + 8 <= size) {
        if (avio_seek(pb, end, SEEK_SET) < 0 || avio_rl32(pb) != MKTAG('R', 'I', 'F', 'F'))
            break;
        const int64_t length = avio_rl32(pb);
        end += 8 + length + (length & 1);
    }
    return end + 8 > size ? end : -1; /* otherwise its muxer never set the length */
}

/* The bytes that are missing at the end of what the outermost element declares; -1: unknown. If
 * none are missing, the file's muxer finished, and a different length is only counted differently
 * (the last frame's duration, frames that are shown twice). */
static int64_t missing_bytes(AVFormatContext *f)
{
    AVIOContext *pb = f->pb;
    const int64_t size = pb && (pb->seekable & AVIO_SEEKABLE_NORMAL) ? avio_size(pb) : -1;
    if (size <= 0 || avio_seek(pb, 0, SEEK_SET) < 0)
        return -1;
    int64_t end = -1;
    if (av_match_name("matroska", f->iformat->name) && (end = matroska_end(pb)) > 0 &&
        broken_element(pb, end, true))
        return -1;
    if (!strcmp(f->iformat->name, "avi"))
        end = riff_end(pb, size);
    return end > 0 ? FFMAX(end - size, 0) : -1;
}

/* ---- pieces that follow one another ---- */

/* Checks the boxes of a fragmented MP4, whose header has no counts. 0, or the offset at which no
 * valid box begins. */
static int64_t broken_box(AVIOContext *pb, int64_t size)
{
    bool fragmented = false;
    int64_t at = 0;
    while (at + 8 <= size && avio_seek(pb, at, SEEK_SET) >= 0) {
        int64_t length = avio_rb32(pb);
        const uint32_t type = avio_rb32(pb);
        if (length == 1)
            length = (int64_t)avio_rb64(pb);
        for (int shift = 0; shift < 32; shift += 8)
            if ((type >> shift & 0xff) < ' ' || length < 0)
                return fragmented ? at : 0;
        fragmented |= type == MKBETAG('m', 'o', 'o', 'f');
        if (length == 0) /* it extends to the end */
            return 0;
        if (length < 8 || length > size - at)
            return fragmented ? at : 0;
        at += length;
    }
    return 0;
}

/* The end of the last sample in the index of an MP4. */
static int64_t index_end(const AVFormatContext *f)
{
    int64_t end = 0;
    for (unsigned i = 0; i < f->nb_streams; i++)
        for (int k = 0; k < avformat_index_get_entries_count(f->streams[i]); k++) {
            const AVIndexEntry *e = avformat_index_get_entry(f->streams[i], k);
            end = FFMAX(end, e->pos + e->size);
        }
    return end;
}

/* Bytes of a GIF's colour table, from the byte that declares it. */
static int64_t gif_colours(int flags)
{
    return flags & 0x80 ? INT64_C(3) << ((flags & 7) + 1) : 0;
}

/* Checks the blocks of a GIF up to its trailer. 0, or the offset after which no block begins. */
static int64_t broken_gif(AVIOContext *pb)
{
    enum { HEADER = 10, EXTENSION = 0x21, IMAGE = 0x2c, TRAILER = 0x3b };
    avio_skip(pb, HEADER);
    int flags = avio_r8(pb);
    avio_skip(pb, 2 + gif_colours(flags));
    for (;;) {
        const int kind = avio_r8(pb);
        if (kind == TRAILER)
            return 0;
        if ((kind != EXTENSION && kind != IMAGE && kind != 0) || avio_feof(pb))
            return avio_tell(pb);
        if (kind == 0) /* padding of some writers */
            continue;
        if (kind == IMAGE) {
            avio_skip(pb, 8);
            flags = avio_r8(pb);
            avio_skip(pb, gif_colours(flags));
        }
        avio_skip(pb, 1); /* the kind of extension; how the image is coded */
        for (int length; (length = avio_r8(pb)) > 0 && !avio_feof(pb);)
            avio_skip(pb, length);
    }
}

static int64_t broken_matroska(AVIOContext *pb, int64_t size)
{
    const int64_t end = matroska_end(pb);
    return end > 0 && end <= size ? broken_element(pb, end, false) : 0;
}

/* Checks that the pieces of a file follow one another. Demuxers search for the next piece if one is
 * missing, or stop there. */
static int check_pieces(const struct halo_whole *w, const char *name, struct halo_error *err)
{
    AVIOContext *pb = w->format->pb;
    const int64_t size = pb && (pb->seekable & AVIO_SEEKABLE_NORMAL) ? avio_size(pb) : -1;
    char clock[32];
    int64_t at = 0;
    if (size <= 0 || avio_seek(pb, 0, SEEK_SET) < 0)
        return 0;
    if (av_match_name("mov", w->format->iformat->name))
        at = index_end(w->format) > size ? size : broken_box(pb, size);
    else if (!strcmp(w->format->iformat->name, "gif"))
        at = broken_gif(pb);
    else if (av_match_name("matroska", w->format->iformat->name))
        at = broken_matroska(pb, size);
    if (at <= 0)
        return 0;
    return halo_fail(err, -EBADMSG,
                     "%s: truncated or damaged at %s: the data expected after byte %" PRId64
                     " is missing",
                     name, halo_av_clock(halo_whole_end(w), clock, sizeof clock), at);
}

/* ---- counts and lengths ---- */

/* The number of packets that formats declare whose header counts the samples; an edit list can
 * exclude some of them from the index. 0: it is unknown. */
static int64_t declared_count(const struct halo_whole *w, const AVStream *st)
{
    const int64_t indexed = w->seen[st->index].indexed;
    return indexed > 0 && av_match_name("mov", w->format->iformat->name)
               ? FFMIN(st->nb_frames, indexed)
               : st->nb_frames;
}

/* If no bytes are known to be missing, a frame may be: some muxers count one too many. */
static int check_count(const struct halo_whole *w, const AVStream *st, const char *name,
                       struct halo_error *err)
{
    const struct seen *seen = &w->seen[st->index];
    const int64_t wanted = declared_count(w, st);
    char clock[32];
    if (st->codecpar->codec_type != AVMEDIA_TYPE_VIDEO || seen->packets >= wanted ||
        (seen->packets + 1 == wanted && missing_bytes(w->format) <= 0))
        return 0;
    return halo_fail(err, -EBADMSG,
                     "%s: truncated at %s: stream %d has only %" PRId64 " of the %" PRId64
                     " frames that it declares",
                     name, halo_av_clock(seen->end, clock, sizeof clock), st->index, seen->packets,
                     wanted);
}

static double frame_time(const struct halo_whole *w)
{
    double longest = 0;
    for (int i = 0; i < w->count; i++) {
        const AVStream *st = w->format->streams[i];
        if (st->codecpar->codec_type != AVMEDIA_TYPE_VIDEO ||
            (st->disposition & AV_DISPOSITION_ATTACHED_PIC))
            continue;
        double one = st->avg_frame_rate.num ? 1 / av_q2d(st->avg_frame_rate) : 0;
        longest = FFMAX(longest, FFMAX(one, w->seen[i].last_gap));
    }
    return longest;
}

bool halo_whole_declares(const AVFormatContext *f)
{
    return f->duration != AV_NOPTS_VALUE &&
           f->duration_estimation_method == AVFMT_DURATION_FROM_STREAM;
}

/* The length of a movie header may be that of the tracks without their edit lists, whose frames are
 * counted. */
static bool is_counted(const struct halo_whole *w)
{
    bool counted = av_match_name("mov", w->format->iformat->name);
    for (int i = 0; i < w->count; i++) {
        const AVStream *st = w->format->streams[i];
        counted &= !halo_av_is_video(st) || declared_count(w, st) > 0;
    }
    return counted;
}

static int check_length(const struct halo_whole *w, const char *name, struct halo_error *err)
{
    const AVFormatContext *f = w->format;
    char at[32], whole[32];
    if (!halo_whole_declares(f) || is_counted(w))
        return 0;
    /* One frame may be missing at the end, and some muxers declare the last frame's duration
     * although its packet has none. */
    const double start = f->start_time == AV_NOPTS_VALUE ? 0 : (double)f->start_time / AV_TIME_BASE;
    /* Some containers count their length from time 0, others from the first frame. */
    const double length = (double)f->duration / AV_TIME_BASE;
    const double declared = start > 0 ? length : start + length;
    const double end = halo_whole_end(w);
    if (end + 2 * frame_time(w) + 0.05 >= declared)
        return 0;
    return halo_fail(err, -EBADMSG, "%s: truncated at %s: its declared length is %s", name,
                     halo_av_clock(end, at, sizeof at),
                     halo_av_clock(declared, whole, sizeof whole));
}

int halo_whole_check(const struct halo_whole *w, const char *name, struct halo_error *err)
{
    const int pieces = check_pieces(w, name, err);
    if (pieces < 0)
        return pieces;
    int code = 0;
    for (int i = 0; i < w->count && code >= 0; i++)
        code = check_count(w, w->format->streams[i], name, err);
    if (code >= 0)
        code = check_length(w, name, err);
    if (code >= 0 || missing_bytes(w->format) != 0)
        return code;
    *err = (struct halo_error){0};
    return 0;
}
