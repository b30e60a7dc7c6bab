/* SPDX-License-Identifier: BSD-2-Clause
 * The forms of what --ring prints. */
#include <stdio.h>

#include "tools/halo-bench/report.h"
#include "tools/halo-bench/ring.h"

static const char *const kind_names[] = {
    [HALO_BENCH_COPY_UP] = "copies up",     [HALO_BENCH_COPY_DOWN] = "copies down",
    [HALO_BENCH_COPY_BOTH] = "copies both", [HALO_BENCH_DEPTH] = "depth",
    [HALO_BENCH_ALONE] = "alone",           [HALO_BENCH_STREAMS] = "streams",
};

static void print_chain(const struct halo_bench_settings *s)
{
    for (int i = 0; i < s->mask_count; i++)
        printf("%s%s:%d", i ? "," : "", halo_bench_kind_name(s->masks[i].kind), s->masks[i].width);
}

/* ---- table ---- */

/* Without a device nothing is copied. */
static bool has_wall(const struct halo_bench_ring_run *run)
{
    return run->settings->backend->submit != NULL;
}

static void table_begin(const struct halo_bench_ring_run *run)
{
    const struct halo_bench_settings *s = run->settings;
    printf("%s: %s\nframes from memory through ", s->backend->name, run->device);
    print_chain(s);
    printf(" and back\n"
           "all times in us per frame; submit: to start it on the host; CPU: of all threads;\np50, "
           "p99, max: from submit until the frame is back%s\n",
           has_wall(run) ? "; of wall: rate divided by that of plain\ncopies in both directions, "
                           "measured alternately"
                         : "");
    fflush(stdout);
}

static void print_or_dash(int width, int digits, double value)
{
    if (value > 0)
        printf(" %*.*f", width, digits, value);
    else
        printf(" %*s", width, "-");
}

static void print_head(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *r)
{
    printf("\n%s %dx%d, %.2f MB\n%-12s %10s", r->pixels->name, r->width, r->height,
           (double)r->bytes / 1e6, "", "frames/s");
    if (has_wall(run))
        printf(" %8s %9s %8s", "GB/s up", "GB/s down", "of wall");
    printf(" %7s %7s", "submit", "CPU");
    if (has_wall(run))
        printf(" %7s", "kernels");
    printf(" %7s %7s %7s\n", "p50", "p99", "max");
}

static void table_row(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *r,
                      bool first)
{
    char name[32];
    const int number = r->kind == HALO_BENCH_DEPTH ? r->depth : r->streams;
    if (first)
        print_head(run, r);
    snprintf(name, sizeof name, "%s %d", kind_names[r->kind], number);
    const bool numbered = r->kind == HALO_BENCH_DEPTH || r->kind == HALO_BENCH_STREAMS;
    printf("%-12s", numbered ? name : kind_names[r->kind]);
    print_or_dash(10, r->rate < 100 ? 2 : 0, r->rate);
    if (has_wall(run)) {
        print_or_dash(8, 2, r->up);
        print_or_dash(9, 2, r->down);
        print_or_dash(6, 1, r->wall * 100);
        printf(r->wall > 0 ? " %%" : "  ");
    }
    print_or_dash(7, 1, r->submit_us);
    print_or_dash(7, 1, r->cpu_us);
    if (has_wall(run))
        print_or_dash(7, 1, r->kernels_us);
    print_or_dash(7, 0, r->p50_us);
    print_or_dash(7, 0, r->p99_us);
    print_or_dash(7, 0, r->max_us);
    putchar('\n');
    if (r->late)
        printf("%-12s %d of %d frames were not finished when the next one was due\n", "", r->late,
               r->frames);
    fflush(stdout);
}

static void no_end(const struct halo_bench_ring_run *run)
{
    (void)run;
}

/* ---- CSV ---- */

static void csv_begin(const struct halo_bench_ring_run *run)
{
    (void)run;
    puts("backend,device,chain,format,width,height,bytes,kind,depth,streams,frames,"
         "frames_per_second,up_gbs,down_gbs,of_wall,submit_us,cpu_us,kernels_us,p50_us,p99_us,max_"
         "us,late");
}

static void csv_number(double value)
{
    if (value > 0)
        printf(",%.6g", value);
    else
        putchar(',');
}

static void csv_row(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *r,
                    bool first)
{
    (void)first;
    printf("%s,", run->settings->backend->name);
    halo_bench_csv_string(run->device);
    printf(",\"");
    print_chain(run->settings);
    printf("\",%s,%d,%d,%zu,%s,%d,%d,%d", r->pixels->name, r->width, r->height, r->bytes,
           kind_names[r->kind], r->depth, r->streams, r->frames);
    const double values[] = {r->rate,   r->up,         r->down,   r->wall,   r->submit_us,
                             r->cpu_us, r->kernels_us, r->p50_us, r->p99_us, r->max_us};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        csv_number(values[i]);
    printf(",%d\n", r->late);
    fflush(stdout);
}

/* ---- JSON ---- */

static void json_begin(const struct halo_bench_ring_run *run)
{
    printf("{\"backend\": \"%s\", \"device\": ", run->settings->backend->name);
    halo_bench_json_string(run->device);
    printf(", \"chain\": \"");
    print_chain(run->settings);
    printf("\",\n\"results\": [");
}

static void json_number(const char *name, double value)
{
    if (value > 0)
        printf(", \"%s\": %.6g", name, value);
}

static void json_row(const struct halo_bench_ring_run *run, const struct halo_bench_ring_row *r,
                     bool first)
{
    (void)first;
    printf("%s\n {\"kind\": \"%s\", \"format\": \"%s\", \"width\": %d, \"height\": %d, "
           "\"bytes\": %zu, \"depth\": %d, \"streams\": %d, \"frames\": %d, \"late\": %d",
           run->rows > 0 ? "," : "", kind_names[r->kind], r->pixels->name, r->width, r->height,
           r->bytes, r->depth, r->streams, r->frames, r->late);
    json_number("frames_per_second", r->rate);
    json_number("up_gbs", r->up);
    json_number("down_gbs", r->down);
    json_number("of_wall", r->wall);
    json_number("submit_us", r->submit_us);
    json_number("cpu_us", r->cpu_us);
    json_number("kernels_us", r->kernels_us);
    json_number("p50_us", r->p50_us);
    json_number("p99_us", r->p99_us);
    json_number("max_us", r->max_us);
    putchar('}');
    fflush(stdout);
}

static void json_end(const struct halo_bench_ring_run *run)
{
    (void)run;
    puts("\n]}");
}

static const struct halo_bench_ring_report reports[] = {
    [HALO_BENCH_TABLE] = {table_begin, table_row, no_end},
    [HALO_BENCH_CSV] = {csv_begin, csv_row, no_end},
    [HALO_BENCH_JSON] = {json_begin, json_row, json_end},
};

const struct halo_bench_ring_report *halo_bench_ring_report_of(enum halo_bench_format format)
{
    return &reports[format];
}
