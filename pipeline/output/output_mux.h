/* SPDX-License-Identifier: BSD-2-Clause
 * Writes packets of a live stream with one of FFmpeg's muxers: time begins at 0 with the first
 * packet, video and audio share one timeline, and dts increases strictly in each track. One
 * thread. */
#ifndef HALO_OUTPUT_MUX_H
#define HALO_OUTPUT_MUX_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/begin_wire.h"

/* All zero means closed. Errors are AVERROR codes. */
struct halo_mux {
    AVFormatContext *format;
    AVPacket *pkt;
    bool started, begun;
    int64_t origin;      /* us */
    int64_t newest;      /* us from origin: dts of the newest video packet */
    int64_t last[2];     /* dts in the muxer's time bases */
    AVRational clock[2]; /* the muxer's time bases */
};

/* Takes ownership of format, on failure too (its pb stays the caller's), and writes the header.
 * options are consumed as by avformat_write_header. */
int halo_mux_open(struct halo_mux *mux, AVFormatContext *format,
                  const struct halo_live_begin *begin, AVDictionary **options);
int halo_mux_write(struct halo_mux *mux, const AVPacket *pkt);
/* Writes buffered packets and the trailer, and frees the format. Call it after a failure, too. */
int halo_mux_close(struct halo_mux *mux);

/* Options for a muxer so that a file that is never finished loses at most one group of pictures. 0,
 * or -ENOMEM. */
int halo_mux_options(const AVOutputFormat *container, AVDictionary **ret);

#endif
