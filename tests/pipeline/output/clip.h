/* SPDX-License-Identifier: BSD-2-Clause
 * A clip of encoded packets for tests, as a live stream gives them, and what is in files. Failures
 * end the test. */
#ifndef HALO_TEST_CLIP_H
#define HALO_TEST_CLIP_H

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "pipeline/stream/live.h"
#include "pipeline/output/output.h"

enum {
    CLIP_RATE = 25, /* frames a second; a key frame each second */
    CLIP_MAX = 2048,
};

struct clip {
    AVCodecParameters *video, *audio;
    AVPacket *pkt[CLIP_MAX]; /* in the order of time, us */
    int count, frames;
    uint32_t hash[CLIP_MAX]; /* of each frame, decoded */
    struct halo_encoding_parameters begin;
};

/* seconds of H.264 (width x 96) and AAC. NULL: FFmpeg has no libx264. */
struct clip *clip_create(int seconds, int width, int bframes);
void clip_destroy(struct clip *clip);
/* An output that has begun with it. */
struct halo_output *clip_open_output(const struct clip *clip,
                                     const struct halo_output_settings *settings);
/* Waits until so many packets are written, or fails. */
void clip_wait_written(struct halo_output *output, int packets);
/* The same, and ends the output, which drops what it has not written in a few seconds. */
void clip_end_output(struct halo_output *output, int packets);

struct content {
    int frames, sounds;
    uint32_t hash[CLIP_MAX];
    double first, last; /* times of frames, seconds */
    double first_sound;
    int damaged;
};
/* Of a file, added to what is there; times are the last file's. 0, or -1: FFmpeg does not open
 * it. */
int content_add(struct content *content, const char *path);

#endif
