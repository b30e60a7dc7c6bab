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
    /* More packets than any decoder holds back: 16 for its threads and 16 for reordering. */
    HALO_DECODE_JUDGE_EARLY = 64,
};

/* The state for checking one decoder. The caller provides the memory, and sets it to zero before
 * use. */
struct halo_decode_judge {
    struct halo_complaints complaints; /* the decoder's error messages; `opaque` in the decoder's
                                          AVCodecContext must point here */
    int known;                         /* number of error messages up to the last undamaged frame */
    int traits;
    bool live, begins_whole; /* live: frames are not decoded in parallel; begins_whole:
                                          the container holds the codec headers, and its first
                                          packet contains a frame */
    int64_t from;            /* packets and frames count from this time on: -ss at first,
                                          later the time of the first frame delivered */
    bool seeks;              /* whether -ss is set; if so, `from` is the time that -ss
                                          sets, until the first frame is delivered */
    /* Ring buffer: times of the newest packets sent before the first frame was delivered. */
    int64_t early[HALO_DECODE_JUDGE_EARLY];
    int64_t packets, pictures; /* numbers of packets and frames counted, from `from` on */
    int64_t before; /* number of packets, and of frames, that another decoder decoded before */
    bool delivered, interlaced;
};

/* Initializes judge for a stream. `live` is true if frames are not decoded in parallel. Call
 * halo_decode_judge_begin() next. */
void halo_decode_judge_init(struct halo_decode_judge *judge, const AVCodecParameters *par,
                            bool live);

/* Resets the counts. Each time the stream is read from its beginning, call this before the first
 * packet. */
void halo_decode_judge_begin(struct halo_decode_judge *judge);

/* Sets which frames count: those whose time t satisfies `from` <= t < `until` (INT64_MIN and
 * INT64_MAX: all). Call this after halo_decode_judge_begin(). */
void halo_decode_judge_set_window(struct halo_decode_judge *judge, int64_t from, int64_t until);

/* Ignores the decoder's error messages so far. Call this if the messages do not indicate damage, or
 * if the damage has already been reported. */
void halo_decode_judge_forget(struct halo_decode_judge *judge);

/* Counts a packet. Call this before the packet is sent to the decoder. `time` is the packet's time,
 * or AV_NOPTS_VALUE if it has no time. */
void halo_decode_judge_packet(struct halo_decode_judge *judge, const AVPacket *pkt, int64_t time);

/* Returns whether a decoding error concerns a packet before -ss and can therefore be ignored. Which
 * packet caused the error is inferred from packet times, because a decoder's error messages do not
 * name the packet. */
bool halo_decode_judge_tolerates(const struct halo_decode_judge *judge);

/* Returns whether the frame is damaged. frame->pts must be set. */
bool halo_decode_judge_picture(struct halo_decode_judge *judge, const AVFrame *frame,
                               const AVCodec *codec);

/* Returns whether the stream is damaged. Call this at the end of the stream. A second call does not
 * report the same damage again. */
bool halo_decode_judge_end(struct halo_decode_judge *judge);

#endif
