/* SPDX-License-Identifier: BSD-2-Clause
 * The forms of a report. Rows are written as they come: what a long run has found is seen early,
 * and kept where it is interrupted. */
#include "tools/halo-bench/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/base/error.h"
#include "config/base/log.h"
#include "config/folders.h"
#include "tools/halo-bench/commands.h"

static const char *launch_of(const struct halo_bench_run *run)
{
    const struct halo_bench_settings *s = run->settings;
    const bool is_asynchronous = !strcmp(s->backend->name, "cuda") ||
                                 (s->frame == HALO_BENCH_YUV420 && s->launch == HALO_TOGETHER);
    return halo_bench_launch_name(is_asynchronous ? s->launch : HALO_ONE_BY_ONE);
}

/* Percent of the plane; empty where there is no region. */
static const char *region_of(const struct halo_bench_run *run, char *text, size_t size)
{
    text[0] = '\0';
    if (run->settings->region_part >= 0)
        snprintf(text, size, "%.4g", run->settings->region_part);
    return text;
}

static double multiple(const struct halo_bench_result *r)
{
    return r->copy_us > 0 ? r->us.median / r->copy_us : 0;
}

/* ---- table ---- */

static void table_begin(const struct halo_bench_run *run)
{
    const struct halo_bench_settings *s = run->settings;
    char region[24];
    printf("%s: %s\n", s->backend->name, run->device);
    if (run->peer[0])
        printf("peer: %s\n", run->peer);
    printf("planes %dx%d, %d channel%s, %d in rotation, %d rounds, launch %s\n", s->width,
           s->height, s->channels, s->channels > 1 ? "s" : "", s->planes, s->rounds,
           launch_of(run));
    if (s->frame == HALO_BENCH_YUV420)
        printf("each with two chroma planes of half its width and height, as in a 4:2:0 frame\n");
    if (*region_of(run, region, sizeof region))
        printf("region: %s %% of each plane\n", region);
    printf("microseconds per %s: median (min - max); x copy: the median divided by that of a "
           "plain\ncopy of the same planes, launched the same way and interleaved with the other "
           "measurements\n\n"
           "%-10s %4s  %-18s %12s  %-25s %8s %6s\n",
           s->frame == HALO_BENCH_YUV420 ? "frame" : "plane", "mask", "bits", "strategy", "median",
           "(min - max)", "x copy", "rounds");
    fflush(stdout);
}

/* Four digits, however long or short the time. */
static const char *number(char *text, size_t size, double v)
{
    const int digits = v <= 0 ? 0 : 3 - (int)floor(log10(v));
    snprintf(text, size, "%.*f", digits < 0 ? 0 : digits > 4 ? 4 : digits, v);
    return text;
}

static void table_row(const struct halo_bench_run *run, const struct halo_bench_result *r,
                      bool first)
{
    char mask[24] = "", bits[8] = "", range[64] = "", median[24], min[24], max[24], times[24];
    if (first) {
        snprintf(mask, sizeof mask, "%s:%d", halo_bench_kind_name(r->mask.kind), r->mask.width);
        snprintf(bits, sizeof bits, "%d", r->depth);
    }
    printf("%-10s %4s  %-18s ", mask, bits, r->name);
    if (r->rounds > 0) {
        snprintf(range, sizeof range, "(%s - %s)", number(min, sizeof min, r->us.min),
                 number(max, sizeof max, r->us.max));
        snprintf(times, sizeof times, "%.2f", multiple(r));
        printf("%12s  %-25s %8s %6d", number(median, sizeof median, r->us.median), range,
               multiple(r) > 0 ? times : "-", r->rounds);
        if (r->planes != run->settings->planes)
            printf(" x %d plane%s", r->planes, r->planes > 1 ? "s" : "");
    } else {
        printf("%12s ", "-");
    }
    printf("%s%s\n", r->note[0] ? "  " : "", r->note);
    fflush(stdout);
}

static void table_end(const struct halo_bench_run *run)
{
    (void)run;
}

/* ---- CSV ---- */

void halo_bench_csv_string(const char *text)
{
    putchar('"');
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, stdout);
    putchar('"');
}

static void csv_begin(const struct halo_bench_run *run)
{
    (void)run;
    puts("backend,device,peer,strategy,kind,mask,depth,width,height,channels,threads,launch,planes,"
         "rounds,median_us,min_us,max_us,copy_us,times_copy,region,note,frame");
}

