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
    struct halo_source *source; /* NULL: test, or a camera */
    struct halo_camera *camera;
    struct halo_camera_counts counted; /* of it, that the stream has counted */
    struct halo_orient *orient;        /* NULL: pictures stay as they are */
    struct halo_decoder *decoder;
    struct halo_test_source *test;
    AVFormatContext *own; /* of test and cameras: describes */
    AVFormatContext *format;
    AVStream *video, *sound; /* sound NULL: none, or not wanted */
    AVBSFContext *adts;      /* takes the headers off copied AAC; NULL: it has none */
    struct halo_adts coded;  /* what the first of those said */
    bool unlike;             /* the sound is not what outputs began with, and told */
    AVPacket *pkt;
    bool again;    /* it can be opened beside itself: halo_path_opens_again() */
    bool timeless; /* its times say nothing */
    bool refused;  /* by the GPU's decoder, and told */
    bool absolute; /* its times are CLOCK_MONOTONIC's */
    bool unsure;   /* as of halo_gate_input */
    bool draining; /* the end was reached: the decoder gives what it holds */
    struct halo_live_loop loop;
    int64_t spent;    /* ns that the decoder took since the last picture */
    int64_t pictures; /* given */
};

int halo_live_input_open(struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err);
void halo_live_input_close(struct halo_live_input *in); /* zeroed or half-open ones too */
/* A packet to the session's decoder; the damage that it meets is counted. 0 or -errno. */
int halo_live_input_send(struct halo_live *live, struct halo_live_input *in, const AVPacket *pkt,
                         struct halo_error *err);
/* 1: a picture of the session's decoder; 0: it needs another packet; -errno with err filled. */
int halo_live_input_receive(struct halo_live *live, struct halo_live_input *in,
                            struct halo_raw_picture **ret, struct halo_error *err);
/* Of a source that FFmpeg does not read: an empty format and its stream of pictures, which the
 * caller fills in. 0 or -ENOMEM with err filled. */
int halo_live_input_describe(struct halo_live_input *in, struct halo_error *err);
/* 1: one of *ret_raw and *ret_sound is the caller's, the other NULL; 0: the end, a stop or the time
 * limit; -errno with err filled. */
int halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                         struct halo_raw_picture **ret_raw, AVPacket **ret_sound,
                         struct halo_error *err);

#endif
