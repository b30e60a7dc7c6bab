/* SPDX-License-Identifier: BSD-2-Clause
 * Writes the packets of a live stream with one of FFmpeg's muxers. Times begin with the first
 * packet, at 0 or at `base`; video and audio share one timeline, and dts increases strictly in each
 * track. Used by one thread. */
#ifndef HALO_OUTPUT_MUX_H
#define HALO_OUTPUT_MUX_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/parameters_wire.h"

/* A muxer. A muxer whose fields are all zero counts as closed. The functions below return errors as
 * AVERROR codes. */
struct halo_mux {
    AVFormatContext *format;
    AVPacket *pkt;
    bool started, begun;
    int64_t base;        /* time of the first packet, us; may be set after halo_mux_open() */
    int64_t origin;      /* us */
    int64_t newest;      /* dts of the newest video packet, in us from origin */
    int64_t last[2];     /* last dts of each track, in the muxer's time bases */
    AVRational clock[2]; /* time base of each track in the muxer */
};

/* Writes the header. Takes ownership of format, even on failure, but not of format->pb, which
 * remains the caller's. Removes the options that the muxer has used from *options, as
 * avformat_write_header() does. */
int halo_mux_open(struct halo_mux *mux, AVFormatContext *format,
                  const struct halo_encoding_parameters *begin, AVDictionary **options);
int halo_mux_write(struct halo_mux *mux, const AVPacket *pkt);
/* Writes buffered packets and the trailer, and frees the format. Call this even after a failure. */
int halo_mux_close(struct halo_mux *mux);

/* Adds options for the muxer to *ret. With these options, a file that is never finished loses at
 * most one group of frames. Returns 0 or -ENOMEM. */
int halo_mux_options(const AVOutputFormat *container, AVDictionary **ret);

#endif
