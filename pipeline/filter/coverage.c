/* SPDX-License-Identifier: BSD-2-Clause
 * How much a chain hides (coverage.h). */
#include "pipeline/filter/coverage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/mask_image.h"

enum { ANY_SIDE = 1000 }; /* whole percentages of it are whole pixels, in chroma, too */

/* ---- with drawn regions ---- */

struct counting {
    const struct halo_region *region[HALO_MAX_FILTERS];
    int count;
    uint8_t *weight, *covered; /* one for each sample of a row */
};

static double count_rows(struct counting *c, int width, int height)
{
    int64_t covered = 0;
    for (int y = 0; y < height; y++) {
        memset(c->covered, 0, (size_t)width);
        for (int i = 0; i < c->count; i++) {
            halo_region_row(c->region[i], y, width, c->weight);
            for (int x = 0; x < width; x++)
                c->covered[x] |= c->weight[x] == 255;
        }
        for (int x = 0; x < width; x++)
            covered += c->covered[x];
    }
    return (double)covered / ((double)width * height);
}

/* Computes the part of plane p that is covered: by regions whose filters hide, or everywhere. */
static int count_plane(struct halo_coverage *ret, const struct halo_planned_chain *planned, int p,
                       const bool *hides, halo_coverage_region *region)
{
    const struct halo_plane_info *info = &planned->info[p];
    struct counting c = {.weight = malloc((size_t)info->width * 2)};
    if (!c.weight)
        return -ENOMEM;
    c.covered = c.weight + info->width;
    ret->part[p] = 0;
    for (int f = 0; f < planned->chain->count; f++) {
        if (!hides[f])
            continue;
        const struct halo_region *of = region(planned->arg, f, p);
        if (of)
            c.region[c.count++] = of;
        else
            ret->part[p] = 1;
    }
    if (ret->part[p] < 1)
        ret->part[p] = count_rows(&c, info->width, info->height);
    free(c.weight);
    return 0;
}

/* Whether each frame has other regions, so that nothing can be known in advance. */
static bool varies(const struct halo_chain *chain)
{
    bool any = false;
    for (int f = 0; f < chain->count; f++)
        any |= chain->filter[f].shapes && chain->filter[f].shapes->from != HALO_SHAPES_WRITTEN;
    return any;
}

int halo_coverage_find(struct halo_coverage *ret, const struct halo_planned_chain *planned,
                       halo_coverage_region *region, struct halo_error *err)
{
    bool all = false, hides[HALO_MAX_FILTERS];
    int code = 0;
    *ret = (struct halo_coverage){.known = true};
    for (int p = 0; p < planned->planes && code == 0; p++) {
        code = halo_privacy_hides(planned, p, &all, hides, err);
        ret->part[p] = 1;
        ret->feed |= code == 0 && !all && varies(planned->chain);
        ret->known &= all || region != NULL;
        if (code == 0 && !all && !ret->feed && region)
            code = count_plane(ret, planned, p, hides, region);
    }
    ret->planes = ret->feed || !ret->known ? 0 : planned->planes;
    return code ? halo_fail(err, code, "out of memory") : 0;
}

/* ---- before the first frame ---- */

static bool is_fixed(const struct halo_chain *chain, bool any_size)
{
    bool fixed = true;
    for (int f = 0; f < chain->count; f++) {
        const struct halo_shapes *shapes = chain->filter[f].shapes;
        fixed &= !any_size || !halo_shapes_in_pixels(shapes);
        for (int i = 0; shapes && i < shapes->count; i++)
            fixed &= shapes->shape[i].kind != HALO_SHAPE_MASK; /* read in an engine */
    }
    return fixed;
}

struct unseen {
    struct halo_planned_chain planned;
    struct halo_drawn_region drawn[HALO_MAX_FILTERS]; /* of the current plane */
    bool failed;
};

static const struct halo_plane_plan *plan_at(void *arg, int f, int p)
{
    const struct unseen *u = arg;
    return u->planned.plan(u->planned.arg, f, p);
}

