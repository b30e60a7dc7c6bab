/* SPDX-License-Identifier: BSD-2-Clause
 * Where decoding may begin in a video stream with the same results as from its start: at packets
 * whose frame refers to no frame before it, and after which no frame does (IDR of H.264 and HEVC;
 * key frames of VP8, VP9 and FFV1). What the container says does not suffice: the packets are
 * parsed, except for FFV1, whose decoder checks it.
 *
 * A decoder that begins there must have the same parameter sets as one that began at the start, so
 * sets in packets must be those of the stream's extradata. Times must increase from cut to cut,
 * because FFmpeg's decoders correct others from what they saw before. A stream that differs is
 * decoded by one decoder, from the cut before the packet that differs. Use it from one thread. */
#ifndef HALO_DECODE_CUTS_H
#define HALO_DECODE_CUTS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct halo_cuts {
    enum AVCodecID codec;
    int length;     /* bytes of the length before each NAL unit; 0: start codes */
    uint64_t sets;  /* hash of the parameter sets in the extradata */
    bool began;     /* whether a packet was seen */
    int64_t latest; /* the latest time of a frame in all packets */
    int64_t before; /* the same, for packets before the newest cut */
    const char *reason;
};

enum halo_cut {
    HALO_CUT_NONE,  /* belongs to the frames before it */
    HALO_CUT_HERE,  /* decoding may begin with it */
    HALO_CUT_NEVER, /* from the cut before this packet on, one decoder must decode everything */
};

/* Returns whether the stream may be cut at all. If not, cuts->reason is a phrase such as "it is
 * encrypted", a string constant; otherwise it is NULL. */
bool halo_cuts_init(struct halo_cuts *cuts, const AVStream *stream);

/* Looks at the next packet of the stream. After HALO_CUT_NEVER, cuts->reason says why, and the
 * function must not be called again. */
enum halo_cut halo_cuts_next(struct halo_cuts *cuts, const AVPacket *pkt);

#endif
