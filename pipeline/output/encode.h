/* SPDX-License-Identifier: BSD-2-Clause
 * A video encoder: takes output frames and returns packets. Use it from one thread at a time. */
#ifndef HALO_ENCODE_H
#define HALO_ENCODE_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/input/hdr.h"

struct halo_output_picture;
struct halo_encoder;

/* Properties of the frames; colours and geometry come from the input stream. */
struct halo_encoder_input {
    enum AVPixelFormat format; /* native, as the gate releases frames */
    int width, height;
    AVStream *stream;     /* of the input */
    AVRational framerate; /* 0/1: unknown */
    AVRational aspect;    /* sample aspect ratio */
    struct halo_hdr hdr;
    int gpu;             /* number of the GPU, for an encoder in hardware */
    AVBufferRef *device; /* for a hardware encoder, otherwise NULL; device and frames have to stay
                            valid during the call */
    AVBufferRef *frames; /* the pool of frames in the device's memory; NULL: frames are in host
                            memory */
};

/* Settings of the encoder. All zero except the container: its defaults. Strings are borrowed for
 * the call. */
struct halo_encoder_settings {
    const AVOutputFormat *container;    /* for its packets */
    const char *bitrate, *crf, *preset; /* as the user wrote them; NULL: the encoder's default */
    int width, height;                  /* of the encoded frames; 0: the input's */
    int gop;                            /* most frames from one keyframe to the next; 0: the
                                           encoder's default */
    bool live;  /* no frame waits for a later one; keyframes are closed, and can be forced */
    bool jpeg;  /* in full range, like JPEG files */
    int chroma; /* enum halo_chroma of config/daemon.h; used only if live is set */
};

/* Opens codec with these settings. 0; a usage error (an option that it refuses) or -errno, with err
 * filled. The caller owns *ret. */
int halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                      const struct halo_encoder_settings *settings,
                      const struct halo_encoder_input *input, struct halo_error *err);
void halo_encoder_close(struct halo_encoder *e); /* accepts NULL */

/* Fills the output stream's codec parameters, time base and frame rate. 0 or -ENOMEM. */
int halo_encoder_describe(const struct halo_encoder *e, AVStream *out);

/* Whether frames are converted to another pixel format for it, on the host. */
bool halo_encoder_converts(const struct halo_encoder *e);

/* Whether a device encodes. */
bool halo_encoder_in_hardware(const struct halo_encoder *e);

/* Why this encoder is used instead of the GPU's, as a message; "" if it is not a replacement. */
const char *halo_encoder_instead(const struct halo_encoder *e);
void halo_encoder_set_instead(struct halo_encoder *e, const char *words);

AVRational halo_encoder_time_base(const struct halo_encoder *e);

/* Call before the first frame: packet times are relative to origin, a time in the input stream's
 * time base. Some encoders do not accept times that are far from 0. */
void halo_encoder_count_from(struct halo_encoder *e, int64_t origin);

/* The next frame becomes a keyframe, if the encoder supports that. */
void halo_encoder_force_key(struct halo_encoder *e);

/* Feeds a frame, whose pts is in the input stream's time base, or NULL at the end. The caller keeps
 * it. 0; 1 if the container counts frames and some are missing before this one: another frame was
 * sent in their place, and this one has to be sent again; -errno with err filled. Blocks while it
 * encodes. Encoders with `live` set do not fill gaps. */
int halo_encoder_send(struct halo_encoder *e, const struct halo_output_picture *picture,
                      struct halo_error *err);
/* 1: a packet in the encoder's time base; 0: more frames are needed, or the end; -errno. */
int halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err);

#endif
