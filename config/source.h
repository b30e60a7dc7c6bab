/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of a source, common to `halod run` and the daemon's streams. Const once loaded. Strings
 * are owned by the settings that contain them; NULL means not given. */
#ifndef HALO_SOURCE_SETTINGS_H
#define HALO_SOURCE_SETTINGS_H

#include <stdbool.h>

/* 8192x8192, twice as many pixels as 8K. A frame of that size needs 96 MiB in 8-bit 4:2:0, and a
 * decoder keeps several frames. */
enum { HALO_MAX_PIXELS = 1 << 26 };

struct halo_source_settings {
    char *input;     /* file, URL, camera or "test:" (test:size=WxH:rate=N) */
    const char *url; /* the URL to open if it differs from input; not owned; NULL: input */
    char *format;    /* name of FFmpeg's demuxer */
    bool alone;      /* a file that strangers may have made: it is read by demuxers that open no
                      * other file, and leads to no URL */
    int max_pixels;  /* largest number of pixels in a decoded frame */
    /* Only for `halod run`: */
    char *video_size, *framerate, *pixel_format; /* for the demuxer; the first two also for
                                                  * cameras */
    bool no_audio;
};

/* The part of a file to read, in seconds; negative: not given. */
struct halo_source_part {
    double seek, duration; /* -ss, -t */
};

#endif
