/* SPDX-License-Identifier: BSD-2-Clause
 * Results on standard output, as a table, as CSV or as JSON. A form is a row of functions; a new
 * one is a file and a row in report.c. One thread. */
#ifndef HALO_BENCH_REPORT_H
#define HALO_BENCH_REPORT_H

#include "tools/halo-bench/measure.h"
#include "tools/halo-bench/settings.h"

/* What holds for the whole run. */
struct halo_bench_run {
    const struct halo_bench_settings *settings;
    char device[256]; /* as the backend describes it */
    char peer[160];   /* of --peers, or "" */
    int rows;         /* that have been reported */
};

/* One line of it. */
struct halo_bench_result {
    char name[80]; /* of the strategy or peer; "copy" */
    struct halo_bench_mask mask;
    int depth;
    int rounds, planes;         /* 0 rounds: nothing was timed, note says why */
    struct halo_bench_stats us; /* for a plane */
    double copy_us;             /* median of the copy beside it; 0 where there is none */
    char note[160];
};

struct halo_bench_report {
    void (*begin)(const struct halo_bench_run *run);
    /* first: of a mask at a depth. */
    void (*row)(const struct halo_bench_run *run, const struct halo_bench_result *r, bool first);
    void (*end)(const struct halo_bench_run *run);
};

const struct halo_bench_report *halo_bench_report_of(enum halo_bench_format format);

/* Written as a string of CSV or JSON, quotes and all. */
void halo_bench_csv_string(const char *text);
void halo_bench_json_string(const char *text);

#endif
