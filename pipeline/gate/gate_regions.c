/* SPDX-License-Identifier: BSD-2-Clause
 * The regions of single frames (gate_regions.h). A frame's steps are the plan's, with its own
 * regions and the level for their size. */
#include "pipeline/gate/gate_regions.h"

#include <libavutil/common.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "kernels/frame.h"
#include "kernels/region.h"

/* ---- means ---- */

/* The colour of hide with color=mean: in each plane, the mean of the samples that no filter of the
 * chain changes, in every HALO_MEAN_ROWS-th row. These samples are in the output as they are, so
 * the mean tells nothing about the others. If there are none, the colour is gray.
 *
 * All functions may be called on any thread and never block. */

enum { HALO_MEAN_ROWS = 4 };

enum { CHANNELS = 2 };

struct rows {
    uint8_t *changed, *weights; /* of the pixels of a row */
    uint64_t sum[CHANNELS], count;
};

static void add_row(struct rows *rows, const struct halo_plane *plane,
                    const struct halo_step *steps, int count, int y)
{
    memset(rows->changed, 0, (size_t)plane->width);
    for (int s = 0; s < count; s++) {
        halo_region_row(steps[s].region, y, plane->width, rows->weights);
        for (int x = 0; x < plane->width; x++)
            rows->changed[x] |= rows->weights[x];
    }
    for (int x = 0; x < plane->width; x++) {
        if (rows->changed[x])
            continue;
        for (int ch = 0; ch < plane->channels; ch++)
            rows->sum[ch] += (uint64_t)halo_sample_at(plane, x * plane->channels + ch, y);
        rows->count++;
    }
}

/* Sets *ret to the means of the channels of plane, in host memory, to which these steps will be
 * applied. Returns false if the steps change every sample in these rows; or if memory runs out. */
static bool gate_mean(const struct halo_plane *plane, const struct halo_step *steps, int count,
                      int32_t ret[2])
{
    for (int s = 0; s < count; s++)
        if (!steps[s].region)
            return false;
    struct rows rows = {.changed = av_malloc(2 * (size_t)plane->width)};
    if (!rows.changed)
        return false;
    rows.weights = rows.changed + plane->width;
    for (int y = 0; y < plane->height; y += HALO_MEAN_ROWS)
        add_row(&rows, plane, steps, count, y);
    av_free(rows.changed);
    for (int ch = 0; ch < plane->channels && rows.count; ch++)
        ret[ch] = (int32_t)((2 * rows.sum[ch] + rows.count) / (2 * rows.count));
    return rows.count > 0;
}

/* ---- regions ---- */

struct halo_frame_regions {
    struct halo_frame_regions *next; /* in the list of spare ones */
    struct halo_step *own[HALO_MAX_PLANES], *plain[HALO_MAX_PLANES];
    struct halo_drawn_region *drawn; /* for each plane of each filter; only leaders draw */
    /* for each plane; NULL: the filter draws no cells, and its colour is no mean */
    struct halo_conv *cells[HALO_MAX_FILTERS];
};

struct halo_gate_regions {
    const struct halo_gate_plan *plan;
    struct halo_gate_cells *cells;
    struct halo_region_feed *feed;
    struct halo_region_now now[2]; /* for filters without and with invert */
    struct halo_mutex lock;
    struct halo_frame_regions *spare;
};

struct halo_gate_regions *halo_gate_regions_create(const struct halo_gate_plan *plan,
                                                   struct halo_gate_cells *cells)
{
    struct halo_gate_regions *regions = av_mallocz(sizeof *regions);
    if (!regions)
        return NULL;
    regions->plan = plan;
    regions->cells = cells;
    return regions;
}

void halo_gate_regions_set_feed(struct halo_gate_regions *regions, struct halo_region_feed *feed)
{
    regions->feed = feed;
}

static void destroy_frame(const struct halo_gate_plan *plan, struct halo_frame_regions *frame)
{
    const int drawn = frame->drawn ? plan->chain->count * HALO_MAX_PLANES : 0;
    for (int i = 0; i < drawn; i++)
        halo_drawn_region_finish(&frame->drawn[i]);
    for (int f = 0; f < plan->chain->count; f++)
        av_free(frame->cells[f]);
    for (int p = 0; p < HALO_MAX_PLANES; p++) {
        av_free(frame->own[p]);
        av_free(frame->plain[p]);
    }
    av_free(frame->drawn);
    av_free(frame);
}

