/* SPDX-License-Identifier: BSD-2-Clause
 * AAC with ADTS headers, as in MPEG-TS: each packet declares its coding parameters. Most containers
 * store them once, so copied packets have to keep the parameters of the first one. Use it from one
 * thread at a time. */
#ifndef HALO_ADTS_H
#define HALO_ADTS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

/* Zeroed before the first packet. */
struct halo_adts {
    unsigned char first[4]; /* parameters in its header, which all others must have, too */
    bool found, warned;
};

/* false: the packet has no ADTS header. */
bool halo_adts_begin(struct halo_adts *adts, const AVPacket *first);

/* false: the packet's parameters differ from those of the first packet that had a header, and the
 * packet is to be left out. A warning about it is logged once: name is the input's, pkt's times are
 * in the stream's time base, and advice explains how to keep such audio. */
bool halo_adts_goes_on(struct halo_adts *adts, const char *name, const AVStream *stream,
                       const AVPacket *pkt, const char *advice);

#endif
