/* SPDX-License-Identifier: BSD-2-Clause
 * Every strategy, mask and depth, beside the copy; with --peers, beside NPP. What belongs to one
 * mask at one depth is a block: it is timed in turns, and its multiples are of its own copy. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/halo-bench/commands.h"
#include "tools/halo-bench/measure.h"
#include "tools/halo-bench/npp.h"
#include "tools/halo-bench/report.h"

/* ---- plots ---- */

/* The plot, written as plain SVG.
 *
 *      title
 *      +-----------+ +-----------+ +-----------+   legend
 *      | gauss  8  | | dense  8  | | box    8  |   -o- strategy
 *      +-----------+ +-----------+ +-----------+   ---  copy
 *      +-----------+ +-----------+ +-----------+
 *      | gauss 10  | | dense 10  | | box   10  |
 *      +-----------+ +-----------+ +-----------+
 *
 * All panels have the same two scales, so that they can be compared by eye. */

enum {
    PANEL_WIDTH = 330,
    PANEL_HEIGHT = 290,
    GAP_X = 24,
    GAP_Y = 62, /* the axis of widths and the next panel's heading */
    LEFT = 74,
    TOP = 78,
    LEGEND = 150,
    BOTTOM = 52,
    MAX_NAMES = 20,
    MAX_DEPTH = 16,
};

/* Told apart by colour-blind eyes too (Okabe and Ito), and by their marks. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#8c6d31"};
enum { COLOURS = sizeof colours / sizeof *colours };

struct plot {
    FILE *f;
    const struct halo_bench_result *results;
    int count;
    const char *names[MAX_NAMES]; /* of strategies and peers */
    int name_count;
    int column[HALO_BENCH_KIND_COUNT], columns; /* of panels; -1: no such mask */
    int row[MAX_DEPTH + 1], rows;
    double x0, x1, y0, y1; /* logarithms of what the scales begin and end with */
};

static bool timed(const struct halo_bench_result *r)
{
    return r->rounds > 0 && r->us.median > 0;
}

static void add_name(struct plot *p, const char *name)
{
    for (int i = 0; i < p->name_count; i++)
        if (!strcmp(p->names[i], name))
            return;
    if (p->name_count < MAX_NAMES)
        p->names[p->name_count++] = name;
}

/* Which panels there are and what their scales must hold. */
static bool survey(struct plot *p)
{
    memset(p->column, -1, sizeof p->column);
    memset(p->row, -1, sizeof p->row);
    double widest = 0, narrowest = INFINITY, slowest = 0, fastest = INFINITY;
    for (int i = 0; i < p->count; i++) {
        const struct halo_bench_result *r = &p->results[i];
        if (!timed(r))
            continue;
        if (p->column[r->mask.kind] < 0)
            p->column[r->mask.kind] = p->columns++;
        if (p->row[r->depth] < 0)
            p->row[r->depth] = p->rows++;
        if (strcmp(r->name, "copy") != 0)
            add_name(p, r->name);
        widest = fmax(widest, r->mask.width);
        narrowest = fmin(narrowest, r->mask.width);
        slowest = fmax(slowest, r->us.median);
        fastest = fmin(fastest, r->us.median);
    }
    p->x0 = log10(narrowest / 1.15);
    p->x1 = log10(widest * 1.15);
    p->y0 = log10(fastest / 1.3);
    p->y1 = log10(slowest * 1.3);
    return p->columns > 0;
}

static double panel_x(const struct plot *p, int kind)
{
    return LEFT + p->column[kind] * (PANEL_WIDTH + GAP_X);
}

static double panel_y(const struct plot *p, int depth)
{
    return TOP + p->row[depth] * (PANEL_HEIGHT + GAP_Y);
}

static double at_x(const struct plot *p, int kind, double width)
{
    return panel_x(p, kind) + (log10(width) - p->x0) / (p->x1 - p->x0) * PANEL_WIDTH;
}

static double at_y(const struct plot *p, int depth, double us)
{
    return panel_y(p, depth) + (p->y1 - log10(us)) / (p->y1 - p->y0) * PANEL_HEIGHT;
}

static void text_at(const struct plot *p, double x, double y, const char *attributes,
                    const char *text)
{
    fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "", attributes);
    for (; *text; text++) {
        const char *escape = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : NULL;
        if (escape)
            fputs(escape, p->f);
        else
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, p->f);
    }
    fputs("</text>\n", p->f);
}

