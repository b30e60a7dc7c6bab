/* SPDX-License-Identifier: BSD-2-Clause
 * A video encoder: output pictures in, packets out. One thread at a time. */
#ifndef HALO_ENCODE_H
#define HALO_ENCODE_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/input/hdr.h"

struct halo_output_picture;
struct halo_encoder;

/* What the pictures are; colours and shape come from the input stream. */
struct halo_encoder_input {
    enum AVPixelFormat format; /* native, as it leaves the gate */
    int width, height;
    AVStream *stream;     /* of the input */
    AVRational framerate; /* 0/1 where unknown */
    AVRational aspect;    /* sample aspect ratio */
    struct halo_hdr hdr;
    int gpu;             /* number of the GPU, for an encoder in hardware */
    AVBufferRef *device; /* of an encoder in hardware, else NULL; both need to live for the call */
    AVBufferRef *frames; /* the pool that pictures on the device come from; NULL: host memory */
};

/* What is asked of it. All zero but the container: nothing. Strings are borrowed for the call. */
struct halo_encoder_settings {
    const AVOutputFormat *container;    /* that its packets go into */
    const char *bitrate, *crf, *preset; /* as the user wrote them; NULL: the encoder's own */
    int width, height;                  /* of what it encodes; 0: the input's */
    int gop;                            /* pictures to the next key frame at most; 0: its own */
    bool live;  /* no picture waits for a later one; key frames are closed, and can be forced */
    bool jpeg;  /* in full range, as files of JPEG are */
    int chroma; /* enum halo_chroma of config/daemon.h; only where live is set */
};

/* Opens codec as settings ask. 0; a usage error (an option that it refuses) or -errno, with err
 * filled. The caller owns *ret. */
int halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                      const struct halo_encoder_settings *settings,
                      const struct halo_encoder_input *input, struct halo_error *err);
void halo_encoder_close(struct halo_encoder *e); /* NULL is nothing to do */

/* Fills the output stream's codec parameters, time base and frame rate. 0 or -ENOMEM. */
int halo_encoder_describe(const struct halo_encoder *e, AVStream *out);

/* Pictures are converted to another pixel format for it, on the host. */
bool halo_encoder_converts(const struct halo_encoder *e);

/* A device encodes. */
bool halo_encoder_in_hardware(const struct halo_encoder *e);

/* That this one encodes in the place of the GPU's, and why, in words; "" where it does not. */
const char *halo_encoder_instead(const struct halo_encoder *e);
void halo_encoder_set_instead(struct halo_encoder *e, const char *words);

AVRational halo_encoder_time_base(const struct halo_encoder *e);

/* Before the first picture: times of pictures are given, and packets told, from there on (in the
 * input stream's time base). Some encoders take no times that are far from 0. */
void halo_encoder_count_from(struct halo_encoder *e, int64_t origin);

/* The next picture becomes a key frame, where the encoder can do that. */
void halo_encoder_force_key(struct halo_encoder *e);

/* Feeds a picture, whose pts is in the input stream's time base, or NULL at the end. It stays the
 * caller's. 0; 1 where the container counts frames and some are missing before it: one was sent in
 * their place, and the picture is to be sent again; -errno with err filled. Blocks while it
 * encodes. Live encoders leave nothing out. */
int halo_encoder_send(struct halo_encoder *e, const struct halo_output_picture *picture,
                      struct halo_error *err);
/* 1: a packet in the encoder's time base; 0: more pictures are needed, or the end; -errno. */
int halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err);

#endif
