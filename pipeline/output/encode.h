/* SPDX-License-Identifier: BSD-2-Clause
 * A video encoder: it receives output frames and returns packets. Use it from one thread at a
 * time. */
#ifndef HALO_ENCODE_H
#define HALO_ENCODE_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/input/hdr.h"

struct halo_output_frame;
struct halo_encoder;

/* Properties of the frames to encode. The colours and geometry of the frames come from the input
 * stream. */
struct halo_encoder_input {
    enum AVPixelFormat format; /* native format, in which the gate releases frames */
    int width, height;
    AVStream *stream;     /* the input stream */
    AVRational framerate; /* 0/1: unknown */
    AVRational aspect;    /* sample aspect ratio */
    struct halo_hdr hdr;
    int gpu; /* number of the GPU, for a hardware encoder */
    /* The hardware encoder's device; NULL: a software encoder. `device` and `frames` must stay
     * valid until halo_encoder_open() returns. */
    AVBufferRef *device;
    AVBufferRef *frames; /* the pool of frames in the device's memory; NULL: frames are in host
                            memory */
};

/* Settings of the encoder. If everything except the container is zero, the encoder's defaults are
 * used. The strings need to stay valid only until halo_encoder_open() returns. */
struct halo_encoder_settings {
    const AVOutputFormat *container;    /* the container that will store the packets */
    const char *bitrate, *crf, *preset; /* as the user wrote them; NULL: the encoder's default */
    int width, height;                  /* size of the encoded frames; 0: the size of the input
                                           frames */
    int gop;                            /* largest distance between keyframes, in frames; 0: the
                                           encoder's default */
    int threads;                        /* 0: chosen by the encoder; with another number, its output
                                           does not depend on the machine */
    bool live;  /* no frame waits for a later one; groups of frames are closed, and keyframes
                   can be forced */
    bool jpeg;  /* samples use the full range, as in JPEG files */
    int chroma; /* enum halo_chroma of config/daemon.h; used only if live is set */
};

/* Opens the encoder `codec` with these settings. Returns 0, a usage error (for an option that the
 * encoder refuses) or -errno, with err filled. The caller owns *ret. */
int halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                      const struct halo_encoder_settings *settings,
                      const struct halo_encoder_input *input, struct halo_error *err);
void halo_encoder_close(struct halo_encoder *e); /* accepts NULL */

/* Fills the output stream's codec parameters, time base and frame rate. Returns 0 or -ENOMEM. */
int halo_encoder_describe(const struct halo_encoder *e, AVStream *out);

/* Returns whether frames are converted, on the host, to another pixel format for the encoder. */
bool halo_encoder_converts(const struct halo_encoder *e);

const char *halo_encoder_name(const struct halo_encoder *e); /* as in FFmpeg */
/* Returns the format of the frames that the encoder receives, after a conversion. */
enum AVPixelFormat halo_encoder_format(const struct halo_encoder *e);

/* Returns whether the encoder runs on a device. */
bool halo_encoder_in_hardware(const struct halo_encoder *e);

/* halo_encoder_instead() returns a message that explains why this encoder is used instead of the
 * GPU's, or "" if this encoder is not a replacement. halo_encoder_set_instead() sets that
 * message. */
const char *halo_encoder_instead(const struct halo_encoder *e);
void halo_encoder_set_instead(struct halo_encoder *e, const char *words);

AVRational halo_encoder_time_base(const struct halo_encoder *e);

/* Makes packet times relative to origin, a time in the input stream's time base, because some
 * encoders do not accept times that are far from 0. Call this before the first frame. */
void halo_encoder_count_from(struct halo_encoder *e, int64_t origin);

/* Makes the next frame a keyframe, if the encoder supports that. */
void halo_encoder_force_key(struct halo_encoder *e);

/* Sends a frame, whose pts is in the input stream's time base, or NULL at the end. The frame still
 * belongs to the caller. Returns 0 if the frame was sent, or -errno with err filled. Returns 1 if
 * the function sent another frame instead, to fill a gap before this one; the caller then has to
 * send this frame again. Gaps are filled only if the container counts frames and the setting `live`
 * is off. Blocks while a frame is being encoded. */
int halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                      struct halo_error *err);
/* Returns 1 with a packet in the encoder's time base; 0 if more frames are needed, or at the end;
 * or -errno with err filled. */
int halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err);

#endif
