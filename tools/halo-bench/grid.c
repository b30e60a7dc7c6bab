/* SPDX-License-Identifier: BSD-2-Clause
 * Every strategy, mask and depth, beside the copy; with --peers, beside NPP. What belongs to one
 * mask at one depth is a block: it is timed in turns, and its multiples are of its own copy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/halo-bench/commands.h"
#include "tools/halo-bench/measure.h"
#include "tools/halo-bench/npp.h"
#include "tools/halo-bench/plot.h"
#include "tools/halo-bench/report.h"

enum { MAX_CANDIDATES = HALO_BENCH_MAX_STRATEGIES + 2 /* the copy, a peer */ };

struct grid {
    const struct halo_bench_settings *settings;
    const struct halo_bench_report *report;
    struct halo_bench_run run;
    struct halo_backend *backend;
    struct halo_bench_npp *npp;        /* NULL: no peer */
    struct halo_bench_result *results; /* for the plot */
    int count, room;
    bool failed;
};

/* The rows of a block: the copy first. Returns their number. */
static int add_candidates(struct grid *g, struct halo_bench_candidate *c,
                          const struct halo_bench_mask *mask, const struct halo_conv *copy,
                          const struct halo_conv *conv)
{
    const struct halo_bench_settings *s = g->settings;
    int count = 0;
    c[count++] = (struct halo_bench_candidate){.name = "copy", .conv = copy};
    for (int i = 0; i < s->strategy_count; i++) {
        const struct halo_strategy *strategy = s->strategies[i];
        if (strategy && !halo_backend_can(g->backend, strategy, conv, s->channels))
            continue;
        c[count++] = (struct halo_bench_candidate){
            .name = strategy ? strategy->name : "auto", .conv = conv, .strategy = strategy};
    }
    if (g->npp && mask->kind != HALO_BENCH_GRADIENT)
        c[count++] =
            (struct halo_bench_candidate){.name = "npp", .conv = conv, .npp = g->npp, .mask = mask};
    return count;
}

/* Reports one row and keeps it for the plot. */
static int put(struct grid *g, const struct halo_bench_result *result, bool first)
{
    if (g->count == g->room) {
        const int room = g->room ? 2 * g->room : 64;
        struct halo_bench_result *more = realloc(g->results, (size_t)room * sizeof *more);
        if (!more)
            return -ENOMEM;
        g->results = more;
        g->room = room;
    }
    g->results[g->count++] = *result;
    g->report->row(&g->run, result, first);
    g->run.rows++;
    return 0;
}

static int put_block(struct grid *g, const struct halo_bench_candidate *c, int count,
                     const struct halo_bench_mask *mask, int depth)
{
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) {
        struct halo_bench_result r = {.mask = *mask,
                                      .depth = depth,
                                      .rounds = c[i].rounds,
                                      .planes = c[i].planes,
                                      .us = c[i].us,
                                      .copy_us = c[0].rounds > 0 ? c[0].us.median : 0};
        snprintf(r.name, sizeof r.name, "%s", c[i].name);
        memcpy(r.note, c[i].note, sizeof r.note);
        g->failed |= c[i].failed;
        code = put(g, &r, i == 0);
    }
    return code;
}

/* The strategies that the user named and that cannot do this mask: a row each, not timed. */
static int put_unable(struct grid *g, const struct halo_bench_mask *mask, int depth,
                      const struct halo_conv *conv)
{
    const struct halo_bench_settings *s = g->settings;
    int code = 0;
    for (int i = 0; i < s->strategy_count && s->strategies_named && code == 0; i++) {
        const struct halo_strategy *strategy = s->strategies[i];
        if (!strategy || (conv && halo_backend_can(g->backend, strategy, conv, s->channels)))
            continue;
        struct halo_bench_result r = {.mask = *mask, .depth = depth};
        snprintf(r.name, sizeof r.name, "%s", strategy->name);
        snprintf(r.note, sizeof r.note, "unsupported mask, depth or number of channels");
        code = put(g, &r, false);
    }
    return code;
}

static int run_block(struct grid *g, const struct halo_bench_mask *mask, int depth)
{
    const struct halo_bench_settings *s = g->settings;
    const struct halo_conv_target target = {.depth = depth, .border = HALO_BORDER_REPLICATE};
    const struct halo_region region = {.rects = &s->region, .rect_count = 1};
    const struct halo_bench_job plan = {
        .backend = g->backend,
        .like = {.width = s->width, .height = s->height, .channels = s->channels, .depth = depth},
        .rounds = s->rounds,
        .planes = s->planes,
        .launch = s->launch,
        .yuv420 = s->frame == HALO_BENCH_YUV420,
        .limit = s->limit,
        .region = s->region_part >= 0 ? &region : NULL,
    };
    struct halo_conv *convs = calloc(2, sizeof *convs); /* 16 KB each: not for the stack */
    if (!convs)
        return -ENOMEM;
    struct halo_bench_candidate candidates[MAX_CANDIDATES];
    int code = halo_conv_copy(&convs[0], &target);
    if (code == 0 && halo_bench_mask_make(&convs[1], mask, depth) < 0) {
        struct halo_bench_result r = {.mask = *mask, .depth = depth, .name = "-"};
        snprintf(r.note, sizeof r.note, "no number format can represent this mask");
        code = put(g, &r, true);
    } else if (code == 0) {
        const int count = add_candidates(g, candidates, mask, &convs[0], &convs[1]);
        code = halo_bench_measure(&plan, candidates, count);
        const int printed = put_block(g, candidates, count, mask, depth);
        code = code < 0 ? code : printed;
        if (code == 0)
            code = put_unable(g, mask, depth, &convs[1]);
    }
    free(convs);
    return code;
}

static int run_all(struct grid *g)
{
    const struct halo_bench_settings *s = g->settings;
    int code = 0;
    for (int i = 0; i < s->mask_count && code == 0; i++)
        for (int depth = 8; depth <= 10 && code == 0; depth += 2)
            if (depth == 8 || s->mode != HALO_BENCH_PEERS)
                code = run_block(g, &s->masks[i], depth);
    return code;
}

static void find_peer(struct grid *g)
{
    const int code =
        halo_bench_npp_open(&g->npp, g->settings->device, g->run.peer, sizeof g->run.peer);
    if (code < 0)
        halo_bench_say("no peer: %s", g->run.peer[0] ? g->run.peer : strerror(-code));
    if (code < 0)
        g->run.peer[0] = '\0';
}

int halo_bench_grid(const struct halo_bench_settings *settings)
{
    struct grid g = {.settings = settings,
                     .report = halo_bench_report_of(settings->format),
                     .run = {.settings = settings}};
    int code = halo_bench_open(&g.backend, settings, g.run.device, sizeof g.run.device);
    if (code)
        return code;
    if (settings->mode == HALO_BENCH_PEERS)
        find_peer(&g);
    g.report->begin(&g.run);
    const int rc = run_all(&g);
    g.report->end(&g.run);
    if (rc < 0 && !g.failed)
        halo_bench_say("%s", strerror(-rc));
    code = rc < 0 || g.failed ? HALO_EXIT_FAILED : HALO_EXIT_OK;
    struct halo_error err = {0};
    if (settings->plot && halo_bench_plot(settings->plot, &g.run, g.results, g.count, &err) < 0) {
        halo_bench_say("%s", err.text);
        code = HALO_EXIT_FAILED;
    }
    free(g.results);
    halo_bench_npp_close(g.npp);
    halo_backend_close(g.backend);
    return code;
}
