/* SPDX-License-Identifier: BSD-2-Clause
 * The regions of filters, and strengths that follow the region's size. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/number.h"
#include "pipeline/filter/filter.h"

enum { MAX_PART = 32, SHOWN = 80 };

static bool may_follow(const struct halo_filter_kind *kind, const struct halo_option *option)
{
    for (int i = 0; kind->sizes && kind->sizes[i]; i++)
        if (!strcmp(kind->sizes[i], option->name))
            return true;
    return false;
}

/* Parses "0.1*w". */
static bool read_part(const char *text, struct halo_follow *ret)
{
    char number[MAX_PART];
    const char *star = strchr(text, '*');
    const size_t length = star ? strcspn(text, " *") : 0;
    if (!star || length >= sizeof number || text[length + strspn(text + length, " ")] != '*')
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    star += 1 + strspn(star + 1, " ");
    ret->of_height = *star == 'h';
    return (*star == 'w' || *star == 'h') && !star[1] && halo_parse_real(number, &ret->part) == 0 &&
           ret->part > 0 && ret->part <= 1;
}

static struct halo_follow *find_follow(struct halo_filter *filter, const struct halo_option *option)
{
    for (int i = 0; i < filter->follows; i++)
        if (filter->follow[i].option == option)
            return &filter->follow[i];
    return NULL;
}

bool halo_filter_set_follow(struct halo_filter *filter, const struct halo_option *option,
                            const char *text, int *ret_code, struct halo_error *err)
{
    struct halo_follow follow = {.option = option}, *at = find_follow(filter, option);
    if (!may_follow(filter->kind, option) || !strchr(text, '*')) {
        if (at) /* now it is a plain number */
            *at = filter->follow[--filter->follows];
        return false;
    }
    *ret_code = 0;
    if (!at)
        at = &filter->follow[filter->follows];
    if (!read_part(text, &follow))
        *ret_code =
            halo_fail(err, -EINVAL,
                      "%s=%.*s: must be a number, or a fraction (0 to 1) of the region's width "
                      "or height, as in 0.1*w or 0.1*h",
                      option->name, SHOWN, text);
    else if (at == &filter->follow[HALO_MAX_FOLLOWS])
        *ret_code =
            halo_fail(err, -EINVAL, "%s=%.*s: too many values are relative to the region's size",
                      option->name, SHOWN, text);
    if (*ret_code)
        return true;
    filter->follows += at == &filter->follow[filter->follows];
    *at = follow;
    return true;
}

int halo_filter_set_region(struct halo_filter *filter, const char *text, struct halo_error *err)
{
    struct halo_shapes *shapes;
    struct halo_error inner = {0};
    const int code = halo_shapes_parse(&shapes, text, &inner);
    if (code)
        return halo_fail(err, code == -ENOMEM ? code : -EINVAL, "region, %s", inner.text);
    halo_shapes_destroy(filter->shapes);
    filter->shapes = shapes;
    return 0;
}

bool halo_filter_cells(const struct halo_filter *filter, struct halo_filter_cells *ret)
{
    return filter->kind->cells && filter->kind->cells(filter->settings, ret);
}

bool halo_chain_has_cells(const struct halo_chain *chain)
{
    struct halo_filter_cells cells;
    bool any = false;
    for (int f = 0; f < chain->count; f++)
        any |= halo_filter_cells(&chain->filter[f], &cells);
    return any;
}

bool halo_filter_means(const struct halo_filter *filter)
{
    return filter->kind->means && filter->kind->means(filter->settings);
}

bool halo_chain_has_means(const struct halo_chain *chain)
{
    bool any = false;
    for (int f = 0; f < chain->count; f++)
        any |= halo_filter_means(&chain->filter[f]);
    return any;
}

/* Whether the filter hides shapes that have a place and a size of their own. */
static bool has_objects(const struct halo_filter *filter)
{
    bool masks = false;
    for (int i = 0; filter->shapes && i < filter->shapes->count; i++)
        masks |= filter->shapes->shape[i].kind == HALO_SHAPE_MASK;
    return filter->shapes && !masks && !halo_filter_inverts(filter);
}

