/* SPDX-License-Identifier: BSD-2-Clause
 * A session with the source of a live stream, from opening it to its end: open, demux, decode.
 *
 * Owner: the source thread; no lock. */
#ifndef HALO_LIVE_INPUT_H
#define HALO_LIVE_INPUT_H

#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/camera/camera.h"
#include "pipeline/live/live_loop.h"
#include "pipeline/output/adts.h"

struct halo_decoder;
struct halo_live;
struct halo_orient;
struct halo_raw_picture;
struct halo_source;
struct halo_test_source;

struct halo_live_input {
    struct halo_source *source; /* NULL: a test pattern or a camera */
    struct halo_camera *camera;
    /* the camera's counts that the stream has already added to its own */
    struct halo_camera_counts counted;
    struct halo_orient *orient; /* NULL: frames are not rotated or mirrored */
    struct halo_decoder *decoder;
    struct halo_test_source *test;
    AVFormatContext *own; /* description, for test patterns and cameras */
    AVFormatContext *format;
    AVStream *video, *sound; /* sound NULL: no audio, or not wanted */
    AVBSFContext *adts;      /* removes the headers of copied AAC; NULL: it has none */
    struct halo_adts coded;  /* contents of the first of these headers */
    bool unlike;             /* the audio differs from what the outputs began with; logged */
    AVPacket *pkt;
    bool again;    /* it can be opened a second time meanwhile: halo_path_opens_again() */
    bool timeless; /* its timestamps are meaningless */
    bool refused;  /* by the GPU's decoder; recorded */
    bool absolute; /* its timestamps are those of CLOCK_MONOTONIC */
    bool unsure;   /* as in halo_gate_input */
    bool draining; /* the end was reached: the decoder returns the frames that it holds */
    struct halo_live_loop loop;
    int64_t spent;    /* ns spent in the decoder since the last frame */
    int64_t pictures; /* frames returned so far */
};

int halo_live_input_open(struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err);
/* Also accepts zeroed or partly opened ones. */
void halo_live_input_close(struct halo_live_input *in);
/* Sends a packet to the session's decoder, and counts the damage found by it. 0 or -errno. */
int halo_live_input_send(struct halo_live *live, struct halo_live_input *in, const AVPacket *pkt,
                         struct halo_error *err);
/* 1: a frame from the session's decoder; 0: it needs another packet; -errno with err filled. */
int halo_live_input_receive(struct halo_live *live, struct halo_live_input *in,
                            struct halo_raw_picture **ret, struct halo_error *err);
/* For a source that FFmpeg does not read: an empty format with one video stream, which the caller
 * fills in. 0 or -ENOMEM with err filled. */
int halo_live_input_describe(struct halo_live_input *in, struct halo_error *err);
/* 1: one of *ret_raw and *ret_sound is owned by the caller, the other is NULL; 0: the end, a stop
 * or the time limit; -errno with err filled. */
int halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                         struct halo_raw_picture **ret_raw, AVPacket **ret_sound,
                         struct halo_error *err);

#endif
