/* SPDX-License-Identifier: BSD-2-Clause
 * Makes one timeline from streams whose clock jumps (source_jumps.h). */
#include "pipeline/input/source_jumps.h"

#include <libavutil/avutil.h>
#include <libavutil/mathematics.h>
#include <libavutil/mem.h>

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

struct halo_jumps *halo_jumps_create(int streams)
{
    struct halo_jumps *j = av_mallocz(sizeof *j + streams * sizeof *j->lane);
    if (!j)
        return NULL;
    j->count = streams;
    for (int i = 0; i < streams; i++)
        j->lane[i].last = j->lane[i].end = AV_NOPTS_VALUE;
    return j;
}

void halo_jumps_destroy(struct halo_jumps *j)
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

bool halo_jumps_pass(struct halo_jumps *j, const AVStream *st, AVPacket *pkt, double *ret_step)
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
