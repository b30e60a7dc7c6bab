/* SPDX-License-Identifier: BSD-2-Clause
 * Whole frames in host memory, sent through the lanes of a ring as halod sends them: submit to each
 * lane in turn, and wait for the frame that was in it. */
#ifndef HALO_BENCH_LANES_H
#define HALO_BENCH_LANES_H

#include "kernels/frame.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/settings.h"

/* Frames of one format and size, and what is done to them. Const while lanes use it. */
struct halo_bench_way {
    const struct halo_bench_pixels *pixels;
    int width, height;
    struct halo_conv *convs; /* owned; of luma, then of chroma */
    struct halo_step step[2][HALO_BENCH_MAX_STEPS];
    int steps;
    size_t bytes; /* samples of a frame */
    size_t room;  /* the same with the gaps between rows and planes that halod's pictures have */
};

struct halo_bench_lane {
    struct halo_backend *backend;
    char *src, *dst; /* memory of the backend, way->room bytes each */
    struct halo_frame frame;
};

/* The lanes of one stream; used by one thread at a time. */
struct halo_bench_lanes {
    const struct halo_bench_way *way;
    struct halo_bench_lane lane[HALO_BENCH_MAX_DEPTH];
    int count;
};

/* What one run of frames took. */
struct halo_bench_pass {
    int frames;
    double seconds;
    double submit_us;  /* mean time in submit: what the host spends to start a frame */
    double kernels_us; /* paced: mean time of the kernels on the device; 0: nobody measured it */
    int late;          /* paced: frames that were not done before the next one was due */
    double *us; /* paced: from submit to the end of finish, for each; the caller's, or NULL */
};

/* Plans settings' masks, one step after the other, for every plane: chroma of half the width gets
 * masks of half the width. 0, -ENOMEM, or -ERANGE (no number format holds a mask). */
int halo_bench_way_init(struct halo_bench_way *ret, const struct halo_bench_settings *settings,
                        const struct halo_bench_pixels *pixels, int width, int height);
void halo_bench_way_finish(struct halo_bench_way *way);

/* Opens count lanes with memory of their own, filled with noise. 0, or an exit code, said. */
int halo_bench_lanes_open(struct halo_bench_lanes *ret, const struct halo_bench_settings *settings,
                          const struct halo_bench_way *way, int count);
void halo_bench_lanes_close(struct halo_bench_lanes *lanes);

/* As fast as they can, through the first depth lanes. 0 or -EIO ... Blocks. */
int halo_bench_lanes_run(struct halo_bench_lanes *lanes, int depth, int frames,
                         struct halo_bench_pass *ret);

/* One frame at a time, each at its time: the first after offset seconds, then fps each second. The
 * time that it took is until the next frame would be due, or until the last one is done, where that
 * is later. */
int halo_bench_lanes_pace(struct halo_bench_lanes *lanes, double fps, double offset, int frames,
                          struct halo_bench_pass *ret);

double halo_bench_now(void);      /* seconds, monotonic */
double halo_bench_cpu_time(void); /* seconds, of all threads of the process */

#endif