/* Lines across at 1, 2 and 5 of each decade. */
static void draw_time_scale(const struct plot *p, int kind, int depth)
{
    static const int steps[] = {1, 2, 5};
    const double x = panel_x(p, kind);
    for (int decade = (int)floor(p->y0); decade <= (int)ceil(p->y1); decade++) {
        for (int i = 0; i < 3; i++) {
            const double us = steps[i] * pow(10, decade);
            if (log10(us) < p->y0 || log10(us) > p->y1)
                continue;
            const double y = at_y(p, depth, us);
            fprintf(p->f, "<path class=\"%s\" d=\"M%.1f %.1fh%d\"/>\n", i ? "grid" : "decade", x, y,
                    PANEL_WIDTH);
            char label[24];
            snprintf(label, sizeof label, "%.10g", us);
            if (p->column[kind] == 0 && (i == 0 || p->y1 - p->y0 < 3))
                text_at(p, x - 7, y + 4, "text-anchor=\"end\"", label);
        }
    }
}

/* Lines down at powers of two, which masks of one more or less lie beside. */
static void draw_width_scale(const struct plot *p, int kind, int depth)
{
    const double y = panel_y(p, depth);
    for (int width = 1; width <= 4096; width *= 2) {
        if (log10(width) < p->x0 || log10(width) > p->x1)
            continue;
        const double x = at_x(p, kind, width);
        char label[16];
        snprintf(label, sizeof label, "%d", width);
        fprintf(p->f, "<path class=\"grid\" d=\"M%.1f %.1fv%d\"/>\n", x, y, PANEL_HEIGHT);
        text_at(p, x, y + PANEL_HEIGHT + 17, "text-anchor=\"middle\"", label);
    }
}

static void draw_frame(const struct plot *p, int kind, int depth)
{
    const double x = panel_x(p, kind), y = panel_y(p, depth);
    char heading[64];
    draw_time_scale(p, kind, depth);
    draw_width_scale(p, kind, depth);
    fprintf(p->f, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n", x,
            y, PANEL_WIDTH, PANEL_HEIGHT);
    snprintf(heading, sizeof heading, "%s, %d bits",
             halo_bench_kind_name((enum halo_bench_kind)kind), depth);
    text_at(p, x, y - 8, "class=\"heading\"", heading);
    text_at(p, x + PANEL_WIDTH / 2.0, y + PANEL_HEIGHT + 34, "text-anchor=\"middle\"",
            kind == HALO_BENCH_GAUSS ? "width of the mask in taps" : "width M of an M x M mask");
    if (p->column[kind] == 0) {
        char turned[96];
        const double middle = y + PANEL_HEIGHT / 2.0;
        snprintf(turned, sizeof turned,
                 "text-anchor=\"middle\" transform=\"rotate(-90 %.1f %.1f)\"", x - 52, middle);
        text_at(p, x - 52, middle, turned, "microseconds per plane");
    }
}

static void draw_mark(const struct plot *p, int style, double x, double y)
{
    static const char *const shapes[] = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "m-4-4h8v8h-8z",
                                         "m0-5l5 9h-10z", "m0-5l5 5l-5 5l-5-5z"};
    fprintf(p->f, "<path fill=\"%s\" d=\"M%.1f %.1f%s\"/>\n", colours[style % COLOURS], x, y,
            shapes[style % 4]);
}

/* One strategy's line in one panel, or the copy's (style < 0). Masks come in the order of the list
 * that the user gave: the line joins them by width. */
static void draw_line(const struct plot *p, int kind, int depth, const char *name, int style)
{
    const int widest = 2 * HALO_MAX_BOX_RADIUS + 1;
    bool begun = false;
    fprintf(p->f, "<path class=\"%s\" stroke=\"%s\" d=\"", style < 0 ? "copy" : "line",
            style < 0 ? "#666" : colours[style % COLOURS]);
    for (int width = 1; width <= widest; width += 2) {
        for (int i = 0; i < p->count; i++) {
            const struct halo_bench_result *r = &p->results[i];
            if (!timed(r) || (int)r->mask.kind != kind || r->depth != depth ||
                r->mask.width != width || strcmp(r->name, name))
                continue;
            fprintf(p->f, "%c%.1f %.1f", begun ? 'L' : 'M', at_x(p, kind, width),
                    at_y(p, depth, r->us.median));
            begun = true;
        }
    }
    fprintf(p->f, "%s\"/>\n", begun ? "" : "M0 0");
    for (int i = 0; i < p->count && style >= 0; i++) {
        const struct halo_bench_result *r = &p->results[i];
        if (timed(r) && (int)r->mask.kind == kind && r->depth == depth && !strcmp(r->name, name))
            draw_mark(p, style, at_x(p, kind, r->mask.width), at_y(p, depth, r->us.median));
    }
}

