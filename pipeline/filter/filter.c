/* SPDX-License-Identifier: BSD-2-Clause
 * The table of filters, the options that all filters share, and their help. */
#include "pipeline/filter/filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILTER(name, file) extern const struct halo_filter_kind halo_filter_##name;
#include "pipeline/filter/filters.def"
#undef FILTER

#define FILTER(name, file) &halo_filter_##name,
const struct halo_filter_kind *const halo_filter_kinds[] = {
#include "pipeline/filter/filters.def"
    NULL,
};
#undef FILTER

static const char *const border_names[] = {
    [HALO_BORDER_CONSTANT] = "constant", [HALO_BORDER_REPLICATE] = "replicate",
    [HALO_BORDER_REFLECT] = "reflect",   [HALO_BORDER_REFLECT101] = "reflect101",
    [HALO_BORDER_WRAP] = "wrap",         [HALO_BORDER_COUNT] = NULL,
};

#define AT(field) offsetof(struct halo_filter_common, field)

const struct halo_option halo_filter_common_options[] = {
    {"planes", NULL, HALO_OPTION_INT, AT(planes), 15, 0, 15,
     .help = "planes to filter, as a sum of 1, 2 and 4; other planes pass unchanged; 8 (alpha) has "
             "no effect"},
    {"border", NULL, HALO_OPTION_CHOICE, AT(border), HALO_BORDER_REPLICATE, .choices = border_names,
     .help = "values that the filter uses outside the frame"},
    {"border_value", NULL, HALO_OPTION_REAL, AT(border_value), 0, 0, 255,
     .help = "sample value for border=constant, on an 8-bit scale"},
    {"strategy", NULL, HALO_OPTION_STRING, AT(strategy), .argument = "NAME",
     .help = "implementation that computes the filter (default auto); the result does not depend "
             "on it"},
    {"region", NULL, HALO_OPTION_STRING, AT(region), .argument = "SHAPES",
     .help = "where the filter applies: rect X Y W H, ellipse X Y W H, polygon X Y X Y X Y ..., in "
             "pixels or percent (10%), joined by +; mask FILE; feed; faces; people; background "
             "(default: everywhere)"},
    {"invert", NULL, HALO_OPTION_FLAG, AT(invert), 0,
     .help = "1 applies the filter everywhere except in the region (default 0)"},
    {"feather", NULL, HALO_OPTION_REAL, AT(feather), 0, 0, HALO_MAX_FEATHER,
     .help = "the filter fades out over this distance, in luma pixels, outside the hidden part"},
    {NULL},
};

enum { MAX_CANDIDATES = 128 };

/* The option of kind, or common one, whose name is nearest to name. */
static const char *nearest_option(const struct halo_filter_kind *kind, const char *name,
                                  size_t length)
{
    const struct halo_option *tables[] = {kind->options, halo_filter_common_options};
    const char *candidates[MAX_CANDIDATES];
    size_t count = 0;
    for (int t = 0; t < 2; t++)
        for (const struct halo_option *row = tables[t]; row->name && count < MAX_CANDIDATES; row++)
            candidates[count++] = row->name;
    return halo_nearest(name, length, candidates, count);
}

static const struct halo_filter_kind *find_kind(const char *name, size_t length)
{
    for (int i = 0; halo_filter_kinds[i]; i++)
        if (strlen(halo_filter_kinds[i]->name) == length &&
            !memcmp(halo_filter_kinds[i]->name, name, length))
            return halo_filter_kinds[i];
    return NULL;
}

const struct halo_filter_kind *halo_filter_find(const char *name, size_t length,
                                                struct halo_error *err)
{
    const struct halo_filter_kind *found = find_kind(name, length);
    if (found)
        return found;
    const char *names[MAX_CANDIDATES];
    size_t count = 0;
    for (; halo_filter_kinds[count] && count < MAX_CANDIDATES; count++)
        names[count] = halo_filter_kinds[count]->name;
    const int shown = length < 80 ? (int)length : 80;
    const char *near = halo_nearest(name, length, names, count);
    const char *colon = memchr(name, ':', length);
    found = colon ? find_kind(name, (size_t)(colon - name)) : NULL;
    if (found)
        halo_fail(err, -ENOENT, "unknown filter %.*s (options of %s follow an '=': %s=...)", shown,
                  name, found->name, found->name);
    else if (near)
        halo_fail(err, -ENOENT, "unknown filter %.*s (nearest: %s)", shown, name, near);
    else
        halo_fail(err, -ENOENT, "unknown filter %.*s (run 'halod filters' for a list)", shown,
                  name);
    return NULL;
}

int halo_filter_init(struct halo_filter *ret, const struct halo_filter_kind *kind)
{
    void *settings = calloc(1, kind->settings_size ? kind->settings_size : 1);
    char *strategy = strdup("auto");
    if (!settings || !strategy) {
        free(settings);
        free(strategy);
        return -ENOMEM;
    }
    *ret = (struct halo_filter){.kind = kind, .settings = settings};
    halo_options_init(kind->options, settings);
    halo_options_init(halo_filter_common_options, &ret->common);
    ret->common.strategy = strategy;
    return 0;
}

void halo_filter_finish(struct halo_filter *filter)
{
    halo_options_finish(filter->kind->options, filter->settings);
    halo_options_finish(halo_filter_common_options, &filter->common);
    halo_shapes_destroy(filter->shapes);
    filter->shapes = NULL;
    free(filter->settings);
    filter->settings = NULL;
}

/* Accepts auto and the strategies of all backends: it is not known yet which backend will run the
 * filter. */
