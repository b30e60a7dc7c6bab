/* SPDX-License-Identifier: BSD-2-Clause
 * ADTS headers of AAC, as in MPEG-TS (adts.h). */
#include "pipeline/output/adts.h"

#include <libavutil/intreadwrite.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"

enum { ADTS = 7 }; /* bytes of the shortest header */

/* Reads the coding parameters: profile, sample rate, channels. false: the packet has no header. */
static bool read_header(const AVPacket *pkt, unsigned char ret[4])
{
    static const unsigned char lasting[] = {0xff, 0xf6, 0xfd, 0xc0};
    if (pkt->size < ADTS || (AV_RB16(pkt->data) & 0xfff6) != 0xfff0)
        return false;
    for (int i = 0; i < 4; i++)
        ret[i] = pkt->data[i] & lasting[i];
    return true;
}

bool halo_adts_begin(struct halo_adts *adts, const AVPacket *first)
{
    return adts->found = read_header(first, adts->first);
}

bool halo_adts_goes_on(struct halo_adts *adts, const char *name, const AVStream *stream,
                       const AVPacket *pkt, const char *advice)
{
    unsigned char header[4];
    char clock[32];
    if (!adts->found)
        halo_adts_begin(adts, pkt);
    if (!read_header(pkt, header) || !memcmp(header, adts->first, sizeof header))
        return true;
    const int64_t ts = pkt->pts != AV_NOPTS_VALUE ? pkt->pts : pkt->dts;
    const double time = ts == AV_NOPTS_VALUE ? 0 : ts * av_q2d(stream->time_base);
    if (!adts->warned)
        halo_log(HALO_LOG_WARNING,
                 "%s: stream %d: the sample rate, channels or profile of the AAC audio changes at "
                 "%s; packets that do not match the start of the stream are not copied: %s",
                 name, stream->index, halo_av_clock(time, clock, sizeof clock), advice);
    adts->warned = true;
    return false;
}
