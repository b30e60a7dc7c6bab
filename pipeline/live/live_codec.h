/* SPDX-License-Identifier: BSD-2-Clause
 * The encoders of a live stream: opened with its settings, cards made with the same settings,
 * packets in microseconds.
 *
 * Owner: the encoding's thread; no lock. Snapshots have encoders of their own, in the thread
 * aside. */
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

/* A picture that went into the encoder, by the time that its packet will have. */
struct halo_live_sent {
    int64_t pts, decoded;
    bool card;
};

/* Zeroed is closed. */
struct halo_live_codec {
    struct halo_encoder *encoder; /* CODED and JPEG, while open */
    AVBSFContext *headers;        /* puts the parameters before each key frame; NULL: not needed */
    AVFormatContext *out;         /* describes what comes out: 0 pictures, 1 sound */
    struct SwsContext *scaler;    /* RAW of another size */
    AVBufferPool *raw;
    AVPacket *card[2];
    int64_t origin;                 /* where the encoder's times begin */
    int64_t last_sent, last_key;    /* ticks of the encoder; microseconds; INT64_MIN: none */
    struct halo_live_sent sent[64]; /* a ring */
    unsigned sent_count;
    int held; /* pictures in the encoder, cards left out */
};

/* Codec parameters, and cards. 0 or -errno with err filled. */
int halo_live_codec_prepare(struct halo_live_encoding *e, struct halo_error *err);
int halo_live_codec_open(struct halo_live_encoding *e, struct halo_error *err);
/* Frames a second at most: the source's, or fewer by fps:. 0/1 where neither is known. */
AVRational halo_live_codec_rate(const struct halo_live_encoding *e);
/* 1: a packet of the open encoder, in microseconds; 0: none. */
int halo_live_codec_receive(struct halo_live_encoding *e, AVPacket *pkt, struct halo_error *err);
/* RAW: the picture as a packet. */
int halo_live_codec_pack(struct halo_live_encoding *e, const struct halo_output_picture *picture,
                         AVPacket *pkt, struct halo_error *err);
/* The encoder of pictures goes; the next one begins with a key frame. */
void halo_live_codec_end(struct halo_live_encoding *e);
/* So does what describes it. */
void halo_live_codec_close(struct halo_live_encoding *e);

/* A picture as a whole image file. */
int halo_live_codec_image(const struct halo_live *live, const char *codec,
                          const struct halo_output_picture *picture, AVPacket *ret,
                          struct halo_error *err);

#endif
