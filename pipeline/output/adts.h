/* SPDX-License-Identifier: BSD-2-Clause
 * Checks AAC audio with ADTS headers, as in MPEG-TS, in which each packet declares its coding
 * parameters. Most containers store the parameters only once, so all copied packets must have those
 * of the first one. Use it from one thread at a time. */
#ifndef HALO_ADTS_H
#define HALO_ADTS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

/* The struct must be zeroed before the first packet. */
struct halo_adts {
    /* Parameters in the first header; all other headers must have the same parameters. */
    unsigned char first[4];
    bool found, warned;
};

/* Stores the parameters of the first packet. Returns false if the packet has no ADTS header. */
bool halo_adts_begin(struct halo_adts *adts, const AVPacket *first);

/* Returns false if the packet's parameters differ from those of the first packet that had a header;
 * the packet must then be left out. The first time, this function logs a warning, which contains
 * the name of the input, the packet's time (in the stream's time base) and the text `advice`, which
 * explains how to keep such audio. */
bool halo_adts_goes_on(struct halo_adts *adts, const char *name, const AVStream *stream,
                       const AVPacket *pkt, const char *advice);

#endif
