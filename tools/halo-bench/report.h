/* SPDX-License-Identifier: BSD-2-Clause
 * Prints results to standard output as a table, CSV or JSON. Each format is a row of functions in
 * report.c. Only one thread may print. */
#ifndef HALO_BENCH_REPORT_H
#define HALO_BENCH_REPORT_H

#include "tools/halo-bench/measure.h"
#include "tools/halo-bench/settings.h"

/* Data about the whole run. */
struct halo_bench_run {
    const struct halo_bench_settings *settings;
    char device[256]; /* the backend's description of its device */
    char peer[160];   /* the library that --peers compares with, or "" */
    int rows;         /* number of rows reported so far */
};

/* One row of the results. */
struct halo_bench_result {
    char name[80]; /* name of the strategy or peer, or "copy" */
    struct halo_bench_mask mask;
    int depth;
    int rounds, planes;         /* 0 rounds: not timed; note gives the reason */
    struct halo_bench_stats us; /* microseconds per plane */
    double copy_us;             /* median time of the copy that was timed with this row; 0:
                                 * unknown */
    char note[160];
};

struct halo_bench_report {
    void (*begin)(const struct halo_bench_run *run);
    /* first is true for the first row of each mask and depth. */
    void (*row)(const struct halo_bench_run *run, const struct halo_bench_result *r, bool first);
    void (*end)(const struct halo_bench_run *run);
};

const struct halo_bench_report *halo_bench_report_of(enum halo_bench_format format);

/* Print text as a quoted string of CSV or of JSON. */
void halo_bench_csv_string(const char *text);
void halo_bench_json_string(const char *text);

#endif
