/* SPDX-License-Identifier: BSD-2-Clause
 * AAC with ADTS headers, as in MPEG-TS: each packet says how it is coded. Most containers say that
 * once, so copied packets have to go on as the first one began. One thread at a time. */
#ifndef HALO_ADTS_H
#define HALO_ADTS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

/* Zeroed before the first packet. */
struct halo_adts {
    unsigned char first[4]; /* what its header says and the others' have to say */
    bool found, warned;
};

/* false: the packet has no such header. */
bool halo_adts_begin(struct halo_adts *adts, const AVPacket *first);

/* false: the packet is coded in another way than the first one that had a header, and is to be left
 * out. That is warned of once: name is the input's, pkt's times are the stream's, advice says how
 * such sound is kept. */
bool halo_adts_goes_on(struct halo_adts *adts, const char *name, const AVStream *stream,
                       const AVPacket *pkt, const char *advice);

#endif
