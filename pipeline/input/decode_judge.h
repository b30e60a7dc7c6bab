/* SPDX-License-Identifier: BSD-2-Clause
 * Checks a decoder's output: whether its frames are undamaged, and whether there are as many as the
 * packets sent. Use it from one thread at a time; only the complaints (error messages of the
 * decoder) arrive from the decoder's own threads. */
#ifndef HALO_DECODE_JUDGE_H
#define HALO_DECODE_JUDGE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "pipeline/base/av.h"

enum {
    HALO_JUDGE_EARLY = 64, /* more packets than decoders hold back: 16 threads and 16 frames to
                              reorder */
};

/* The checks of one decoder. The caller owns the memory, and sets it to zero before use. */
struct halo_judge {
    struct halo_complaints complaints; /* the decoder's complaints; its `opaque` must point here */
    int known;                         /* number of complaints up to the last undamaged frame */
    int traits;
    bool live, begins_whole;         /* begins_whole: the container holds the codec headers, and its
                                        first packet contains a frame */
    int64_t from;                    /* first time that counts: -ss at first, later the time of the
                                        first frame delivered */
    bool seeks;                      /* whether -ss is set; `from` is then -ss until the first frame
                                        is delivered */
    int64_t early[HALO_JUDGE_EARLY]; /* times of the newest packets sent before the first frame was
                                        delivered; a ring */
    int64_t packets, pictures;       /* numbers of packets and frames whose times count */
    bool delivered, interlaced;
};

/* Initializes judge for a stream. live: frames are not decoded in parallel. Call halo_judge_begin
 * next. */
void halo_judge_init(struct halo_judge *judge, const AVCodecParameters *par, bool live);

/* Resets the counts. Call it before the stream's first packet, each time the stream is read from
 * its beginning. */
void halo_judge_begin(struct halo_judge *judge);

/* Sets which frames count: those with times from <= t < until (INT64_MIN, INT64_MAX: all). Call it
 * after halo_judge_begin. */
void halo_judge_set_window(struct halo_judge *judge, int64_t from, int64_t until);

/* Forgets the decoder's complaints so far, because they do not mean damage or have been reported
 * already. */
void halo_judge_forget(struct halo_judge *judge);

/* Counts a packet. Call it before the packet is sent to the decoder. time is the packet's time, or
 * AV_NOPTS_VALUE if it has no time. */
void halo_judge_packet(struct halo_judge *judge, const AVPacket *pkt, int64_t time);

/* Returns whether a decoding error concerns a packet before -ss and can therefore be ignored.
 * Decoders complain without naming the packet. */
bool halo_judge_tolerates(const struct halo_judge *judge);

/* Returns whether the frame is damaged. Its pts must be set. */
bool halo_judge_picture(struct halo_judge *judge, const AVFrame *frame, const AVCodec *codec);

/* Returns whether the stream is damaged. Call it at the end of the stream; a second call does not
 * report the same damage again. */
bool halo_judge_end(struct halo_judge *judge);

#endif