static void draw_legend(const struct plot *p)
{
    const double x = LEFT + p->columns * (PANEL_WIDTH + GAP_X);
    double y = TOP + 8;
    for (int i = 0; i < p->name_count; i++, y += 22) {
        fprintf(p->f, "<path class=\"line\" stroke=\"%s\" d=\"M%.1f %.1fh28\"/>\n",
                colours[i % COLOURS], x, y);
        draw_mark(p, i, x + 14, y);
        text_at(p, x + 36, y + 4, "", p->names[i]);
    }
    fprintf(p->f, "<path class=\"copy\" stroke=\"#666\" d=\"M%.1f %.1fh28\"/>\n", x, y);
    text_at(p, x + 36, y + 4, "", "copy: the lower bound");
}

static void draw_head(const struct plot *p, const struct halo_bench_run *run)
{
    const struct halo_bench_settings *s = run->settings;
    const int width = LEFT + p->columns * (PANEL_WIDTH + GAP_X) + LEGEND;
    const int height = TOP + p->rows * (PANEL_HEIGHT + GAP_Y) - GAP_Y + BOTTOM;
    char title[600];
    fprintf(p->f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:12px sans-serif;fill:#222}.heading{font-weight:bold}"
            ".title{font-size:16px;font-weight:bold}path{stroke-linejoin:round}"
            ".grid{stroke:#e4e4e4;fill:none}.decade{stroke:#bbb;fill:none}"
            ".frame{stroke:#444;fill:none}.line{fill:none;stroke-width:2}"
            ".copy{fill:none;stroke-width:2;stroke-dasharray:6 4}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    snprintf(title, sizeof title, "halo-bench, %s: time against the width of the mask",
             s->backend->name);
    text_at(p, 20, 26, "class=\"title\"", title);
    snprintf(title, sizeof title,
             "%.250s. Planes %dx%d, %d channel%s. Medians, with logarithmic scales.", run->device,
             s->width, s->height, s->channels, s->channels > 1 ? "s" : "");
    text_at(p, 20, 46, "", title);
}

static void draw(const struct plot *p, const struct halo_bench_run *run)
{
    draw_head(p, run);
    for (int kind = 0; kind < HALO_BENCH_KIND_COUNT; kind++) {
        for (int depth = 0; depth <= MAX_DEPTH; depth++) {
            if (p->column[kind] < 0 || p->row[depth] < 0)
                continue;
            draw_frame(p, kind, depth);
            draw_line(p, kind, depth, "copy", -1);
            for (int i = 0; i < p->name_count; i++)
                draw_line(p, kind, depth, p->names[i], i);
        }
    }
    draw_legend(p);
    fputs("</svg>\n", p->f);
}

/* Writes the plot to the file at path, which is replaced if it exists; rows without times are left
 * out. Returns 0, or fills err and returns -errno. */
static int bench_plot(const char *path, const struct halo_bench_run *run,
                      const struct halo_bench_result *results, int count, struct halo_error *err)
{
    struct plot p = {.results = results, .count = count};
    if (!survey(&p))
        return halo_fail(err, -ENODATA,
                         "--svg %.200s: the plot was not written, because nothing was timed", path);
    p.f = fopen(path, "w");
    if (!p.f)
        return halo_fail(err, -errno, "--svg %.200s: %s", path, strerror(errno));
    draw(&p, run);
    const bool written = fflush(p.f) == 0 && !ferror(p.f);
    const int code = errno;
    if (fclose(p.f) == 0 && written)
        return 0;
    return halo_fail(err, -EIO, "--svg %.200s: %s", path, strerror(code ? code : EIO));
}

/* ---- the grid ---- */

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
    if (settings->plot && bench_plot(settings->plot, &g.run, g.results, g.count, &err) < 0) {
        halo_bench_say("%s", err.text);
        code = HALO_EXIT_FAILED;
    }
    free(g.results);
    halo_bench_npp_close(g.npp);
    halo_backend_close(g.backend);
    return code;
}