static int check_strategy(const char *name, struct halo_error *err)
{
    const char *names[MAX_CANDIDATES] = {"auto"};
    size_t count = 1;
    for (int b = 0; halo_backends[b]; b++)
        for (int s = 0; halo_backends[b]->strategies[s] && count < MAX_CANDIDATES; s++)
            names[count++] = halo_backends[b]->strategies[s]->name;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return 0;
    const char *near = halo_nearest(name, strlen(name), names, count);
    if (near)
        return halo_fail(err, -EINVAL, "strategy=%.80s: unknown (nearest: %s)", name, near);
    return halo_fail(err, -EINVAL, "strategy=%.80s: unknown (use auto to let halod choose)", name);
}

const struct halo_option *halo_filter_option(const struct halo_filter_kind *kind, const char *name,
                                             size_t length)
{
    const struct halo_option *row = halo_option_find(kind->options, name, length);
    return row ? row : halo_option_find(halo_filter_common_options, name, length);
}

int halo_filter_set(struct halo_filter *filter, const char *name, size_t length, const char *value,
                    struct halo_error *err)
{
    const struct halo_option *row = halo_option_find(filter->kind->options, name, length);
    int code;
    if (row && halo_filter_set_follow(filter, row, value, &code, err))
        return code;
    if (row)
        return halo_option_set(row, filter->settings, value, err);
    row = halo_option_find(halo_filter_common_options, name, length);
    if (row) {
        code = row->offset == AT(strategy) ? check_strategy(value, err) : 0;
        if (row->offset == AT(region))
            code = halo_filter_set_region(filter, value, err);
        return code ? code : halo_option_set(row, &filter->common, value, err);
    }
    const int shown = length < 80 ? (int)length : 80;
    const char *near = nearest_option(filter->kind, name, length);
    if (near)
        return halo_fail(err, -ENOENT, "unknown option %.*s (nearest: %s)", shown, name, near);
    return halo_fail(err, -ENOENT, "unknown option %.*s (run 'halod filter %s' for a list)", shown,
                     name, filter->kind->name);
}

int halo_filter_check(const struct halo_filter *filter, const struct halo_option **ret_at,
                      struct halo_error *err)
{
    const struct halo_option *at = NULL;
    const char *name = NULL;
    int code = filter->kind->check ? filter->kind->check(filter->settings, &at, err) : 0;
    if (code == 0 && (code = halo_filter_check_region(filter, &name, err)) < 0 && name)
        at = halo_option_find(halo_filter_common_options, name, strlen(name));
    if (ret_at)
        *ret_at = at;
    return code;
}

int halo_filter_plan(const struct halo_filter *filter, struct halo_plane_info plane,
                     struct halo_plane_plan *ret, struct halo_error *err)
{
    const int depth = plane.target.depth;
    const long value = lround(ldexp(filter->common.border_value, depth - 8));
    const long max = halo_sample_max(depth);
    plane.target.border = (enum halo_border)filter->common.border;
    plane.target.border_value = (int)(value > max ? max : value);

    struct halo_plane_plan plan = {.passes = 1};
    struct halo_error inner = {0};
    int code;
    if (filter->common.planes >> plane.index & 1) {
        void *settings = halo_filter_resolve(filter, &plane);
        code = settings ? filter->kind->plan(settings, &plane, &plan, &inner) : -ENOMEM;
        halo_filter_resolved_free(filter, settings);
    } else {
        code = halo_conv_copy(&plan.conv, &plane.target);
    }
    if (code) {
        if (err && !err->code)
            err->usage = true; /* the user's options cause it */
        return halo_fail(err, code, "%s, plane %d: %s", filter->kind->name, plane.index,
                         inner.code ? inner.text : strerror(-code));
    }
    *ret = plan;
    return 0;
}

void halo_filters_print(FILE *to)
{
    for (int i = 0; halo_filter_kinds[i]; i++)
        fprintf(to, "%-12s %s\n", halo_filter_kinds[i]->name, halo_filter_kinds[i]->about);
}

static void print_strategies(FILE *to)
{
    for (int b = 0; halo_backends[b]; b++) {
        if (!halo_backends[b]->strategies[0])
            continue;
        fprintf(to, "\nstrategies of %s:\n", halo_backends[b]->name);
        for (int s = 0; halo_backends[b]->strategies[s]; s++)
            fprintf(to, "  %-12s %s\n", halo_backends[b]->strategies[s]->name,
                    halo_backends[b]->strategies[s]->about);
    }
}

int halo_filter_print(const char *name, FILE *to, struct halo_error *err)
{
    struct halo_error inner = {0};
    const struct halo_filter_kind *kind = halo_filter_find(name, strlen(name), &inner);
    if (!kind) {
        halo_fail_usage(err, "%s", inner.text);
        return -ENOENT;
    }
    fprintf(to, "%s: %s\n", kind->name, kind->about);
    if (kind->options[0].name)
        fputs("\noptions:\n", to);
    halo_options_print(kind->options, "", to);
    fputs("\noptions of every filter:\n", to);
    halo_options_print(halo_filter_common_options, "", to);
    print_strategies(to);
    if (kind->positional) {
        fputs("\npositional order: ", to);
        for (int i = 0; kind->positional[i]; i++)
            fprintf(to, "%s%s", i ? ":" : "", kind->positional[i]);
        fputc('\n', to);
    }
    if (kind->sizes) {
        fputs("\nmay be relative to the region's width or height, as in 0.1*w: ", to);
        for (int i = 0; kind->sizes[i]; i++)
            fprintf(to, "%s%s", i ? ", " : "", kind->sizes[i]);
        fputc('\n', to);
    }
    if (kind->notes)
        fprintf(to, "\n%s", kind->notes);
    const char *quote = strpbrk(kind->example, " '") ? "\"" : ""; /* for a shell */
    fprintf(to, "\nexample: -vf %s%s%s\n", quote, kind->example, quote);
    return 0;
}
