/* SPDX-License-Identifier: BSD-2-Clause
 * What halo-bench --ring measures, and how it is printed. One thread. */
#ifndef HALO_BENCH_RING_H
#define HALO_BENCH_RING_H

#include "tools/halo-bench/settings.h"

/* What holds for the whole run. */
struct halo_bench_ring_run {
    const struct halo_bench_settings *settings;
    char device[256]; /* as the backend describes it */
    int rows;         /* that have been reported */
};

enum halo_bench_ring_kind {
    HALO_BENCH_COPY_UP, /* the wall: copies alone */
    HALO_BENCH_COPY_DOWN,
    HALO_BENCH_COPY_BOTH,
    HALO_BENCH_DEPTH,   /* frames through one stream's lanes */
    HALO_BENCH_ALONE,   /* one frame at a time, the machine idle before it */
    HALO_BENCH_STREAMS, /* several streams, each with lanes of its own */
};

/* One line. Figures that a kind does not have are 0. */
struct halo_bench_ring_row {
    enum halo_bench_ring_kind kind;
    const struct halo_bench_pixels *pixels;
    int width, height;
    size_t bytes; /* of a frame, each way */
    int depth, streams;
    int frames;        /* that were timed */
    double rate;       /* frames a second, all streams together: median of the turns */
    double up, down;   /* GB/s */
    double wall;       /* rate, as a part of that of copies both ways in the same turn */
    double submit_us;  /* of the host, to start a frame: mean */
    double cpu_us;     /* of all threads, for a frame: mean */
    double kernels_us; /* on the device, of one frame: mean */
    double p50_us, p99_us, max_us; /* from submit to the end of finish */
    int late;                      /* paced: not done before the next frame was due */
};

struct halo_bench_ring_report {
    void (*begin)(const struct halo_bench_ring_run *run);
    /* first: of a format and size. */
    void (*row)(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *row,
                bool first);
    void (*end)(const struct halo_bench_ring_run *run);
};

const struct halo_bench_ring_report *halo_bench_ring_report_of(enum halo_bench_format format);

#endif
