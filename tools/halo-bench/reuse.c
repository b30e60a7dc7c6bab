/* SPDX-License-Identifier: BSD-2-Clause
 * halo-bench --reuse: how often tiling uses a loaded cell again, by arithmetic, beside what the
 * tilings take, by the clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/halo-bench/commands.h"
#include "tools/halo-bench/measure.h"
#include "tools/halo-bench/report.h"

static const int tiles[] = {8, 16, 32, 64};
static const char *const names[] = {"naive", "output-tile", "input-tile", "core-tile"};

enum {
    TILES = sizeof tiles / sizeof *tiles,
    NAMES = sizeof names / sizeof *names,
};

struct row {
    const struct halo_bench_mask *mask;
    double reuse[TILES];
    double us[NAMES]; /* medians; 0 where nothing was measured */
    char note[160];   /* of the last that was not */
};

static void calculate(struct row *r, const struct halo_bench_mask *mask)
{
    *r = (struct row){.mask = mask};
    for (int i = 0; i < TILES; i++)
        r->reuse[i] = mask->kind == HALO_BENCH_DENSE ? halo_bench_reuse_2d(tiles[i], mask->width)
                                                     : halo_bench_reuse_1d(tiles[i], mask->width);
}

/* Fills r->us by the strategies that can. */
static int time_row(const struct halo_bench_settings *s, struct halo_backend *b, struct row *r)
{
    const struct halo_bench_job plan = {
        .backend = b,
        .like = {.width = s->width, .height = s->height, .channels = s->channels, .depth = 8},
        .rounds = s->rounds,
        .planes = s->planes,
        .launch = s->launch,
        .limit = s->limit,
    };
    struct halo_bench_candidate c[NAMES];
    int which[NAMES], count = 0;
    struct halo_conv *conv = malloc(sizeof *conv);
    if (!conv)
        return -ENOMEM;
    const bool made = halo_bench_mask_make(conv, r->mask, 8) == 0;
    for (int i = 0; i < NAMES && made; i++) {
        const struct halo_strategy *strategy = halo_strategy_find(s->backend, names[i]);
        if (!strategy || !halo_backend_can(b, strategy, conv, s->channels))
            continue;
        which[count] = i;
        c[count++] =
            (struct halo_bench_candidate){.name = names[i], .conv = conv, .strategy = strategy};
    }
    const int rc = count > 0 ? halo_bench_measure(&plan, c, count) : 0;
    for (int i = 0; i < count; i++) {
        r->us[which[i]] = c[i].rounds > 0 ? c[i].us.median : 0;
        if (c[i].note[0])
            snprintf(r->note, sizeof r->note, "%.12s: %.140s", c[i].name, c[i].note);
    }
    free(conv);
    return rc;
}

/* ---- output ---- */

static void table_head(const char *title, const char *formula, const char *mask)
{
    printf("%s\n%s\n\n%6s", title, formula, "M");
    for (int i = 0; i < TILES; i++)
        printf("%6s%-3d", "T=", tiles[i]);
    for (int i = 0; i < NAMES; i++)
        printf(" %12s", names[i]);
    printf("   (%s, us for a plane)\n", mask);
}

static void table_row(const struct row *r)
{
    printf("%6d", r->mask->width);
    for (int i = 0; i < TILES; i++)
        printf("%9.2f", r->reuse[i]);
    for (int i = 0; i < NAMES; i++) {
        char text[24] = "-";
        if (r->us[i] > 0)
            snprintf(text, sizeof text, "%.2f", r->us[i]);
        printf(" %12s", text);
    }
    printf("%s%s\n", r->note[0] ? "   " : "", r->note);
}