void halo_gate_regions_destroy(struct halo_gate_regions *regions)
{
    if (!regions)
        return;
    while (regions->spare) {
        struct halo_frame_regions *frame = regions->spare;
        regions->spare = frame->next;
        destroy_frame(regions->plan, frame);
    }
    av_free(regions);
}

static struct halo_frame_regions *create_frame(const struct halo_gate_plan *plan)
{
    struct halo_frame_regions *frame = av_mallocz(sizeof *frame);
    if (!frame)
        return NULL;
    frame->drawn = av_calloc((size_t)plan->chain->count * HALO_MAX_PLANES, sizeof *frame->drawn);
    bool fine = frame->drawn != NULL;
    for (int p = 0; p < plan->planes; p++) {
        const struct halo_plane_steps *steps = &plan->steps[p];
        frame->own[p] = av_memdup(steps->own, (size_t)steps->count * sizeof *steps->own);
        frame->plain[p] = av_memdup(steps->plain, (size_t)steps->count * sizeof *steps->plain);
        fine = fine && frame->own[p] && frame->plain[p];
    }
    for (int f = 0; f < plan->chain->count; f++) {
        struct halo_filter_cells cells;
        if (!halo_filter_cells(&plan->chain->filter[f], &cells) &&
            !halo_filter_means(&plan->chain->filter[f]))
            continue;
        frame->cells[f] = av_calloc((size_t)plan->planes, sizeof *frame->cells[f]);
        fine = fine && frame->cells[f];
    }
    if (fine)
        return frame;
    destroy_frame(plan, frame);
    return NULL;
}

/* Draws what filter f hides on the first plane of each canvas. False: out of memory. */
static bool draw(const struct halo_gate_plan *plan, struct halo_frame_regions *frame, int f,
                 const struct halo_verdict_shapes *shapes, const struct halo_reach *reach)
{
    for (int p = 0; p < plan->planes; p++) {
        struct halo_drawn_region *drawn = &frame->drawn[f * HALO_MAX_PLANES + p];
        const struct halo_shape_canvas canvas = halo_gate_plan_canvas_of(plan, f, p, reach);
        bool hidden;
        if (halo_gate_plan_canvas(plan, p) != p)
            continue;
        if (halo_shapes_draw(shapes->shape, shapes->count, &canvas, drawn, &hidden) < 0)
            return false;
        drawn->region.number = halo_region_number();
    }
    return true;
}

/* Whether a level was planned for regions at least this large, in the directions that the filter's
 * sizes follow. */
static bool is_enough(const struct halo_planned_filter *planned,
                      const struct halo_gate_input *input, int level, double width, double height)
{
    const double part = halo_gate_plan_level(level);
    const struct halo_filter *filter = planned->filter;
    bool enough = true;
    for (int i = 0; i < filter->follows; i++)
        enough &= filter->follow[i].of_height ? height <= input->height * part
                                              : width <= input->width * part;
    return enough;
}

/* The weakest level that is strong enough for these regions. */
static int find_level(const struct halo_gate_input *input,
                      const struct halo_planned_filter *planned,
                      const struct halo_verdict_shapes *shapes)
{
    double width, height;
    int level = 0;
    halo_shapes_size(shapes->shape, shapes->count, input->width, input->height, &width, &height);
    while (level + 1 < planned->levels && is_enough(planned, input, level + 1, width, height))
        level++;
    return level;
}

/* Draws the cells of filter f, if it has any, in place of the plan's one colour. */
static void set_cells(struct halo_gate_regions *regions, struct halo_frame_regions *frame, int f,
                      const struct halo_verdict_shapes *shapes, bool written)
{
    const struct halo_gate_plan *plan = regions->plan;
    struct halo_conv *conv = frame->cells[f];
    struct halo_filter_cells cells;
    if (!conv || !halo_filter_cells(&plan->chain->filter[f], &cells))
        return;
    halo_gate_cells_draw(regions->cells, plan, f, shapes, written, conv);
    for (int p = 0; p < plan->planes; p++)
        for (int s = 0; s < plan->steps[p].count; s++)
            if (plan->steps[p].filter[s] == f)
                frame->own[p][s].conv = frame->plain[p][s].conv = &conv[p];
}

