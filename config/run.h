/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of `halod run`: const once parsed. */
#ifndef HALO_RUN_SETTINGS_H
#define HALO_RUN_SETTINGS_H

#include <stdbool.h>

#include "config/error.h"
#include "config/option.h"

/* Words of -backend: "auto", and the backends' names. */
extern const char *const halo_run_backends[];
extern const char *const halo_run_hwaccels[]; /* by enum halo_hwaccel */
extern const char *const halo_log_levels[];   /* by enum halo_log_level */

/* -hwaccel */
enum halo_hwaccel {
    HALO_HWACCEL_AUTO,
    HALO_HWACCEL_CUDA,
    HALO_HWACCEL_NONE,
};

/* 8192x8192, twice what 8K has. A picture of 4:2:0 with 8 bits takes 96 MiB then, and a decoder
 * keeps several. */
enum { HALO_MAX_PIXELS = 1 << 26 };

struct halo_run_settings {
    char *input;         /* -i */
    const char *url;     /* what is opened, where input only names it; not owned; NULL: input */
    char *output;        /* last word */
    char *input_format;  /* -f before -i */
    char *output_format; /* -f after -i */
    char *filters;       /* -vf */
    char *video_codec;   /* -c:v */
    char *audio_codec;   /* -c:a */
    char *bitrate;       /* -b:v, FFmpeg's number syntax */
    char *crf, *preset;  /* passed to the encoder as they are */
    char *map_metadata;  /* "-1" drops metadata and chapters */
    char *progress;      /* file, or "-" */
    char *stats_json, *trace;                    /* files */
    char *video_size, *framerate, *pixel_format; /* for the demuxer; the first two: the camera */
    char *capture_format;                        /* of a camera's pictures */
    double seek, duration;                       /* -ss, -t: seconds; negative where not given */
    bool no_audio, overwrite, never_overwrite, copy_unfiltered, keep_going, stats;
    int backend;        /* index into halo_run_backends */
    int hwaccel;        /* enum halo_hwaccel */
    char *gpu_name;     /* -gpu as given, or NULL */
    int gpu;            /* number of the device; negative: the one with most to spare */
    int depth;          /* frames in flight on it */
    int threads;        /* filter workers; 0: one for each CPU */
    int max_pixels;     /* of a picture that is decoded */
    int pinned_memory;  /* MiB that may be page-locked; negative where not given */
    double gpu_timeout; /* seconds that a frame may take there */
    int log_level;      /* enum halo_log_level */
};

extern const struct halo_option halo_run_options[]; /* every row but IN's and OUT's -f */

/* Parses the words after "run". -f is the demuxer's before -i and the muxer's after it. 0; -EINVAL
 * with err in words (usage: exit 64); *ret is untouched then. The caller finishes *ret. */
int halo_run_parse(struct halo_run_settings *ret, int argc, char **argv, struct halo_error *err);
void halo_run_finish(struct halo_run_settings *settings);
void halo_run_print_help(void);

#endif