int halo_filter_check_region(const struct halo_filter *filter, const char **ret_name,
                             struct halo_error *err)
{
    const struct halo_filter_common *common = &filter->common;
    struct halo_filter_cells cells;
    if (filter->shapes && filter->kind->effect == HALO_EFFECT_IDENTITY) {
        *ret_name = "region";
        return halo_fail(err, -EINVAL, "null does not accept a region");
    }
    if (halo_filter_cells(filter, &cells) && !has_objects(filter)) {
        *ret_name = filter->shapes ? "region" : NULL;
        return halo_fail(err, -EINVAL,
                         "cells need the shape of each object: use hide=solid with a mask image, "
                         "background or invert=1, or without a region");
    }
    if (filter->shapes)
        return 0;
    if (halo_filter_means(filter)) {
        *ret_name = "region";
        return halo_fail(
            err, -EINVAL,
            "color=mean needs a region, because it is the mean of the rest of the frame");
    }
    if (common->invert) {
        *ret_name = "invert";
        return halo_fail(err, -EINVAL, "invert=1 has no meaning without a region");
    }
    if (common->feather > 0) {
        *ret_name = "feather";
        return halo_fail(err, -EINVAL, "feather has no meaning without a region");
    }
    return 0;
}

/* The value that the option should have, even if its range does not allow that. Integers are
 * rounded up: within its range, an option never filters a region less than requested. */
static double wanted_of(const struct halo_follow *follow, const struct halo_plane_info *plane)
{
    const double configured = follow->of_height ? plane->region_height : plane->region_width;
    const int frame =
        follow->of_height ? plane->height << plane->log2_sub_y : plane->width << plane->log2_sub_x;
    const double v = follow->part * (configured > 0 ? configured : frame);
    return follow->option->type == HALO_OPTION_INT ? ceil(v - 1e-9) : v;
}

void halo_filter_say_limits(const struct halo_filter *filter, const struct halo_plane_info *plane)
{
    for (int i = 0; i < filter->follows; i++) {
        const struct halo_follow *follow = &filter->follow[i];
        const double v = wanted_of(follow, plane);
        if (v > follow->option->max)
            halo_log(HALO_LOG_WARNING, "%s: %s=%g*%c is %g here, but is limited to %g",
                     filter->kind->name, follow->option->name, follow->part,
                     follow->of_height ? 'h' : 'w', v, follow->option->max);
    }
}

void *halo_filter_resolve(const struct halo_filter *filter, const struct halo_plane_info *plane)
{
    const struct halo_filter_kind *kind = filter->kind;
    if (filter->follows == 0)
        return filter->settings;
    void *settings = malloc(kind->settings_size);
    if (!settings)
        return NULL;
    memcpy(settings, filter->settings, kind->settings_size);
    int code = halo_options_own(kind->options, settings);
    for (int i = 0; i < filter->follows && code == 0; i++) {
        const struct halo_follow *follow = &filter->follow[i];
        const struct halo_option *row = follow->option;
        const double v = fmax(row->min, fmin(wanted_of(follow, plane), row->max));
        char text[40];
        snprintf(text, sizeof text, "%.17g", v);
        code = halo_option_set(row, settings, text, NULL);
    }
    if (code == 0)
        return settings;
    halo_filter_resolved_free(filter, settings);
    return NULL;
}

void halo_filter_resolved_free(const struct halo_filter *filter, void *settings)
{
    if (!settings || settings == filter->settings)
        return;
    halo_options_finish(filter->kind->options, settings);
    free(settings);
}

int halo_chain_load(struct halo_chain *chain, struct halo_error *err)
{
    for (int f = 0; f < chain->count; f++) {
        struct halo_filter *filter = &chain->filter[f];
        struct halo_error inner = {0};
        const int code = filter->shapes ? halo_shapes_load(filter->shapes, &inner) : 0;
        if (code == -ENOMEM)
            return halo_fail(err, code, "%s", inner.text);
        if (code)
            return halo_fail_usage(err, "filter %d, %s: %s", f + 1, filter->kind->name, inner.text);
    }
    return 0;
}

int halo_chain_refuse_feed(const struct halo_chain *chain, struct halo_error *err)
{
    for (int f = 0; f < chain->count; f++)
        if (chain->filter[f].shapes && chain->filter[f].shapes->from == HALO_SHAPES_FEED)
            return halo_fail_usage(
                err,
                "filter %d, %s: region=feed requires a stream of the daemon whose "
                "settings contain 'region_feed'",
                f + 1, chain->filter[f].kind->name);
    return 0;
}

bool halo_filter_inverts(const struct halo_filter *filter)
{
    const bool background = filter->shapes && filter->shapes->from == HALO_SHAPES_BACKGROUND;
    return filter->common.invert != background;
}

void halo_chain_add_needs(const struct halo_chain *chain, struct halo_chain_needs *needs)
{
    for (int f = 0; f < chain->count; f++) {
        const struct halo_filter *filter = &chain->filter[f];
        *(halo_filter_inverts(filter) ? &needs->shown : &needs->hidden) |=
            halo_shapes_finds(filter->shapes);
    }
}
