/* SPDX-License-Identifier: BSD-2-Clause
 * --ring: frames from host memory through the lanes of a ring and back, beside the wall: the same
 * bytes copied there and back and nothing done to them. Both are measured in turns. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/halo-bench/commands.h"
#include "tools/halo-bench/lanes.h"
#include "tools/halo-bench/report.h"
#include "tools/halo-bench/stats.h"
#include "tools/halo-bench/streams.h"
#include "tools/halo-bench/wall.h"
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

/* ---- the report ---- */

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
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i] > 0)
            printf(",%.6g", values[i]);
        else
            putchar(',');
    }
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

enum {
    TURNS = 5,
    LANES = 3,        /* of each of several streams: halod's default */
    ALONE_RATE = 500, /* frames a second, one by one: the machine is idle between them */
    TIMED = 100,      /* frames whose kernels are timed */
    WALLS = 3,
    MAX_ROWS = WALLS + HALO_BENCH_MAX_LIST,
};

struct ring {
    const struct halo_bench_settings *settings;
    const struct halo_bench_ring_report *report;
    struct halo_bench_ring_run run;
    struct halo_bench_way way;
    struct halo_bench_lanes lanes;
    struct halo_bench_wall *wall; /* NULL: nothing is copied to a device */
    double frame_s;               /* for a frame through all lanes, about */
    double wall_rate;             /* copies both ways a second; 0: no wall */
    bool first;
};

/* Several turns of what a row is about. */
struct trial {
    enum halo_bench_ring_kind kind;
    int depth, frames, done; /* frames of each turn; done turns */
    double rate[TURNS], wall[TURNS], submit_us, cpu_us;
};

static int fail(const struct ring *r, int rc)
{
    char text[200];
    const struct halo_backend *b = r->lanes.count > 0 ? r->lanes.lane[0].backend : NULL;
    halo_bench_say("%s", b && rc == -EIO ? halo_backend_error(b->ops, b, text, sizeof text)
                                         : strerror(-rc));
    return HALO_EXIT_FAILED;
}

static void put(struct ring *r, struct halo_bench_ring_row *row)
{
    row->pixels = r->way.pixels;
    row->width = r->way.width;
    row->height = r->way.height;
    row->bytes = r->way.bytes;
    r->report->row(&r->run, row, r->first);
    r->run.rows++;
    r->first = false;
}

/* Frames for about that long. */
static int frames_for(double seconds, double frame_s, int least)
{
    const double frames = seconds / frame_s;
    return frames < least ? least : frames > 1e6 ? 1000000 : (int)frames;
}

/* ---- throughput ---- */

static int time_copies(struct ring *r, struct trial *t, double *ret_seconds)
{
    void *up[HALO_BENCH_MAX_DEPTH], *down[HALO_BENCH_MAX_DEPTH];
    for (int i = 0; i < r->lanes.count; i++) {
        up[i] = r->lanes.lane[i].src;
        down[i] = r->lanes.lane[i].dst;
    }
    const struct halo_bench_copies copies = {.up = t->kind == HALO_BENCH_COPY_DOWN ? NULL : up,
                                             .down = t->kind == HALO_BENCH_COPY_UP ? NULL : down,
                                             .buffers = r->lanes.count,
                                             .bytes = r->way.bytes,
                                             .count = t->frames};
    return halo_bench_wall_time(r->wall, &copies, ret_seconds);
}

static int one_turn(struct ring *r, struct trial *t, double wall_rate)
{
    const double cpu = halo_bench_cpu_time();
    struct halo_bench_pass pass = {.submit_us = 0};
    const int code = t->kind == HALO_BENCH_DEPTH
                         ? halo_bench_lanes_run(&r->lanes, t->depth, t->frames, &pass)
                         : time_copies(r, t, &pass.seconds);
    if (code < 0)
        return code;
    t->rate[t->done] = t->frames / pass.seconds;
    t->wall[t->done] = wall_rate > 0 ? t->rate[t->done] / wall_rate : 0;
    t->submit_us += pass.submit_us / TURNS;
    t->cpu_us += (halo_bench_cpu_time() - cpu) / t->frames * 1e6 / TURNS;
    t->done++;
    return 0;
}

