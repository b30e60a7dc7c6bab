/* SPDX-License-Identifier: BSD-2-Clause
 * Results of halo-bench --ring, and their output. One thread. */
#ifndef HALO_BENCH_RING_H
#define HALO_BENCH_RING_H

#include "tools/halo-bench/settings.h"

/* Data of the whole run. */
struct halo_bench_ring_run {
    const struct halo_bench_settings *settings;
    char device[256]; /* as the backend describes it */
    int rows;         /* reported so far */
};

enum halo_bench_ring_kind {
    HALO_BENCH_COPY_UP, /* the bound: copies without filters */
    HALO_BENCH_COPY_DOWN,
    HALO_BENCH_COPY_BOTH,
    HALO_BENCH_DEPTH,   /* frames through one stream's lanes */
    HALO_BENCH_ALONE,   /* one frame at a time, the machine idle before it */
    HALO_BENCH_STREAMS, /* several streams, each with lanes of its own */
};

/* One row. Values that a kind does not have are 0. */
struct halo_bench_ring_row {
    enum halo_bench_ring_kind kind;
    const struct halo_bench_pixels *pixels;
    int width, height;
    size_t bytes; /* of a frame, in each direction */
    int depth, streams;
    int frames;        /* number timed */
    double rate;       /* frames per second, all streams together: median of the turns */
    double up, down;   /* GB/s */
    double wall;       /* rate, relative to that of copies in both directions in the same turn */
    double submit_us;  /* mean time of the host to start a frame */
    double cpu_us;     /* mean CPU time of all threads per frame */
    double kernels_us; /* mean time on the device per frame */
    double p50_us, p99_us, max_us; /* from submit to the end of finish */
    int late;                      /* paced: frames not finished when the next one was due */
};

struct halo_bench_ring_report {
    void (*begin)(const struct halo_bench_ring_run *run);
    /* first: the first row of a format and size. */
    void (*row)(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *row,
                bool first);
    void (*end)(const struct halo_bench_ring_run *run);
};

const struct halo_bench_ring_report *halo_bench_ring_report_of(enum halo_bench_format format);

#endif
