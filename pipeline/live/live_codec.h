/* SPDX-License-Identifier: BSD-2-Clause
 * The encoders of a live stream: opened with the stream's settings; cards made with the same
 * settings; packets in microseconds.
 *
 * Owner: the encoding's thread; no lock. Snapshots have encoders of their own, in the extra thread
 * (live_aside.h). */
#ifndef HALO_LIVE_CODEC_H
#define HALO_LIVE_CODEC_H

#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"

struct SwsContext;
struct halo_encoder;
struct halo_live;
struct halo_live_encoding;
struct halo_output_picture;

/* A frame that was sent to the encoder, with the timestamp that its packet will have. */
struct halo_live_sent {
    int64_t pts, decoded;
    bool card;
};

/* A zeroed one is closed. */
struct halo_live_codec {
    struct halo_encoder *encoder; /* CODED and JPEG, while open */
    AVBSFContext *headers; /* inserts the parameter sets before each keyframe; NULL: not needed */
    AVFormatContext *out;  /* describes the output: stream 0 video, 1 audio */
    struct SwsContext *scaler; /* RAW in another size */
    AVBufferPool *raw;
    AVPacket *card[2];
    int64_t origin;                 /* time at which the encoder's timestamps begin */
    int64_t last_sent, last_key;    /* in encoder ticks, in us; INT64_MIN: none yet */
    struct halo_live_sent sent[64]; /* a ring buffer */
    unsigned sent_count;
    int held; /* frames in the encoder, without cards */
};

/* Prepares codec parameters and cards. 0 or -errno with err filled. */
int halo_live_codec_prepare(struct halo_live_encoding *e, struct halo_error *err);
int halo_live_codec_open(struct halo_live_encoding *e, struct halo_error *err);
/* The highest frame rate: the source's, or fps: if lower. 0/1 if neither is known. */
AVRational halo_live_codec_rate(const struct halo_live_encoding *e);
/* 1: pkt is a packet of the open encoder, in microseconds; 0: no packet is ready. */
int halo_live_codec_receive(struct halo_live_encoding *e, AVPacket *pkt, struct halo_error *err);
/* RAW: stores the frame in a packet. */
int halo_live_codec_pack(struct halo_live_encoding *e, const struct halo_output_picture *picture,
                         AVPacket *pkt, struct halo_error *err);
/* Closes the video encoder; the next one begins with a keyframe. */
void halo_live_codec_end(struct halo_live_encoding *e);
/* Closes the encoder and everything that describes it. */
void halo_live_codec_close(struct halo_live_encoding *e);

/* Encodes a frame as a complete image file. */
int halo_live_codec_image(const struct halo_live *live, const char *codec,
                          const struct halo_output_picture *picture, AVPacket *ret,
                          struct halo_error *err);

#endif