static void print_table(const struct row *rows, int count)
{
    for (int dense = 0; dense <= 1; dense++) {
        if (!dense)
            table_head(
                "Separable masks (one-dimensional passes)",
                "loads in the untiled kernel for each load in the tiled one: T M / (T + M - 1)",
                "gauss:M");
        else
            table_head("Dense masks (two-dimensional)",
                       "loads in the untiled kernel for each load in the tiled one: T^2 M^2 / (T + "
                       "M - 1)^2",
                       "dense:M");
        for (int i = 0; i < count; i++)
            if ((rows[i].mask->kind == HALO_BENCH_DENSE) == dense)
                table_row(&rows[i]);
        putchar('\n');
    }
    printf(
        "T: outputs of a tile in one direction; M: width of the mask. The ratios are computed, "
        "not\nread from counters. The tile of a strategy is defined in its source code. To count "
        "the bytes\nthat are moved:\n"
        "  ncu --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,"
        "l1tex__t_bytes.sum halo-bench --reuse\n");
}

static void print_csv(const struct row *rows, int count)
{
    printf("dimensions,mask");
    for (int i = 0; i < TILES; i++)
        printf(",reuse_%d", tiles[i]);
    for (int i = 0; i < NAMES; i++)
        printf(",%s_us", names[i]);
    putchar('\n');
    for (int k = 0; k < count; k++) {
        printf("%d,%d", rows[k].mask->kind == HALO_BENCH_DENSE ? 2 : 1, rows[k].mask->width);
        for (int i = 0; i < TILES; i++)
            printf(",%.6f", rows[k].reuse[i]);
        for (int i = 0; i < NAMES; i++) {
            putchar(',');
            if (rows[k].us[i] > 0)
                printf("%.4f", rows[k].us[i]);
        }
        putchar('\n');
    }
}

static void print_json(const struct row *rows, int count, const char *device)
{
    printf("{\"device\": ");
    halo_bench_json_string(device);
    printf(", \"unit\": \"microseconds for a plane\",\n\"results\": [");
    for (int k = 0; k < count; k++) {
        printf("%s\n {\"dimensions\": %d, \"mask\": %d, \"reuse\": {", k ? "," : "",
               rows[k].mask->kind == HALO_BENCH_DENSE ? 2 : 1, rows[k].mask->width);
        for (int i = 0; i < TILES; i++)
            printf("%s\"%d\": %.6f", i ? ", " : "", tiles[i], rows[k].reuse[i]);
        printf("}, \"us\": {");
        for (int i = 0, printed = 0; i < NAMES; i++)
            if (rows[k].us[i] > 0)
                printf("%s\"%s\": %.4f", printed++ ? ", " : "", names[i], rows[k].us[i]);
        printf("}, \"note\": ");
        halo_bench_json_string(rows[k].note);
        putchar('}');
    }
    puts("\n]}");
}

/* Times every row where there is a device, and says so where there is none. */
static int measure(const struct halo_bench_settings *s, struct row *rows, char *text, size_t size)
{
    struct halo_backend *b = NULL;
    if (!halo_strategy_find(s->backend, names[1])) {
        s->backend->describe(text, size);
        halo_bench_say("%s (%s) does not have these strategies, so nothing was measured",
                       s->backend->name, text);
        return 0;
    }
    const int code = halo_bench_open(&b, s, text, size);
    if (code == HALO_BENCH_NO_DEVICE)
        return 0;
    int rc = code ? -EIO : 0;
    for (int i = 0; i < s->mask_count && rc == 0; i++)
        rc = time_row(s, b, &rows[i]);
    halo_backend_close(b);
    return rc;
}

int halo_bench_reuse(const struct halo_bench_settings *settings)
{
    struct row rows[HALO_BENCH_MAX_MASKS];
    for (int i = 0; i < settings->mask_count; i++) {
        const enum halo_bench_kind kind = settings->masks[i].kind;
        if (kind != HALO_BENCH_GAUSS && kind != HALO_BENCH_DENSE) {
            halo_bench_say("--reuse supports only gauss and dense masks, because others are tiled "
                           "differently");
            return HALO_EXIT_USAGE;
        }
        calculate(&rows[i], &settings->masks[i]);
    }
    char device[256];
    const int code = measure(settings, rows, device, sizeof device);
    if (settings->format == HALO_BENCH_CSV)
        print_csv(rows, settings->mask_count);
    else if (settings->format == HALO_BENCH_JSON)
        print_json(rows, settings->mask_count, device);
    else
        print_table(rows, settings->mask_count);
    return code < 0 ? HALO_EXIT_FAILED : HALO_EXIT_OK;
}
