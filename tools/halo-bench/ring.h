/* SPDX-License-Identifier: BSD-2-Clause
 * The results of halo-bench --ring, and how they are printed. Only one thread may print. */
#ifndef HALO_BENCH_RING_H
#define HALO_BENCH_RING_H

#include "tools/halo-bench/settings.h"

/* Data about the whole run. */
struct halo_bench_ring_run {
    const struct halo_bench_settings *settings;
    char device[256]; /* the backend's description of its device */
    int rows;         /* number of rows reported so far */
};

enum halo_bench_ring_kind {
    HALO_BENCH_COPY_UP, /* plain copies to the device, without filters; the rate of these copies is
                         * the upper limit */
    HALO_BENCH_COPY_DOWN,
    HALO_BENCH_COPY_BOTH,
    HALO_BENCH_DEPTH,   /* frames through the lanes of one stream, as fast as possible */
    HALO_BENCH_ALONE,   /* one frame at a time, each on an idle machine */
    HALO_BENCH_STREAMS, /* several streams at the same time, each with its own lanes */
};

/* One row of the results. Fields that do not apply to this kind of row are 0. */
struct halo_bench_ring_row {
    enum halo_bench_ring_kind kind;
    const struct halo_bench_pixels *pixels;
    int width, height;
    size_t bytes; /* size of a frame, which is copied in each direction */
    int depth, streams;
    int frames;        /* number of frames that were timed */
    double rate;       /* frames per second of all streams together (the median over all turns) */
    double up, down;   /* GB/s */
    double wall;       /* the rate divided by the rate of plain copies in both directions, measured
                        * in the same turn */
    double submit_us;  /* mean time that the host needs to start a frame */
    double cpu_us;     /* mean CPU time per frame, of all threads */
    double kernels_us; /* mean time of the kernels on the device, per frame */
    double p50_us, p99_us, max_us; /* time from the call of submit to the return of finish */
    int late; /* only if paced: number of frames that were not finished when the next one was due */
};

struct halo_bench_ring_report {
    void (*begin)(const struct halo_bench_ring_run *run);
    /* first is true for the first row of each format and size. */
    void (*row)(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *row,
                bool first);
    void (*end)(const struct halo_bench_ring_run *run);
};

const struct halo_bench_ring_report *halo_bench_ring_report_of(enum halo_bench_format format);

#endif
