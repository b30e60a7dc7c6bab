/* SPDX-License-Identifier: BSD-2-Clause
 * Sends whole frames in host memory through the lanes of a ring as halod does: a frame is submitted
 * to each lane in turn, after waiting for the frame that was in that lane. */
#ifndef HALO_BENCH_LANES_H
#define HALO_BENCH_LANES_H

#include "kernels/frame.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/settings.h"

/* The format and size of frames, and the steps that filter them. Must not change while lanes use
 * it. */
struct halo_bench_way {
    const struct halo_bench_pixels *pixels;
    int width, height;
    struct halo_conv *convs; /* owned: the convolutions of luma, then those of chroma */
    struct halo_step step[2][HALO_BENCH_MAX_STEPS];
    int steps;
    size_t bytes; /* size of a frame's samples */
    size_t room;  /* size of a frame with halod's padding of rows and planes */
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

/* Times measured in one run of frames. */
struct halo_bench_pass {
    int frames;
    double seconds;
    double submit_us;  /* mean time that the host needs to start a frame (submit) */
    double kernels_us; /* only if paced: mean time of the kernels on the device; 0: unknown */
    int late;          /* only if paced: number of frames that were not finished when the next one
                        * was due */
    /* only if paced: the time of each frame from submit to the end of finish; the caller's memory,
     * or NULL */
    double *us;
};

/* Plans the masks of the settings as consecutive steps for every plane; half-width chroma gets
 * half-width masks. Returns 0, -ENOMEM, or -ERANGE (if no number format can represent a mask). */
int halo_bench_way_init(struct halo_bench_way *ret, const struct halo_bench_settings *settings,
                        const struct halo_bench_pixels *pixels, int width, int height);
void halo_bench_way_finish(struct halo_bench_way *way);

/* Opens count lanes, each with its own memory, which is filled with noise. Returns 0, or reports
 * the error and returns an exit code. */
int halo_bench_lanes_open(struct halo_bench_lanes *ret, const struct halo_bench_settings *settings,
                          const struct halo_bench_way *way, int count);
void halo_bench_lanes_close(struct halo_bench_lanes *lanes);

/* Filters the given number of frames as fast as possible, using only the first `depth` lanes.
 * Blocks. Returns 0, or -errno, such as -EIO. */
int halo_bench_lanes_run(struct halo_bench_lanes *lanes, int depth, int frames,
                         struct halo_bench_pass *ret);

/* Filters one frame at a time, each when it is due: the first after offset seconds, then fps frames
 * per second. ret->seconds is measured until the next frame after the last one would be due, or
 * until the last one is finished, whichever is later. Returns 0 or -errno. Blocks. */
int halo_bench_lanes_pace(struct halo_bench_lanes *lanes, double fps, double offset, int frames,
                          struct halo_bench_pass *ret);

double halo_bench_now(void);      /* current time in seconds, monotonic */
double halo_bench_cpu_time(void); /* CPU time of all threads of the process, in seconds */

#endif
