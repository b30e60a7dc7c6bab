/* SPDX-License-Identifier: BSD-2-Clause
 * Reads back an output that was joined (joined.h). */
#include "pipeline/segment/joined.h"

#include <errno.h>
#include <libavformat/avformat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/base/av.h"

/* Containers round times; none by more than this. */
static const double rounding = 0.02; /* seconds */

static int find_video(const AVFormatContext *f)
{
    for (unsigned i = 0; i < f->nb_streams; i++)
        if (halo_av_is_video(f->streams[i]))
            return (int)i;
    return -1;
}

static int count(AVFormatContext *f, int index, struct halo_joined *ret)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    AVPacket *pkt = av_packet_alloc();
    int code = pkt ? 0 : AVERROR(ENOMEM);
    while (code >= 0 && (code = av_read_frame(f, pkt)) >= 0) {
        if (pkt->stream_index == index) {
            ret->packets++;
            if (pkt->pts != AV_NOPTS_VALUE) {
                first = FFMIN(first, pkt->pts);
                last = FFMAX(last, pkt->pts);
            }
        }
        av_packet_unref(pkt);
    }
    av_packet_free(&pkt);
    if (last >= first && last != INT64_MIN)
        ret->seconds = (double)(last - first) * av_q2d(f->streams[index]->time_base);
    return code == AVERROR_EOF ? 0 : code;
}

static int compare(const struct halo_joined *found, const struct halo_joined *want,
                   const char *name, struct halo_error *err)
{
    if (found->packets != want->packets)
        return halo_fail(err, -EBADMSG, "%s: has %lld frames instead of %lld: it was removed", name,
                         (long long)found->packets, (long long)want->packets);
    if (fabs(found->seconds - want->seconds) > rounding)
        return halo_fail(err, -EBADMSG, "%s: lasts %.3f s instead of %.3f s: it was removed", name,
                         found->seconds, want->seconds);
    return 0;
}

int halo_joined_check(const char *path, const struct halo_joined *joined, const char *name,
                      struct halo_error *err)
{
    char why[400], *url;
    struct halo_joined found = {0, 0};
    AVFormatContext *f = NULL;
    if (asprintf(&url, "file:%s", path) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = avformat_open_input(&f, url, NULL, NULL);
    free(url);
    if (code >= 0)
        code = avformat_find_stream_info(f, NULL);
    const int index = code >= 0 ? find_video(f) : -1;
    if (index >= 0)
        code = count(f, index, &found);
    avformat_close_input(&f);
    if (code < 0)
        return halo_fail(err, halo_av_errno(code), "%s: cannot be read back: %s", name,
                         halo_av_reason(code, NULL, why, sizeof why));
    return compare(&found, joined, name, err);
}
