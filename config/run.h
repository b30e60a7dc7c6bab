/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of `halod run`: const once parsed. */
#ifndef HALO_RUN_SETTINGS_H
#define HALO_RUN_SETTINGS_H

#include <stdbool.h>

#include "config/base/error.h"
#include "config/detectors.h"
#include "config/device.h"
#include "config/option.h"
#include "config/source.h"

extern const char *const halo_log_levels[]; /* indexed by enum halo_log_level */

struct halo_run_settings {
    struct halo_source_settings source; /* the input (-i) and how to read it */
    struct halo_source_part part;
    struct halo_device_settings device;
    char *output;                                       /* the last argument */
    char *output_format;                                /* -f after -i */
    char *filters;                                      /* -vf */
    char *video_codec;                                  /* -c:v */
    char *audio_codec;                                  /* -c:a */
    char *bitrate;                                      /* -b:v, FFmpeg's number syntax */
    char *crf, *preset;                                 /* passed to the encoder unchanged */
    char *map_metadata;                                 /* "-1" drops metadata and chapters */
    char *progress;                                     /* a file, or "-" */
    char *stats_json, *trace;                           /* names of files */
    char *capture_format;                               /* pixel format of a camera's frames */
    char *detector_keys[HALO_FINDS];                    /* -faces and -people as given, or NULL */
    struct halo_detector_settings detector[HALO_FINDS]; /* parsed from them, with defaults */
    char *gpu_name;                                     /* -gpu as given, or NULL */
    bool overwrite, never_overwrite, copy_unfiltered, keep_going, stats;
    bool segments, resume; /* `resume` sets `segments`, too */
    double segment_time;   /* seconds */
    char *workers_name;    /* -workers as given, or NULL */
    int workers;           /* segments that are encoded at the same time; 0: chosen */
    int decoders;          /* for each video stream; 0: chosen */
    int pinned_memory;     /* MiB of memory that may be page-locked; negative: not given */
    int log_level;         /* enum halo_log_level */
};

/* all options except -f, which exists twice: for IN and for OUT */
extern const struct halo_option halo_run_options[];

/* Parses the arguments after "run". -f selects the demuxer if it comes before -i, and otherwise the
 * muxer. Returns 0 (the caller finishes *ret) or -EINVAL with err filled (usage: exit 64; *ret is
 * unchanged). */
int halo_run_parse(struct halo_run_settings *ret, int argc, char **argv, struct halo_error *err);
void halo_run_finish(struct halo_run_settings *settings);
/* Prints --help of the command `name`, which is run or plan: both have the same arguments. */
void halo_run_print_help(const char *name);

#endif