static int plan_trials(const struct ring *r, struct trial *trials)
{
    const struct halo_bench_settings *s = r->settings;
    int count = 0;
    for (int i = 0; r->wall && i < WALLS; i++)
        trials[count++] = (struct trial){.kind = (enum halo_bench_ring_kind)i};
    for (int i = 0; i < s->depth_count && s->backend->submit; i++)
        trials[count++] = (struct trial){.kind = HALO_BENCH_DEPTH, .depth = s->depths[i]};
    if (!s->backend->submit) /* works at once: a second lane would gain nothing */
        trials[count++] = (struct trial){.kind = HALO_BENCH_DEPTH, .depth = 1};
    for (int i = 0; i < count; i++)
        trials[i].frames = frames_for(s->limit / TURNS, r->frame_s, HALO_BENCH_MAX_DEPTH);
    return count;
}

static void put_trial(struct ring *r, struct trial *t)
{
    const double rate = halo_bench_stats_of(t->rate, TURNS).median;
    const double gbs = rate * (double)r->way.bytes / 1e9;
    struct halo_bench_ring_row row = {
        .kind = t->kind,
        .depth = t->depth,
        .streams = t->kind == HALO_BENCH_DEPTH,
        .frames = TURNS * t->frames,
        .rate = rate,
        .up = r->wall && t->kind != HALO_BENCH_COPY_DOWN ? gbs : 0,
        .down = r->wall && t->kind != HALO_BENCH_COPY_UP ? gbs : 0,
        .wall = t->kind == HALO_BENCH_DEPTH ? halo_bench_stats_of(t->wall, TURNS).median : 0,
        .submit_us = t->submit_us,
        .cpu_us = t->kind == HALO_BENCH_DEPTH ? t->cpu_us : 0,
    };
    if (t->kind == HALO_BENCH_COPY_BOTH)
        r->wall_rate = rate;
    put(r, &row);
}

static int measure_depths(struct ring *r)
{
    struct trial trials[MAX_ROWS];
    const int count = plan_trials(r, trials);
    int code = 0;
    for (int turn = 0; turn < TURNS && code == 0; turn++) {
        double wall_rate = 0;
        for (int i = 0; i < count && code == 0; i++) {
            code = one_turn(r, &trials[i], wall_rate);
            if (code == 0 && trials[i].kind == HALO_BENCH_COPY_BOTH)
                wall_rate = trials[i].rate[turn];
        }
    }
    for (int i = 0; i < count && code == 0; i++)
        put_trial(r, &trials[i]);
    return code;
}

/* ---- latency ---- */

static void put_times(struct halo_bench_ring_row *row, double *us, int count)
{
    row->max_us = halo_bench_stats_of(us, count).max; /* sorts */
    row->p50_us = us[count / 2];
    row->p99_us = us[(int)((count - 1) * 0.99)];
}

/* Again, with the device's clock: that would be a part of the times above. */
static int time_kernels(struct ring *r, double fps, struct halo_bench_ring_row *row)
{
    struct halo_bench_pass pass = {.us = NULL};
    halo_frame_measure(r->lanes.lane[0].backend);
    const int code = halo_bench_lanes_pace(&r->lanes, fps, 0, TIMED, &pass);
    row->kernels_us = pass.kernels_us;
    return code;
}

static int measure_alone(struct ring *r)
{
    const struct halo_bench_settings *s = r->settings;
    const double slow = 0.5 / r->frame_s;
    const double fps = slow < ALONE_RATE ? slow : ALONE_RATE;
    const int most = frames_for(4 * s->limit, 1 / fps, 1);
    const int frames = s->alone < most ? s->alone : most;
    struct halo_bench_pass pass = {.us = calloc((size_t)frames, sizeof *pass.us)};
    if (!pass.us)
        return -ENOMEM;
    const double cpu = halo_bench_cpu_time();
    int code = halo_bench_lanes_pace(&r->lanes, fps, 0, frames, &pass);
    struct halo_bench_ring_row row = {.kind = HALO_BENCH_ALONE,
                                      .depth = 1,
                                      .streams = 1,
                                      .frames = frames,
                                      .submit_us = pass.submit_us,
                                      .cpu_us = (halo_bench_cpu_time() - cpu) / frames * 1e6};
    if (code == 0 && s->backend->submit)
        code = time_kernels(r, fps, &row);
    if (code == 0) {
        put_times(&row, pass.us, frames);
        put(r, &row);
    }
    free(pass.us);
    return code;
}

/* ---- several streams ---- */

