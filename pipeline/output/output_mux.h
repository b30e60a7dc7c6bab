/* SPDX-License-Identifier: BSD-2-Clause
 * Packets of a live stream into one of FFmpeg's muxers: time begins at 0 with the first packet, is
 * the same line for picture and sound, and grows strictly in each. One thread. */
#ifndef HALO_OUTPUT_MUX_H
#define HALO_OUTPUT_MUX_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/output/begin_wire.h"

/* Zeroed is closed. Its errors are AVERROR codes. */
struct halo_mux {
    AVFormatContext *format;
    AVPacket *pkt;
    bool started, begun;
    int64_t origin;      /* us */
    int64_t newest;      /* us from origin, of the picture */
    int64_t last[2];     /* dts in the muxer's time bases */
    AVRational clock[2]; /* those */
};

/* Takes format over, on failure too (its pb stays the caller's); writes the header. options are
 * used up as by avformat_write_header. */
int halo_mux_open(struct halo_mux *mux, AVFormatContext *format,
                  const struct halo_live_begin *begin, AVDictionary **options);
int halo_mux_write(struct halo_mux *mux, const AVPacket *pkt);
/* Writes what is left and the trailer; frees the format. After a failure, too. */
int halo_mux_close(struct halo_mux *mux);

/* What a muxer needs so that a file which is never finished loses at most one group of pictures.
 * 0, or -ENOMEM. */
int halo_mux_options(const AVOutputFormat *container, AVDictionary **ret);

#endif
