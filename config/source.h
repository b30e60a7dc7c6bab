/* SPDX-License-Identifier: BSD-2-Clause
 * Which source is read, as `halod run` and the streams of the daemon have it. Const once loaded;
 * strings are owned by the settings that contain it; NULL: not given. */
#ifndef HALO_SOURCE_SETTINGS_H
#define HALO_SOURCE_SETTINGS_H

#include <stdbool.h>

/* 8192x8192, twice what 8K has. A picture of 4:2:0 with 8 bits takes 96 MiB then, and a decoder
 * keeps several. */
enum { HALO_MAX_PIXELS = 1 << 26 };

struct halo_source_settings {
    char *input;     /* file, URL, camera or "test:" (test:size=WxH:rate=N) */
    const char *url; /* what is opened, where input only names it; not owned; NULL: input */
    char *format;    /* of FFmpeg's demuxer */
    int max_pixels;  /* of a picture that is decoded */
    /* Of `halod run` alone: */
    char *video_size, *framerate, *pixel_format; /* for the demuxer; the first two: the camera */
    bool no_audio;
};

/* The part of a file that is read, in seconds; negative: not given. */
struct halo_source_part {
    double seek, duration; /* -ss, -t */
};

#endif
