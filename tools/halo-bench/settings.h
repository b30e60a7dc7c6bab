/* SPDX-License-Identifier: BSD-2-Clause
 * The command line of halo-bench. Settings do not change once they are parsed. */
#ifndef HALO_BENCH_SETTINGS_H
#define HALO_BENCH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"

enum {
    HALO_BENCH_MAX_STRATEGIES = 32,
    HALO_BENCH_MAX_DEPTH = 16, /* maximum number of lanes in a ring */
    HALO_BENCH_MAX_STEPS = 4,  /* maximum number of filters in a ring's chain */
    HALO_BENCH_MAX_LIST = 16,
    HALO_BENCH_NO_DEVICE = 77, /* exit code if no device can be used; tests count it as skipped */
};

enum halo_bench_mode {
    HALO_BENCH_GRID, /* time every combination of strategy, mask and depth */
    HALO_BENCH_LIST,
    HALO_BENCH_REUSE,
    HALO_BENCH_PEERS,
    HALO_BENCH_TUNE,
    HALO_BENCH_RING,
};

enum halo_bench_frame { HALO_BENCH_PLANE, HALO_BENCH_YUV420 };

enum halo_bench_format { HALO_BENCH_TABLE, HALO_BENCH_CSV, HALO_BENCH_JSON };

/* A pixel format, with FFmpeg's name for it. */
struct halo_bench_pixels {
    const char *name;
    int planes, chroma_channels;
    int shift_x, shift_y; /* log2 of chroma's subsampling */
    int depth, shift;     /* the same as in struct halo_plane */
};

struct halo_bench_settings {
    /* Values of the options. The strings are owned by this struct. */
    bool list, reuse, peers, tune, ring, csv, json;
    char *backend_name, *size, *mask_list, *strategy_list, *plot;
    char *format_list, *depth_list, *stream_list;
    int channels, threads, device, rounds, planes, launch, frame;
    double limit;       /* approximate maximum time for one measurement, in seconds; 0: not given */
    int alone;          /* number of frames that are timed singly, one after the other */
    double fps;         /* frame rate of each stream; 0: as fast as possible */
    double region_part; /* percentage of each plane; negative: no region */

    uint64_t given; /* a bit for each option, in their order, set if it was given */

    /* Values derived from the options. */
    enum halo_bench_mode mode;
    enum halo_bench_format format;
    const struct halo_backend_ops *backend;
    int width, height;
    struct halo_rect
        region; /* rectangle in the middle of the plane, with region_part percent of its pixels */
    struct halo_bench_mask masks[HALO_BENCH_MAX_MASKS];
    int mask_count;
    /* A strategy that is NULL means auto, the backend's own choice. */
    const struct halo_strategy *strategies[HALO_BENCH_MAX_STRATEGIES];
    int strategy_count;
    const struct halo_bench_pixels *formats[HALO_BENCH_MAX_LIST];
    int depths[HALO_BENCH_MAX_LIST], streams[HALO_BENCH_MAX_LIST];
    int format_count, depth_count, stream_count;
    bool strategies_named; /* the user named them, so unsuitable ones are reported, not skipped */
};

/* Parses the arguments after the program's name. Returns 0, and the caller must pass *ret to
 * halo_bench_finish(); or, without changing *ret, returns -EINVAL (a usage error, with err filled)
 * or -ENOMEM. If no backend is named, asks the driver which devices exist; this may block. Opens no
 * device. */
int halo_bench_parse(struct halo_bench_settings *ret, int argc, char **argv,
                     struct halo_error *err);
void halo_bench_finish(struct halo_bench_settings *settings);
void halo_bench_print_help(void);
/* Prints the bash completion script that packages install. */
void halo_bench_print_completion(void);

/* Returns the name of a launch of struct halo_trial: "one-by-one", "graph", "together" or
 * "apart". */
const char *halo_bench_launch_name(int launch);
/* Returns "plane" or "yuv420". */
const char *halo_bench_frame_name(int frame);

#endif