static void csv_row(const struct halo_bench_run *run, const struct halo_bench_result *r, bool first)
{
    const struct halo_bench_settings *s = run->settings;
    char region[24];
    (void)first;
    printf("%s,", s->backend->name);
    halo_bench_csv_string(run->device);
    putchar(',');
    halo_bench_csv_string(run->peer);
    printf(",%s,%s,%d,%d,%d,%d,%d,%d,%s,%d,%d,", r->name, halo_bench_kind_name(r->mask.kind),
           r->mask.width, r->depth, s->width, s->height, s->channels, s->threads, launch_of(run),
           r->planes, r->rounds);
    if (r->rounds > 0)
        printf("%.4f,%.4f,%.4f,", r->us.median, r->us.min, r->us.max);
    else
        printf(",,,");
    if (r->rounds > 0 && r->copy_us > 0)
        printf("%.4f,%.4f,", r->copy_us, multiple(r));
    else
        printf(",,");
    printf("%s,", region_of(run, region, sizeof region));
    halo_bench_csv_string(r->note);
    printf(",%s\n", halo_bench_frame_name(s->frame));
    fflush(stdout);
}

/* ---- JSON ---- */

void halo_bench_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void json_begin(const struct halo_bench_run *run)
{
    const struct halo_bench_settings *s = run->settings;
    char region[24];
    printf("{\"backend\": \"%s\", \"device\": ", s->backend->name);
    halo_bench_json_string(run->device);
    printf(", \"peer\": ");
    halo_bench_json_string(run->peer);
    if (*region_of(run, region, sizeof region))
        printf(", \"region\": %s", region);
    printf(
        ", \"width\": %d, \"height\": %d, \"channels\": %d, \"threads\": %d, \"launch\": \"%s\", "
        "\"planes\": %d, \"rounds\": %d, \"unit\": \"microseconds for a %s\",\n\"results\": [",
        s->width, s->height, s->channels, s->threads, launch_of(run), s->planes, s->rounds,
        s->frame == HALO_BENCH_YUV420 ? "frame" : "plane");
}

static void json_row(const struct halo_bench_run *run, const struct halo_bench_result *r,
                     bool first)
{
    (void)first;
    printf("%s\n {\"strategy\": \"%s\", \"kind\": \"%s\", \"mask\": %d, \"depth\": %d, "
           "\"planes\": %d, \"rounds\": %d, ",
           run->rows > 0 ? "," : "", r->name, halo_bench_kind_name(r->mask.kind), r->mask.width,
           r->depth, r->planes, r->rounds);
    if (r->rounds > 0)
        printf("\"median\": %.4f, \"min\": %.4f, \"max\": %.4f, ", r->us.median, r->us.min,
               r->us.max);
    if (r->rounds > 0 && r->copy_us > 0)
        printf("\"copy\": %.4f, \"times_copy\": %.4f, ", r->copy_us, multiple(r));
    printf("\"note\": ");
    halo_bench_json_string(r->note);
    putchar('}');
    fflush(stdout);
}

static void json_end(const struct halo_bench_run *run)
{
    (void)run;
    puts("\n]}");
}

static const struct halo_bench_report reports[] = {
    [HALO_BENCH_TABLE] = {table_begin, table_row, table_end},
    [HALO_BENCH_CSV] = {csv_begin, csv_row, table_end},
    [HALO_BENCH_JSON] = {json_begin, json_row, json_end},
};

const struct halo_bench_report *halo_bench_report_of(enum halo_bench_format format)
{
    return &reports[format];
}

/* ---- what all commands do ---- */

void halo_bench_say(const char *format, ...)
{
    char line[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    halo_sanitise(line);
    fprintf(stderr, "halo-bench: %s\n", line);
}

/* auto is what it is in halod: by the measured times, where there are some. */
static void tune(struct halo_backend *b, int device)
{
    char path[PATH_MAX], text[PATH_MAX + 100];
    static bool said; /* of the first of several lanes */
    if (halo_cache_tuning_path(path, sizeof path, b->ops->name, device) < 0)
        return;
    const int code = halo_backend_tune(b, path, text, sizeof text);
    if (code < 0 && code != -ENOENT && !said)
        halo_bench_say("%s: the table is not used; run --tune again", text);
    said = true;
}

int halo_bench_open(struct halo_backend **ret, const struct halo_bench_settings *settings,
                    char *text, size_t size)
{
    const struct halo_backend_ops *ops = settings->backend;
    const struct halo_backend_settings wanted = {.threads = settings->threads,
                                                 .device = settings->device};
    const int devices = ops->describe(text, size);
    const int code = devices > 0 ? halo_backend_open(ops, &wanted, ret) : -ENODEV;
    if (code == 0 && settings->mode != HALO_BENCH_TUNE)
        tune(*ret, settings->device);
    if (code == 0)
        return HALO_EXIT_OK;
    if (devices > 0 && code == -ENODEV)
        halo_bench_say("%s: device %d does not exist (devices found: %d)", ops->name,
                       settings->device, devices);
    else if (code == -ENODEV)
        halo_bench_say("%s: no usable device: %s", ops->name, text);
    else
        halo_bench_say("%s: could not be opened: %s", ops->name, strerror(-code));
    return code == -ENODEV ? HALO_BENCH_NO_DEVICE : HALO_EXIT_FAILED;
}
