/* SPDX-License-Identifier: BSD-2-Clause
 * Judges a decoder's output: whether its frames are undamaged, and as many as the packets sent.
 * Use it from one thread at a time; only the complaints (the decoder's error lines) arrive from the
 * decoder's threads. */
#ifndef HALO_DECODE_JUDGE_H
#define HALO_DECODE_JUDGE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "pipeline/base/av.h"

enum {
    HALO_JUDGE_EARLY = 64, /* more than decoders hold back: 16 threads and 16 frames to reorder */
};

/* In the caller's memory, zeroed before use. */
struct halo_judge {
    struct halo_complaints complaints; /* of the decoder, whose `opaque` has to point here */
    int known;                         /* number of complaints up to the last good frame */
    int traits;
    bool live, begins_whole;         /* begins_whole: the container holds the codec headers, and its
                                        first packet is a frame */
    int64_t from;                    /* start of the frames that count: -ss, later the first frame
                                        delivered */
    bool seeks;                      /* `from` is -ss until the first frame is delivered */
    int64_t early[HALO_JUDGE_EARLY]; /* times of the newest packets before that frame; a ring */
    int64_t packets, pictures;       /* numbers of those whose times count */
    bool delivered, interlaced;
};

/* live: no frames are decoded in parallel. Call halo_judge_begin next. */
void halo_judge_init(struct halo_judge *judge, const AVCodecParameters *par, bool live);

/* Call before the stream's first packet, each time the stream is read from its beginning. */
void halo_judge_begin(struct halo_judge *judge);

/* Call after halo_judge_begin: only frames with times from <= t < until count (INT64_MIN,
 * INT64_MAX: all). */
void halo_judge_set_window(struct halo_judge *judge, int64_t from, int64_t until);

/* The decoder's complaints so far are not damage, or have been reported. */
void halo_judge_forget(struct halo_judge *judge);

/* Call before the packet is sent; time is its own, AV_NOPTS_VALUE if it has none. */
void halo_judge_packet(struct halo_judge *judge, const AVPacket *pkt, int64_t time);

/* Whether a decoding error belongs to a packet before -ss. Which packet failed is not known, only
 * that the decoder complained. */
bool halo_judge_tolerates(const struct halo_judge *judge);

/* Whether the frame, whose pts is set, is damaged. */
bool halo_judge_picture(struct halo_judge *judge, const AVFrame *frame, const AVCodec *codec);

/* Whether the stream is damaged; call at its end. A second call reports no damage. */
bool halo_judge_end(struct halo_judge *judge);

#endif
