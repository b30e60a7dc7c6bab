/* SPDX-License-Identifier: BSD-2-Clause
 * Whole frames in host memory, sent through the lanes of a ring as halod sends them: submit to each
 * lane in turn, and wait for the frame that was in it. */
#ifndef HALO_BENCH_LANES_H
#define HALO_BENCH_LANES_H

#include "kernels/frame.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/settings.h"

/* The format and size of frames, and the steps that filter them. Const while lanes use it. */
struct halo_bench_way {
    const struct halo_bench_pixels *pixels;
    int width, height;
    struct halo_conv *convs; /* owned; those of luma, then those of chroma */
    struct halo_step step[2][HALO_BENCH_MAX_STEPS];
    int steps;
    size_t bytes; /* of a frame's samples */
    size_t room;  /* bytes, including halod's padding of rows and planes */
};

struct halo_bench_lane {
    struct halo_backend *backend;
    char *src, *dst; /* way->room bytes each, allocated by the backend */
    struct halo_frame frame;
};

/* The lanes of one stream; used by one thread at a time. */
struct halo_bench_lanes {
    const struct halo_bench_way *way;
    struct halo_bench_lane lane[HALO_BENCH_MAX_DEPTH];
    int count;
};

/* Times of one run of frames. */
struct halo_bench_pass {
    int frames;
    double seconds;
    double submit_us;  /* mean time in submit: the host's work to start a frame */
    double kernels_us; /* paced: mean time of the kernels on the device; 0: not measured */
    int late;          /* paced: frames that were not finished when the next one was due */
    double *us; /* paced: from submit to the end of finish, per frame; caller's memory, or NULL */
};

/* Plans the masks of the settings as consecutive steps, for every plane: chroma of half the width
 * gets masks of half the width. 0, -ENOMEM, or -ERANGE (no number format can represent a mask). */
int halo_bench_way_init(struct halo_bench_way *ret, const struct halo_bench_settings *settings,
                        const struct halo_bench_pixels *pixels, int width, int height);
void halo_bench_way_finish(struct halo_bench_way *way);

/* Opens count lanes, each with its own memory, filled with noise. 0, or an exit code after the
 * error has been reported. */
int halo_bench_lanes_open(struct halo_bench_lanes *ret, const struct halo_bench_settings *settings,
                          const struct halo_bench_way *way, int count);
void halo_bench_lanes_close(struct halo_bench_lanes *lanes);

/* Filters frames as fast as possible, in the first depth lanes. 0 or -errno, such as -EIO.
 * Blocks. */
int halo_bench_lanes_run(struct halo_bench_lanes *lanes, int depth, int frames,
                         struct halo_bench_pass *ret);

/* Filters one frame at a time, each when it is due: the first after offset seconds, then fps per
 * second. ret->seconds ends when the frame after the last one would be due, or when the last one is
 * finished, whichever is later. */
int halo_bench_lanes_pace(struct halo_bench_lanes *lanes, double fps, double offset, int frames,
                          struct halo_bench_pass *ret);

double halo_bench_now(void);      /* seconds, monotonic */
double halo_bench_cpu_time(void); /* seconds, of all threads of the process */

#endif
