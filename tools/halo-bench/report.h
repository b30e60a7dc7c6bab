/* SPDX-License-Identifier: BSD-2-Clause
 * Results on standard output, as a table, CSV or JSON. Each format is a row of functions; a new one
 * is a file and a row in report.c. One thread. */
#ifndef HALO_BENCH_REPORT_H
#define HALO_BENCH_REPORT_H

#include "tools/halo-bench/measure.h"
#include "tools/halo-bench/settings.h"

/* Data of the whole run. */
struct halo_bench_run {
    const struct halo_bench_settings *settings;
    char device[256]; /* as the backend describes it */
    char peer[160];   /* the library of --peers, or "" */
    int rows;         /* reported so far */
};

/* One row of the results. */
struct halo_bench_result {
    char name[80]; /* of the strategy or peer, or "copy" */
    struct halo_bench_mask mask;
    int depth;
    int rounds, planes;         /* 0 rounds: not timed, for the reason in note */
    struct halo_bench_stats us; /* per plane */
    double copy_us;             /* median of the copy timed with it; 0: none */
    char note[160];
};

struct halo_bench_report {
    void (*begin)(const struct halo_bench_run *run);
    /* first: the first row of a mask and depth. */
    void (*row)(const struct halo_bench_run *run, const struct halo_bench_result *r, bool first);
    void (*end)(const struct halo_bench_run *run);
};

const struct halo_bench_report *halo_bench_report_of(enum halo_bench_format format);

/* Print text as a string of CSV or JSON, with its quotes. */
void halo_bench_csv_string(const char *text);
void halo_bench_json_string(const char *text);

#endif
