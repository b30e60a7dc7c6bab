/* SPDX-License-Identifier: BSD-2-Clause
 * The encoders of a live stream. They are opened with the stream's settings; cards are encoded with
 * the same settings. Packets have timestamps in microseconds.
 *
 * Owner: the encoding's thread; no lock is needed. Snapshots have their own encoders, in the extra
 * thread (live_worker.h). */
#ifndef HALO_LIVE_CODEC_H
#define HALO_LIVE_CODEC_H

#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

struct SwsContext;
struct halo_encoder;
struct halo_live;
struct halo_live_encoding;
struct halo_output_frame;

/* Describes a frame that was sent to the encoder: the timestamp that its packet will have, the time
 * at which the frame was decoded, and whether the frame is a card. */
struct halo_live_sent {
    int64_t pts, decoded;
    bool card;
};

/* The codec of an encoding. If all bytes are 0, it is closed. */
struct halo_live_codec {
    struct halo_encoder *encoder; /* for CODED and JPEG encodings while the encoder is open */
    AVBSFContext *headers; /* inserts the parameter sets before each keyframe; NULL: not needed */
    AVFormatContext *out;  /* describes the output: stream 0 is the video, 1 the audio */
    struct SwsContext *scaler; /* for RAW encodings whose size differs from that of the frames */
    AVBufferPool *raw;
    AVPacket *card[2];
    int64_t origin; /* time at which the encoder's timestamps begin */
    /* times of the last frame that was sent to the encoder (in encoder ticks) and of the last
     * keyframe (in us); INT64_MIN: none yet */
    int64_t last_sent, last_key;
    struct halo_live_sent sent[64]; /* a ring buffer */
    unsigned sent_count;
    int held; /* number of frames in the encoder; cards are not counted */
};

/* Prepares the codec parameters and the cards. Returns 0, or -errno with err filled. */
int halo_live_codec_prepare(struct halo_live_encoding *e, struct halo_error *err);
int halo_live_codec_open(struct halo_live_encoding *e, struct halo_error *err);
/* Returns the highest possible frame rate of the encoding: its key `fps` or the source's frame
 * rate, whichever is lower. Returns the fraction 0/1 if neither the key `fps` nor the source's
 * frame rate is known. */
AVRational halo_live_codec_rate(const struct halo_live_encoding *e);
/* Receives a packet from the open encoder. Returns 1 with pkt filled (its times are in
 * microseconds), 0 if no packet is ready, or -errno with err filled. */
int halo_live_codec_receive(struct halo_live_encoding *e, AVPacket *pkt, struct halo_error *err);
/* Stores the frame unencoded in a packet, for RAW encodings. */
int halo_live_codec_pack(struct halo_live_encoding *e, const struct halo_output_frame *frame,
                         AVPacket *pkt, struct halo_error *err);
/* Closes the video encoder. The next encoder begins with a keyframe. */
void halo_live_codec_end(struct halo_live_encoding *e);
/* Closes the video encoder, and frees everything that describes its output. */
void halo_live_codec_close(struct halo_live_encoding *e);

/* Passes a packet with times in microseconds to the listener; stream is 0 for video and 1 for
 * audio. Called by the encoding's thread. */
void halo_live_encoding_send(struct halo_live_encoding *e, AVPacket *pkt, int stream, bool card);

/* Computes the dimensions that text specifies for frames of width x height. text is "WxH", "Wx-1",
 * "-1xH" or one of FFmpeg's names for sizes. Returns 0, or -EINVAL if text has another form. */
int halo_live_size(const char *text, int width, int height, int *ret_width, int *ret_height);

/* Encodes a frame as a complete image file. */
int halo_live_codec_image(const struct halo_live *live, const char *codec,
                          const struct halo_output_frame *frame, AVPacket *ret,
                          struct halo_error *err);

#endif