/* Sets the steps of filter f, whose leader has drawn the shapes. NULL: it applies everywhere. */
static void set_steps(struct halo_gate_regions *regions, struct halo_frame_regions *frame, int f,
                      const struct halo_verdict_shapes *shapes)
{
    const struct halo_gate_plan *plan = regions->plan;
    const struct halo_planned_filter *planned = &plan->filter[f];
    const int level = shapes ? find_level(&plan->input, planned, shapes) : 0;
    for (int p = 0; p < plan->planes; p++) {
        const int canvas = halo_gate_plan_canvas(plan, p);
        const struct halo_region *region =
            shapes ? &frame->drawn[planned->leader * HALO_MAX_PLANES + canvas].region : NULL;
        for (int s = 0; s < plan->steps[p].count; s++) {
            if (plan->steps[p].filter[s] != f)
                continue;
            frame->own[p][s].conv = frame->plain[p][s].conv = &planned->level[level][p].conv;
            frame->own[p][s].region = frame->plain[p][s].region = region;
        }
    }
    if (shapes)
        set_cells(regions, frame, f, shapes, false);
}

static struct halo_frame_regions *get_frame(struct halo_gate_regions *regions)
{
    halo_lock(&regions->lock);
    struct halo_frame_regions *frame = regions->spare;
    if (frame)
        regions->spare = frame->next;
    halo_unlock(&regions->lock);
    return frame ? frame : create_frame(regions->plan);
}

static bool is_from_feed(const struct halo_planned_filter *planned)
{
    return planned->supplied && planned->filter->shapes->from == HALO_SHAPES_FEED;
}

static bool has_any(const struct halo_gate_plan *plan, bool inverted)
{
    bool any = false;
    for (int f = 0; f < plan->chain->count; f++)
        any |= is_from_feed(&plan->filter[f]) &&
               halo_filter_inverts(plan->filter[f].filter) == inverted;
    return any;
}

/* Queries the feed, once for all filters. False: nothing is known, and the filters that use it
 * apply everywhere. */
static bool ask_feed(struct halo_gate_regions *regions, int64_t frame_us)
{
    struct halo_region_now *hidden = has_any(regions->plan, false) ? &regions->now[false] : NULL;
    struct halo_region_now *shown = has_any(regions->plan, true) ? &regions->now[true] : NULL;
    const char *why;
    return regions->feed && (hidden || shown) &&
           halo_region_feed_at(regions->feed, frame_us, halo_now_ns(), hidden, shown, &why);
}

/* The shapes that are supplied for a filter in one frame. */
struct supply {
    struct halo_verdict_shapes fed[2]; /* of the feed, without and with invert */
    bool feed_known;
    const struct halo_verdict *verdict;
};

static void take_supply(struct halo_gate_regions *regions, struct supply *ret, int64_t frame_us,
                        const struct halo_verdict *verdict)
{
    *ret = (struct supply){.feed_known = ask_feed(regions, frame_us), .verdict = verdict};
    for (int i = 0; i < 2; i++)
        ret->fed[i] = (struct halo_verdict_shapes){regions->now[i].shape, regions->now[i].count};
}

/* NULL: not known. */
static const struct halo_verdict_shapes *find_shapes(const struct supply *supply,
                                                     const struct halo_filter *filter)
{
    const bool inverted = halo_filter_inverts(filter);
    if (filter->shapes->from == HALO_SHAPES_FEED)
        return supply->feed_known ? &supply->fed[inverted] : NULL;
    return halo_filter_verdict(filter, supply->verdict);
}

/* Draws the supplied regions and sets the steps of their filters. supply NULL: nothing is known. */
static void set_supplied(struct halo_gate_regions *regions, struct halo_frame_regions *frame,
                         const struct supply *supply, const struct halo_reach *reach)
{
    const struct halo_gate_plan *plan = regions->plan;
    const struct halo_verdict_shapes *shapes[HALO_MAX_FILTERS];
    for (int f = 0; f < plan->chain->count; f++) {
        const struct halo_planned_filter *planned = &plan->filter[f];
        if (!planned->supplied)
            continue;
        shapes[f] = supply ? find_shapes(supply, planned->filter) : NULL;
        if (planned->leader != f)
            shapes[f] = shapes[planned->leader];
        else if (shapes[f] && !draw(plan, frame, f, shapes[f], reach))
            shapes[f] = NULL;
        set_steps(regions, frame, f, shapes[f]);
    }
}

/* Sets the steps of a filter with a written region: with the plan's region; with its own, if the
 * frame spills more (reach); or everywhere. */
