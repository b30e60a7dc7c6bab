/* SPDX-License-Identifier: BSD-2-Clause
 * halo-bench --tune: which strategy is the fastest, for a grid of masks, depths and planes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/write_file.h"
#include "config/folders.h"
#include "kernels/tuning.h"
#include "tools/halo-bench/commands.h"
#include "tools/halo-bench/measure.h"

enum {
    PLANES = 6,   /* in rotation, at most: a grid has hundreds of points */
    ROUNDS = 7,   /* of the best ones */
    HOPELESS = 3, /* times slower than the best in one round: not timed again */
    PART_W = 256, /* the part of a plane by which the slowest are found out */
    PART_H = 128,
};

/* What is only a little faster, or was this time, does not displace what stands before it. */
static const double clearly = 0.97;

/* 8 bits; words with sums of 32 bits; with sums of 64. */
static const int depths[] = {8, 10, 16};

/* Luma of UHD and of HD, and the chroma of HD as two planes and as one. */
static const struct halo_plane usual[] = {
    {.width = 3840, .height = 2160, .channels = 1},
    {.width = 1920, .height = 1080, .channels = 1},
    {.width = 960, .height = 540, .channels = 1},
    {.width = 960, .height = 540, .channels = 2},
};

struct tune {
    const struct halo_bench_settings *settings;
    struct halo_backend *backend;
    FILE *table; /* in memory until it is whole */
    int rows;
};

/* Microseconds for a plane like this, about; a single round after the warm-up. */
static int glance(const struct tune *t, const struct halo_bench_candidate *c,
                  const struct halo_plane *like, double *ret_us)
{
    const struct halo_trial trial = {
        .conv = c->conv, .strategy = c->strategy, .like = *like, .planes = 1, .rounds = 1};
    return halo_backend_time(t->backend, &trial, ret_us);
}

/* Sorts out the hopeless: first by a small part of a plane, so that none of them takes minutes,
 * then by a whole one. Returns how many are left, or -errno. */
static int sort_out(const struct tune *t, struct halo_bench_candidate *c, int count,
                    const struct halo_plane *like)
{
    struct halo_plane shape = *like;
    for (int whole = 0; whole < 2; whole++) {
        double best = 0;
        shape.width = whole || like->width < PART_W ? like->width : PART_W;
        shape.height = whole || like->height < PART_H ? like->height : PART_H;
        for (int i = 0; i < count; i++) {
            double us;
            const int code = glance(t, &c[i], &shape, &us);
            if (code < 0)
                return code;
            c[i].us.median = us;
            best = i == 0 || us < best ? us : best;
        }
        int left = 0;
        for (int i = 0; i < count; i++)
            if (c[i].us.median <= best * (whole ? HOPELESS : 2 * HOPELESS))
                c[left++] = c[i];
        count = left;
    }
    return count;
}

/* What can do this, in the built-in order. */
static int candidates_of(const struct tune *t, struct halo_bench_candidate *c,
                         const struct halo_conv *conv, int channels)
{
    int count = 0;
    for (const struct halo_strategy *const *s = t->backend->ops->strategies; *s; s++)
        if (count < HALO_BENCH_MAX_STRATEGIES && halo_backend_can(t->backend, *s, conv, channels))
            c[count++] =
                (struct halo_bench_candidate){.name = (*s)->name, .conv = conv, .strategy = *s};
    return count;
}

/* One point of the grid: a row of the table, unless there is no choice. */
static int measure(struct tune *t, const struct halo_conv *conv, const struct halo_plane *like)
{
    const struct halo_bench_settings *s = t->settings;
    struct halo_bench_candidate c[HALO_BENCH_MAX_STRATEGIES];
    int count = candidates_of(t, c, conv, like->channels);
    if (count < 2)
        return 0;
    const struct halo_bench_job plan = {
        .backend = t->backend,
        .like = *like,
        .rounds = s->rounds < ROUNDS ? s->rounds : ROUNDS,
        .planes = s->planes < PLANES ? s->planes : PLANES,
        .launch = s->launch,
        .limit = s->limit,
    };
    count = sort_out(t, c, count, like);
    const int code = count < 0 ? count : halo_bench_measure(&plan, c, count);
    if (code < 0)
        return code;
    /* By the first glance where a plane takes longer than the limit. */
    const struct halo_bench_candidate *best = &c[0];
    for (int i = 1; i < count; i++)
        if (c[i].us.median < best->us.median * clearly)
            best = &c[i];
    const struct halo_tuning_row row = {halo_tuning_key_of(conv, like), best->strategy,
                                        best->us.median};
    halo_tuning_print_row(t->table, &row);
    halo_tuning_print_row(stdout, &row);
    fflush(stdout);
    t->rows++;
    return 0;
}

static int measure_mask(struct tune *t, const struct halo_bench_mask *mask, int depth)
{
    const struct halo_bench_settings *s = t->settings;
    const struct halo_plane own = {.width = s->width, .height = s->height, .channels = s->channels};
    const int count = s->size ? 1 : (int)(sizeof usual / sizeof *usual);
    struct halo_conv *conv = malloc(sizeof *conv); /* 17 KB: not for the stack */
    if (!conv)
        return -ENOMEM;
    int code = 0;
    if (halo_bench_mask_make(conv, mask, depth) == 0)
        for (int i = 0; i < count && code == 0; i++) {
            struct halo_plane like = s->size ? own : usual[i];
            like.depth = depth;
            code = measure(t, conv, &like);
        }
    free(conv);
    return code;
}

/* The table, on standard output as it grows. */
static int measure_all(struct tune *t)
{
    const struct halo_bench_settings *s = t->settings;
    char device[256];
    t->backend->ops->identify(t->backend, device, sizeof device);
    halo_tuning_print_head(t->table, device);
    halo_tuning_print_head(stdout, device);
    int code = 0;
    for (int i = 0; i < s->mask_count && code == 0; i++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths && code == 0; d++)
            code = measure_mask(t, &s->masks[i], depths[d]);
    if (code == 0) {
        halo_tuning_print_end(t->table);
        halo_tuning_print_end(stdout);
        code = fflush(t->table) == 0 && !ferror(t->table) ? 0 : -ENOMEM;
    }
    return code;
}

int halo_bench_tune(const struct halo_bench_settings *settings)
{
    char text[256], path[PATH_MAX];
    struct tune t = {.settings = settings};
    if (halo_cache_tuning_path(path, sizeof path, settings->backend->name, settings->device) < 0) {
        halo_bench_say("--tune: no folder for the table was found: set XDG_CACHE_HOME or HOME");
        return HALO_EXIT_FAILED;
    }
    const int code = halo_bench_open(&t.backend, settings, text, sizeof text);
    if (code)
        return code;
    char *table = NULL;
    size_t size = 0;
    struct halo_error err = {0};
    t.table = open_memstream(&table, &size);
    int rc = t.table ? measure_all(&t) : -ENOMEM;
    if (t.table)
        fclose(t.table);
    if (rc < 0)
        halo_bench_say("--tune: %s", strerror(-rc));
    else if ((rc = halo_write_file(path, 0644, table, size, &err)) < 0)
        halo_bench_say("%s", err.text);
    else
        halo_bench_say("%d rows in %s", t.rows, path);
    free(table);
    halo_backend_close(t.backend);
    return rc < 0 ? HALO_EXIT_FAILED : HALO_EXIT_OK;
}
