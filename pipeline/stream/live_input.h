/* SPDX-License-Identifier: BSD-2-Clause
 * A session with the source of a live stream, from opening the source to its end: open, demux,
 * decode.
 *
 * Owner: the source thread; no lock is needed. */
#ifndef HALO_LIVE_INPUT_H
#define HALO_LIVE_INPUT_H

#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/camera/camera.h"
#include "pipeline/stream/live_loop.h"
#include "pipeline/output/adts.h"

struct halo_decoder;
struct halo_live;
struct halo_orient;
struct halo_raw_frame;
struct halo_source;
struct halo_test_source;

struct halo_live_input {
    struct halo_source *source; /* NULL if the input is a test pattern or a camera */
    struct halo_camera *camera;
    /* the camera's counts at the time when they were last added to the stream's counts */
    struct halo_camera_counts counted;
    struct halo_orient *orient; /* NULL: frames are not rotated or mirrored */
    struct halo_decoder *decoder;
    struct halo_test_source *test;
    AVFormatContext *own; /* describes the frames of a test pattern or camera */
    AVFormatContext *format;
    AVStream *video, *sound; /* sound is NULL if the source has no audio or no encoding uses it */
    AVBSFContext *adts;      /* removes the ADTS headers of AAC audio that is copied; NULL if the
                                audio has no such headers */
    struct halo_adts coded;  /* contents of the first ADTS header */
    /* the audio differs from the audio at the start of the outputs, and this was logged */
    bool unlike;
    AVPacket *pkt;
    /* the source can be opened a second time while it is open: halo_path_opens_again() */
    bool again;
    bool timeless; /* the source's timestamps are meaningless */
    bool refused;  /* the GPU's decoder refused the video, and this was recorded */
    bool absolute; /* the source's timestamps are those of CLOCK_MONOTONIC */
    bool unsure;   /* like the field `unsure` of struct halo_gate_input */
    bool draining; /* the input has ended, and the decoder returns the frames that it still holds */
    struct halo_live_loop loop;
    int64_t spent;  /* time spent in the decoder since the last frame, in ns */
    int64_t frames; /* frames returned so far */
};

int halo_live_input_open(struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err);
/* Closes a session. Also accepts a session that is zeroed or only partly open. */
void halo_live_input_close(struct halo_live_input *in);
/* Sends a packet to the session's decoder and counts the damage that the decoder finds. Returns 0,
 * or -errno with err filled. */
int halo_live_input_send(struct halo_live *live, struct halo_live_input *in, const AVPacket *pkt,
                         struct halo_error *err);
/* Receives a frame from the session's decoder. Returns 1 with *ret filled, 0 if the decoder needs
 * another packet, or -errno with err filled. */
int halo_live_input_receive(struct halo_live *live, struct halo_live_input *in,
                            struct halo_raw_frame **ret, struct halo_error *err);
/* Creates an empty format context for a source that FFmpeg does not read. It has one video stream,
 * which the caller fills in. Returns 0, or -ENOMEM with err filled. */
int halo_live_input_describe(struct halo_live_input *in, struct halo_error *err);
/* Reads a frame or an audio packet. Returns 1 with either *ret_raw or *ret_sound set; the caller
 * then owns it, and the other is NULL. Returns 0 at the end of the input, after a stop and at the
 * time limit. On an error, returns -errno with err filled. */
int halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                         struct halo_raw_frame **ret_raw, AVPacket **ret_sound,
                         struct halo_error *err);

/* Returns whether the source has sent nothing for longer than `input_timeout`. Source thread. */
bool halo_live_is_late(const struct halo_live *live);
/* Fills err with these words, whatever it had, and returns -ETIMEDOUT. */
int halo_live_fail_late(const struct halo_live *live, struct halo_error *err);

#endif