static void set_written(struct halo_gate_regions *regions, struct halo_frame_regions *frame, int f,
                        bool everywhere, const struct halo_reach *reach)
{
    const struct halo_gate_plan *plan = regions->plan;
    const struct halo_planned_filter *planned = &plan->filter[f];
    const struct halo_shapes *shapes = plan->filter[planned->leader].stored;
    if (!shapes)
        shapes = planned->filter->shapes;
    const struct halo_verdict_shapes written = {shapes->shape, shapes->count};
    const bool spills = memcmp(reach, &plan->reach, sizeof *reach) != 0;
    everywhere = everywhere || !plan->filter[planned->leader].drawn ||
                 (spills && !draw(plan, frame, f, &written, reach));
    for (int p = 0; p < plan->planes; p++) {
        const int own = f * HALO_MAX_PLANES + halo_gate_plan_canvas(plan, p);
        for (int s = 0; s < plan->steps[p].count; s++)
            if (plan->steps[p].filter[s] == f) {
                frame->own[p][s].conv = frame->plain[p][s].conv = plan->steps[p].own[s].conv;
                frame->own[p][s].region = frame->plain[p][s].region =
                    everywhere ? NULL
                    : spills   ? &frame->drawn[own].region
                               : plan->steps[p].own[s].region;
            }
    }
    if (!everywhere)
        set_cells(regions, frame, f, &written, true);
}

static void set_mean(struct halo_frame_regions *frame, int f, int p, int s, const int32_t *means,
                     int channels)
{
    struct halo_step *own = &frame->own[p][s], *plain = &frame->plain[p][s];
    struct halo_conv *conv = &frame->cells[f][p];
    if (own->conv != conv)
        *conv = *own->conv;
    memcpy(conv->mask, means, (size_t)channels * sizeof *means);
    own->conv = plain->conv = conv;
}

/* Sets the colours that are means, once the regions of all filters are known. */
static void set_means(struct halo_gate_regions *regions, struct halo_frame_regions *frame)
{
    const struct halo_gate_plan *plan = regions->plan;
    const struct halo_plane *planes = halo_gate_cells_planes(regions->cells);
    for (int p = 0; planes && p < plan->planes; p++) {
        const struct halo_plane_steps *steps = &plan->steps[p];
        int32_t means[2];
        if (!gate_mean(&planes[p], frame->own[p], steps->count, means))
            continue;
        for (int s = 0; s < steps->count; s++)
            if (halo_filter_means(&plan->chain->filter[steps->filter[s]]))
                set_mean(frame, steps->filter[s], p, s, means, planes[p].channels);
    }
}

static struct halo_reach most_reach(const struct halo_reach *a, const struct halo_reach *b)
{
    struct halo_reach ret = *a;
    for (int chroma = 0; chroma < 2; chroma++) {
        ret.x[chroma] = FFMAX(a->x[chroma], b->x[chroma]);
        ret.y[chroma] = FFMAX(a->y[chroma], b->y[chroma]);
    }
    return ret;
}

struct halo_frame_regions *halo_gate_regions_take(struct halo_gate_regions *regions,
                                                  const struct halo_regions_frame *frame)
{
    const struct halo_gate_plan *plan = regions->plan;
    const struct halo_reach reach = most_reach(&plan->reach, &frame->reach);
    const enum halo_gate_known worth = frame->known;
    struct halo_frame_regions *picture = get_frame(regions);
    if (!picture)
        return NULL;
    const bool any = plan->supplied && worth != HALO_KNOWN_NOTHING;
    struct supply supply;
    if (any)
        take_supply(regions, &supply, frame->us, frame->verdict);
    set_supplied(regions, picture, any ? &supply : NULL, &reach);
    for (int f = 0; f < plan->chain->count; f++)
        if (plan->filter[f].written)
            set_written(regions, picture, f,
                        worth >= HALO_KNOWN_TOLD ||
                            (worth == HALO_KNOWN_PARTS && plan->filter[f].pixels),
                        &reach);
    if (halo_chain_has_means(plan->chain))
        set_means(regions, picture);
    return picture;
}

void halo_gate_regions_give(struct halo_gate_regions *regions, struct halo_frame_regions *frame)
{
    if (!frame)
        return;
    halo_lock(&regions->lock);
    frame->next = regions->spare;
    regions->spare = frame;
    halo_unlock(&regions->lock);
}

const struct halo_step *halo_frame_regions_steps(const struct halo_frame_regions *frame, int p,
                                                 bool own)
{
    return own ? frame->own[p] : frame->plain[p];
}