static const struct halo_region *draw(void *arg, int f, int p)
{
    struct unseen *u = arg;
    const struct halo_filter *filter = &u->planned.chain->filter[f];
    const struct halo_plane_info *info = &u->planned.info[p];
    const struct halo_shape_canvas canvas = {.frame_width = u->planned.info[0].width,
                                             .frame_height = u->planned.info[0].height,
                                             .log2_sub_x = info->log2_sub_x,
                                             .log2_sub_y = info->log2_sub_y,
                                             .width = info->width,
                                             .height = info->height,
                                             .invert = filter->common.invert};
    bool hidden;
    u->failed |= halo_shapes_draw(filter->shapes->shape, filter->shapes->count, &canvas,
                                  &u->drawn[f], &hidden) < 0;
    return u->failed ? NULL : &u->drawn[f].region;
}

int halo_coverage_guess(struct halo_coverage *ret, const struct halo_chain *chain, int width,
                        int height, struct halo_error *err)
{
    const bool any = width <= 0 || height <= 0, fixed = is_fixed(chain, any);
    struct unseen *u = calloc(1, sizeof *u);
    int code = u ? halo_chain_plan_assumed(&u->planned, chain, any ? ANY_SIDE : width,
                                           any ? ANY_SIDE : height, true)
                 : -ENOMEM;
    if (code == 0) {
        struct halo_planned_chain planned = u->planned;
        planned.plan = plan_at;
        planned.arg = u;
        code = halo_coverage_find(ret, &planned, fixed ? draw : NULL, err);
        if (u->failed)
            code = -ENOMEM;
        free(u->planned.arg);
        for (int f = 0; f < chain->count; f++)
            halo_drawn_region_finish(&u->drawn[f]);
    }
    free(u);
    return code ? halo_fail(err, code, "out of memory") : 0;
}

/* ---- words ---- */

/* Never rounds an incomplete coverage up to 100 %. */
static void write_part(char *ret, size_t size, double part)
{
    const double percent = 100 * part;
    if (part < 1 && percent > 99.9)
        snprintf(ret, size, "more than 99.9 %%");
    else
        snprintf(ret, size, "%.3g %%", percent);
}

static void write_plane(char *ret, size_t size, const struct halo_coverage *coverage, int p)
{
    char part[32];
    write_part(part, sizeof part, coverage->part[p]);
    if (p == 0)
        snprintf(ret, size, "%s of luma", part);
    else
        snprintf(ret, size, "%s of plane %d", part, p);
}

void halo_coverage_words(const struct halo_coverage *coverage, char *ret, size_t size)
{
    bool same = true;
    char part[64];
    size_t at = 0;
    for (int p = 1; p < coverage->planes; p++)
        same &= fabs(coverage->part[p] - coverage->part[0]) < 0.0005;
    if (coverage->feed) {
        snprintf(ret, size, "the regions that are detected in each frame");
    } else if (!coverage->known) {
        snprintf(ret, size, "a part that depends on the size of the frames or on a mask image");
    } else if (same) {
        write_part(part, sizeof part, coverage->part[0]);
        snprintf(ret, size, "%s of every plane", part);
    } else {
        for (int p = 0; p < coverage->planes && at + 1 < size; p++) {
            write_plane(part, sizeof part, coverage, p);
            snprintf(ret + at, size - at, "%s%s", p > 0 ? ", " : "", part);
            at += strlen(ret + at);
        }
    }
}

int halo_coverage_check(const struct halo_coverage *coverage, double least, struct halo_error *err)
{
    for (int p = 0; p < coverage->planes; p++) {
        char part[64];
        if (coverage->part[p] >= least)
            continue;
        write_plane(part, sizeof part, coverage, p);
        return halo_fail_usage(err,
                               "these filters hide %s, but min_coverage requires %.3g %%: use "
                               "larger regions, or a smaller min_coverage",
                               part, 100 * least);
    }
    return 0;
}