static int run_streams(struct ring *r, struct halo_bench_lanes *lanes, int count)
{
    const struct halo_bench_settings *s = r->settings;
    const double frame_s = s->fps > 0 ? 1 / s->fps : r->frame_s * count;
    const int frames = frames_for(s->limit, frame_s, LANES), all = frames * count;
    double *us = s->fps > 0 ? calloc((size_t)all, sizeof *us) : NULL;
    if (s->fps > 0 && !us)
        return -ENOMEM;
    struct halo_bench_streams did;
    const int code = halo_bench_streams_run(lanes, count, s->fps, frames, us, &did);
    if (code == 0) {
        const double gbs = did.rate * (double)r->way.bytes / 1e9;
        struct halo_bench_ring_row row = {.kind = HALO_BENCH_STREAMS,
                                          .depth = lanes[0].count,
                                          .streams = count,
                                          .frames = all,
                                          .rate = did.rate,
                                          .wall = r->wall_rate > 0 ? did.rate / r->wall_rate : 0,
                                          .submit_us = did.submit_us,
                                          .cpu_us = did.cpu_us,
                                          .kernels_us = did.kernels_us,
                                          .late = did.late};
        if (r->wall_rate > 0)
            row.up = row.down = gbs;
        if (us)
            put_times(&row, us, all);
        put(r, &row);
    }
    free(us);
    return code;
}

static int measure_streams(struct ring *r, int count)
{
    const int depth = r->settings->backend->submit ? LANES : 1;
    struct halo_bench_lanes *lanes = calloc((size_t)count, sizeof *lanes);
    int code = lanes ? 0 : fail(r, -ENOMEM);
    for (int i = 0; i < count && code == 0; i++)
        code = halo_bench_lanes_open(&lanes[i], r->settings, &r->way, depth);
    if (code == 0) {
        const int rc = run_streams(r, lanes, count);
        code = rc < 0 ? fail(r, rc) : 0;
    }
    for (int i = 0; lanes && i < count; i++)
        halo_bench_lanes_close(&lanes[i]);
    free(lanes);
    return code;
}

/* ---- all of it ---- */

/* The first frames allocate; those after them say how long one takes, about. */
static int warm_up(struct ring *r)
{
    struct halo_bench_pass pass;
    int code = halo_bench_lanes_run(&r->lanes, r->lanes.count, r->lanes.count, &pass);
    if (code == 0)
        code = halo_bench_lanes_run(&r->lanes, r->lanes.count, 2 * r->lanes.count, &pass);
    r->frame_s = code < 0 ? 1 : pass.seconds / pass.frames;
    return code;
}

static int most_lanes(const struct halo_bench_settings *s)
{
    int most = 1;
    for (int i = 0; s->backend->submit && i < s->depth_count; i++)
        most = s->depths[i] > most ? s->depths[i] : most;
    return most;
}

static int measure_way(struct ring *r)
{
    const struct halo_bench_settings *s = r->settings;
    int code = halo_bench_lanes_open(&r->lanes, s, &r->way, most_lanes(s));
    if (code)
        return code;
    int rc = 0;
    if (s->backend->submit)
        rc = halo_bench_wall_open(&r->wall, s->device, r->way.bytes);
    if (rc == 0)
        rc = warm_up(r);
    if (rc == 0)
        rc = measure_depths(r);
    if (rc == 0)
        rc = measure_alone(r);
    code = rc < 0 ? fail(r, rc) : 0;
    halo_bench_wall_close(r->wall);
    halo_bench_lanes_close(&r->lanes);
    for (int i = 0; i < s->stream_count && code == 0; i++)
        code = measure_streams(r, s->streams[i]);
    return code;
}

static int measure_size(struct ring *r, const struct halo_bench_pixels *pixels, int width,
                        int height)
{
    r->first = true;
    r->wall = NULL;
    r->wall_rate = 0;
    const int rc = halo_bench_way_init(&r->way, r->settings, pixels, width, height);
    if (rc < 0)
        return fail(r, rc);
    const int code = measure_way(r);
    halo_bench_way_finish(&r->way);
    return code;
}

int halo_bench_ring(const struct halo_bench_settings *settings)
{
    struct ring r = {
        .settings = settings, .report = &reports[settings->format], .run = {.settings = settings}};
    struct halo_backend *b;
    int code = halo_bench_open(&b, settings, r.run.device, sizeof r.run.device);
    if (code)
        return code;
    halo_backend_close(b);
    r.report->begin(&r.run);
    for (int i = 0; i < settings->format_count && code == 0; i++) {
        const struct halo_bench_pixels *pixels = settings->formats[i];
        if (!settings->size)
            code = measure_size(&r, pixels, 1920, 1080);
        if (code == 0)
            code = measure_size(&r, pixels, settings->width, settings->height);
    }
    r.report->end(&r.run);
    return code;
}
