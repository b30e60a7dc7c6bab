/* SPDX-License-Identifier: BSD-2-Clause
 * What a decoder made of a stream: whether its pictures are whole, and as many as its packets. One
 * thread at a time, but for the complaints, which come from the decoder's threads. */
#ifndef HALO_DECODE_JUDGE_H
#define HALO_DECODE_JUDGE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "pipeline/base/av.h"

enum {
    HALO_JUDGE_EARLY = 64, /* more than decoders hold back: 16 threads and 16 pictures to reorder */
};

/* In the caller's memory, zeroed before. */
struct halo_judge {
    struct halo_complaints complaints; /* of the decoder, whose opaque is to point here */
    int known;                         /* of those: up to the last good picture */
    int traits;
    bool live, begins_whole;         /* its container has the headers, and begins with a picture */
    int64_t from;                    /* of what counts: -ss, then the first picture delivered */
    bool seeks;                      /* from is -ss until the first picture is delivered */
    int64_t early[HALO_JUDGE_EARLY]; /* times of the newest packets before that; a ring */
    int64_t packets, pictures;       /* of times that count */
    bool delivered, interlaced;
};

/* live: no frames are decoded beside each other. halo_judge_begin follows. */
void halo_judge_init(struct halo_judge *judge, const AVCodecParameters *par, bool live);

/* Before the stream's first packet, and before it comes again. */
void halo_judge_begin(struct halo_judge *judge);

/* After halo_judge_begin: only pictures of times from <= t < until count (INT64_MIN, INT64_MAX:
 * all). */
void halo_judge_set_window(struct halo_judge *judge, int64_t from, int64_t until);

/* What the decoder has complained of is no damage, or is told. */
void halo_judge_forget(struct halo_judge *judge);

/* Before the packet is sent; time: its own, AV_NOPTS_VALUE if it has none. */
void halo_judge_packet(struct halo_judge *judge, const AVPacket *pkt, int64_t time);

/* Whether the packet that failed is one before -ss: which it was is not known, but the decoder
 * complained. */
bool halo_judge_tolerates(const struct halo_judge *judge);

/* Whether the picture, its pts set, is damaged. */
bool halo_judge_picture(struct halo_judge *judge, const AVFrame *frame, const AVCodec *codec);

/* The same of the stream, at its end. Once: what is asked again is whole. */
bool halo_judge_end(struct halo_judge *judge);

#endif
