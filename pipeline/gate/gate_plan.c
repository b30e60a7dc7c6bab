/* SPDX-License-Identifier: BSD-2-Clause
 * Plans every filter of the chain for every plane, and the resulting steps (gate_plan.h). */
#include "pipeline/gate/gate_plan.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <math.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/display.h"
#include "pipeline/filter/coverage.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/frame/format.h"
#include "pipeline/region/mask_image.h"

static const struct halo_strategy *find_strategy(const struct halo_ring *ring,
                                                 const struct halo_filter *filter)
{
    const struct halo_backend_ops *ops = halo_ring_ops(ring);
    const char *name = filter->common.strategy;
    if (!name || !strcmp(name, "auto"))
        return NULL;
    const struct halo_strategy *found = halo_strategy_find(ops, name);
    if (!found)
        halo_log(HALO_LOG_INFO, "%s: strategy %s does not belong to the %s backend: using auto",
                 filter->kind->name, name, ops->name);
    return found;
}

double halo_gate_plan_level(int level)
{
    return pow(0.5, level / 2.0);
}

int halo_gate_plan_canvas(const struct halo_gate_plan *plan, int p)
{
    const int width = plan->input.width, height = plan->input.height;
    const struct halo_plane_info mine = halo_format_plane_info(plan->format, width, height, p);
    for (int q = 0; q < p; q++) {
        const struct halo_plane_info info = halo_format_plane_info(plan->format, width, height, q);
        if (info.log2_sub_x == mine.log2_sub_x && info.log2_sub_y == mine.log2_sub_y)
            return q;
    }
    return p;
}

/* Whether whatever has a weight is hidden wholly: for filters that are bounded by what they hide,
 * and if the chain must not leave much. Otherwise a gray pixel of a mask would let through a part
 * of the frame. */
static bool is_whole(const struct halo_gate_plan *plan, int f)
{
    return plan->chain->filter[f].kind->bounded || halo_privacy_limits(plan->input.privacy);
}

/* Samples of 2^log2 pixels. */
static int samples(int pixels, int log2)
{
    return (pixels + (1 << log2) - 1) >> log2;
}

struct halo_shape_canvas halo_gate_plan_canvas_of(const struct halo_gate_plan *plan, int f, int p,
                                                  const struct halo_reach *reach)
{
    const struct halo_filter_common *common = &plan->chain->filter[f].common;
    const struct halo_plane_info info =
        halo_format_plane_info(plan->format, plan->input.width, plan->input.height, p);
    return (struct halo_shape_canvas){
        .frame_width = plan->input.width,
        .frame_height = plan->input.height,
        .log2_sub_x = info.log2_sub_x,
        .log2_sub_y = info.log2_sub_y,
        .width = info.width,
        .height = info.height,
        .feather = common->feather,
        .invert = halo_filter_inverts(&plan->chain->filter[f]),
        .whole = is_whole(plan, f),
        .spill_x = (info.log2_sub_x && plan->input.spill & HALO_SPILL_X) +
                   samples(reach->x[info.chroma], info.log2_sub_x),
        .spill_y = (info.log2_sub_y && plan->input.spill & HALO_SPILL_Y) +
                   samples(reach->y[info.chroma], info.log2_sub_y),
    };
}

static struct halo_plane_info info_of(const struct halo_gate_plan *plan, int p)
{
    struct halo_plane_info info =
        halo_format_plane_info(plan->format, plan->input.width, plan->input.height, p);
    info.colours = halo_format_colours(plan->format, plan->input.space, plan->input.range);
    return info;
}

/* The plan at one of its levels, for judging it as a planned chain. */
struct judged {
    const struct halo_gate_plan *plan;
    int level;
};

static const struct halo_plane_plan *plan_at(void *arg, int f, int p)
{
    const struct judged *judged = arg;
    const struct halo_planned_filter *planned = &judged->plan->filter[f];
    const int last = planned->levels - 1;
    return &planned->level[judged->level < last ? judged->level : last][p];
}

static struct halo_planned_chain planned_of(struct judged *judged)
{
    const struct halo_gate_plan *plan = judged->plan;
    struct halo_planned_chain ret = {
        .chain = plan->chain, .planes = plan->planes, .plan = plan_at, .arg = judged};
    for (int p = 0; p < plan->planes; p++)
        ret.info[p] = info_of(plan, p);
    return ret;
}

/* Whether it is not known to which frame size the region's pixels refer: the filter then
 * applies everywhere. */
static bool is_everywhere(const struct halo_gate_plan *plan, int f)
{
    return plan->input.unsure && plan->filter[f].pixels;
}

/* The size of the frame as displayed. */
static void shown_size(const struct halo_gate_plan *plan, int *ret_width, int *ret_height)
{
    const bool sideways = plan->input.turn & HALO_DISPLAY_SIDEWAYS;
    *ret_width = sideways ? plan->input.height : plan->input.width;
    *ret_height = sideways ? plan->input.width : plan->input.height;
}

/* Sets the largest size of the region for which a level is planned: for a feed, a fraction of the
 * frame; for a written region, its size in the frame as displayed. */
static void region_size(const struct halo_gate_plan *plan, int f, int level,
                        struct halo_plane_info *info)
{
    const struct halo_filter *filter = &plan->chain->filter[f];
    const double part = halo_gate_plan_level(level);
    int width = plan->input.width, height = plan->input.height;
    if (plan->filter[f].written)
        shown_size(plan, &width, &height);
    info->region_width = width * part;
    info->region_height = height * part;
    if (plan->filter[f].written && !filter->common.invert && !is_everywhere(plan, f))
        halo_shapes_size(filter->shapes->shape, filter->shapes->count, width, height,
                         &info->region_width, &info->region_height);
}

static int plan_level(struct halo_gate_plan *plan, int f, int level, struct halo_error *err)
{
    struct halo_planned_filter *planned = &plan->filter[f];
    for (int p = 0; p < plan->planes; p++) {
        struct halo_plane_info info = info_of(plan, p);
        region_size(plan, f, level, &info);
        const int code = halo_filter_plan(planned->filter, info, &planned->level[level][p], err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* Whether a level has the same steps as the first one; otherwise the plan's steps would not fit. */
static bool is_alike(const struct halo_gate_plan *plan, const struct halo_planned_filter *planned,
                     int level)
{
    bool alike = true;
    for (int p = 0; p < plan->planes; p++) {
        const struct halo_plane_plan *first = &planned->level[0][p],
                                     *now = &planned->level[level][p];
        alike &= now->passes == first->passes &&
                 (now->conv.kind == HALO_CONV_COPY) == (first->conv.kind == HALO_CONV_COPY);
    }
    return alike;
}

/* If a filter other than null changes nothing: refuses it if its region is too small for a size
 * that follows it, otherwise logs a warning. */
static int judge_idle(const struct halo_gate_plan *plan, int f, struct halo_error *err)
{
    struct judged judged = {.plan = plan};
    const struct halo_planned_chain planned = planned_of(&judged);
    const struct halo_filter *filter = plan->filter[f].filter;
    if (halo_planned_filter_does(&planned, f) != HALO_CHAIN_IDLE)
        return 0;
    if (filter->follows > 0)
        return halo_fail_usage(err,
                               "stream %d: filter %d, %s: its size is relative to its region, "
                               "which is so small that the filter would have no effect",
                               plan->input.stream, f + 1, filter->kind->name);
    halo_log(HALO_LOG_WARNING, "stream %d: filter %d, %s, changes nothing with these options",
             plan->input.stream, f + 1, filter->kind->name);
    return 0;
}

static int plan_filter(struct halo_gate_plan *plan, const struct halo_ring *ring, int f,
                       struct halo_error *err)
{
    struct halo_planned_filter *planned = &plan->filter[f];
    planned->filter = &plan->chain->filter[f];
    planned->supplied =
        planned->filter->shapes && planned->filter->shapes->from != HALO_SHAPES_WRITTEN;
    planned->written = planned->filter->shapes && !planned->supplied;
    planned->pixels = halo_shapes_in_pixels(planned->filter->shapes);
    planned->strategy = find_strategy(ring, planned->filter);
    const bool several =
        planned->supplied && planned->filter->follows > 0 && !halo_filter_inverts(planned->filter);
    const int most = several ? HALO_PLAN_LEVELS : 1;
    planned->level = av_calloc((size_t)most, sizeof *planned->level);
    if (!planned->level)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = 0;
    for (int level = 0; level < most && code == 0; level++) {
        code = plan_level(plan, f, level, err);
        if (code == 0 && !is_alike(plan, planned, level))
            break;
        planned->levels += code == 0;
    }
    if (code < 0)
        return code;
    struct halo_plane_info luma = info_of(plan, 0);
    region_size(plan, f, 0, &luma);
    halo_filter_say_limits(planned->filter, &luma);
    return judge_idle(plan, f, err);
}

static int plan_filters(struct halo_gate_plan *plan, const struct halo_ring *ring,
                        struct halo_error *err)
{
    for (int f = 0; f < plan->chain->count; f++) {
        const int code = plan_filter(plan, ring, f, err);
        if (code < 0)
            return code;
        plan->supplied |= plan->filter[f].supplied;
        plan->written |= plan->filter[f].written;
        plan->pixels |= plan->filter[f].pixels;
    }
    return 0;
}

/* ---- regions ---- */

static bool is_same_region(const struct halo_filter *a, const struct halo_filter *b)
{
    return a->shapes && b->shapes && !strcmp(a->common.region, b->common.region) &&
           a->common.invert == b->common.invert && a->common.feather == b->common.feather;
}

static bool is_loaded(const struct halo_shapes *shapes)
{
    for (int i = 0; i < shapes->count; i++)
        if (shapes->shape[i].kind == HALO_SHAPE_MASK && !shapes->shape[i].mask->weight)
            return false;
    return true;
}

static int draw_region(struct halo_gate_plan *plan, int f, struct halo_error *err)
{
    struct halo_planned_filter *planned = &plan->filter[f];
    const struct halo_shapes *shapes = planned->filter->shapes;
    const char *name = planned->filter->kind->name;
    bool any = false;
    int code = 0, width, height;
    if (!is_loaded(shapes))
        return halo_fail(err, -EINVAL, "stream %d: filter %d, %s: the mask image has not been read",
                         plan->input.stream, f + 1, name);
    if (plan->input.turn) {
        code = halo_shapes_store(&planned->stored, shapes, plan->input.turn, plan->input.width,
                                 plan->input.height);
        shapes = planned->stored;
    }
    planned->drawn = av_calloc((size_t)plan->planes, sizeof *planned->drawn);
    if (!planned->drawn)
        code = -ENOMEM;
    for (int p = 0; p < plan->planes && code == 0; p++) {
        const struct halo_shape_canvas canvas = halo_gate_plan_canvas_of(plan, f, p, &plan->reach);
        bool hidden = false;
        if (halo_gate_plan_canvas(plan, p) != p)
            continue;
        code = halo_shapes_draw(shapes->shape, shapes->count, &canvas, &planned->drawn[p], &hidden);
        planned->drawn[p].region.number = halo_region_number();
        any |= hidden;
    }
    if (code < 0)
        return halo_fail(err, code, "out of memory");
    if (any)
        return 0;
    shown_size(plan, &width, &height);
    return halo_fail_usage(
        err,
        "stream %d: filter %d, %s: its region%s contains no pixel of the frame, which is %dx%d%s",
        plan->input.stream, f + 1, name, planned->filter->common.invert ? ", inverted," : "", width,
        height, plan->input.turn ? " as players show it" : "");
}

static int plan_regions(struct halo_gate_plan *plan, struct halo_error *err)
{
    for (int f = 0; f < plan->chain->count; f++) {
        struct halo_planned_filter *planned = &plan->filter[f];
        planned->leader = f;
        for (int other = 0; other < f && planned->leader == f; other++)
            if (is_same_region(planned->filter, plan->filter[other].filter) &&
                is_whole(plan, f) == is_whole(plan, other))
                planned->leader = other;
        const bool draw = planned->written && planned->leader == f && !is_everywhere(plan, f);
        const int code = draw ? draw_region(plan, f, err) : 0;
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- steps ---- */

static bool can_all(struct halo_ring *ring, const struct halo_planned_filter *planned, int p,
                    int channels)
{
    bool can = true;
    for (int level = 0; level < planned->levels && can; level++)
        can = halo_ring_can(ring, planned->strategy, &planned->level[level][p].conv, channels);
    return can;
}

/* Appends a filter's passes; a copy among other steps changes nothing and is left out. */
static void add_steps(struct halo_gate_plan *plan, struct halo_ring *ring, int f, int p)
{
    struct halo_plane_steps *steps = &plan->steps[p];
    const struct halo_planned_filter *planned = &plan->filter[f];
    const struct halo_plane_plan *plane = &planned->level[0][p];
    const struct halo_drawn_region *drawn = plan->filter[planned->leader].drawn;
    const struct halo_strategy *strategy = planned->strategy;
    if (plane->conv.kind == HALO_CONV_COPY)
        return;
    if (strategy && !can_all(ring, planned, p, halo_format_channels(plan->format, p)))
        strategy = NULL;
    for (int pass = 0; pass < plane->passes; pass++) {
        const struct halo_region *region =
            drawn ? &drawn[halo_gate_plan_canvas(plan, p)].region : NULL;
        steps->filter[steps->count] = f;
        steps->own[steps->count] = (struct halo_step){&plane->conv, strategy, region};
        steps->plain[steps->count++] = (struct halo_step){&plane->conv, NULL, region};
    }
}

/* Called after plan_filters(), because steps point to the filters' plans. */
static int plan_steps(struct halo_gate_plan *plan, struct halo_ring *ring)
{
    for (int p = 0; p < plan->planes; p++) {
        struct halo_plane_steps *steps = &plan->steps[p];
        const struct halo_plane_info info = info_of(plan, p);
        size_t most = 1;
        for (int f = 0; f < plan->chain->count; f++)
            most += (size_t)plan->filter[f].level[0][p].passes;
        steps->own = av_calloc(most, sizeof *steps->own);
        steps->plain = av_calloc(most, sizeof *steps->plain);
        steps->filter = av_calloc(most, sizeof *steps->filter);
        if (!steps->own || !steps->plain || !steps->filter ||
            halo_conv_copy(&plan->copy, &(struct halo_conv_target){.depth = info.target.depth}) < 0)
            return -ENOMEM;
        for (int f = 0; f < plan->chain->count; f++)
            add_steps(plan, ring, f, p);
        if (steps->count > 0)
            continue;
        steps->filter[0] = -1;
        steps->own[steps->count++] = steps->plain[0] = (struct halo_step){&plan->copy, NULL, NULL};
    }
    return 0;
}

int halo_gate_plan_init(struct halo_gate_plan *plan, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err)
{
    plan->input = *input;
    plan->chain = chain;
    plan->format = halo_format_nearest_native(input->format);
    if (plan->format == AV_PIX_FMT_NONE) {
        const char *name = av_get_pix_fmt_name(input->format);
        return halo_fail(err, -ENOTSUP, "stream %d: pixel format %s is not supported",
                         input->stream, name ? name : "unknown");
    }
    plan->planes = halo_format_planes(plan->format);
    plan->reach =
        halo_format_reach((struct halo_format_size){input->format, input->width, input->height},
                          (struct halo_format_size){plan->format, input->width, input->height});
    plan->filter = av_calloc(chain->count, sizeof *plan->filter);
    if (!plan->filter)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = plan_filters(plan, ring, err);
    if (code == 0)
        code = plan_regions(plan, err);
    if (code < 0)
        return code;
    code = plan_steps(plan, ring);
    return code < 0 ? halo_fail(err, code, "out of memory") : 0;
}

void halo_gate_plan_finish(struct halo_gate_plan *plan)
{
    for (int p = 0; p < HALO_MAX_PLANES; p++) {
        av_free(plan->steps[p].own);
        av_free(plan->steps[p].plain);
        av_free(plan->steps[p].filter);
    }
    for (int f = 0; plan->filter && f < plan->chain->count; f++) {
        struct halo_planned_filter *planned = &plan->filter[f];
        for (int p = 0; planned->drawn && p < plan->planes; p++)
            halo_drawn_region_finish(&planned->drawn[p]);
        av_free(planned->drawn);
        halo_shapes_destroy(planned->stored);
        av_free(planned->level);
    }
    av_free(plan->filter);
}

/* ---- privacy ---- */

static int most_levels(const struct halo_gate_plan *plan)
{
    int most = 1;
    for (int f = 0; f < plan->chain->count; f++)
        if (plan->filter[f].levels > most)
            most = plan->filter[f].levels;
    return most;
}

static const struct halo_region *region_of(void *arg, int f, int p)
{
    const struct halo_gate_plan *plan = ((const struct judged *)arg)->plan;
    const struct halo_drawn_region *drawn = plan->filter[plan->filter[f].leader].drawn;
    return drawn ? &drawn[halo_gate_plan_canvas(plan, p)].region : NULL;
}

bool halo_gate_plan_is_passthrough(const struct halo_gate_plan *plan)
{
    struct judged judged = {.plan = plan};
    const struct halo_planned_chain planned = planned_of(&judged);
    return halo_planned_chain_does(&planned) == HALO_CHAIN_OPEN_NULL;
}

int halo_gate_plan_cover(const struct halo_gate_plan *plan, struct halo_coverage *ret,
                         struct halo_error *err)
{
    struct judged judged = {.plan = plan};
    const struct halo_planned_chain planned = planned_of(&judged);
    const int code = halo_coverage_find(ret, &planned, region_of, err);
    return code ? code : halo_coverage_check(ret, plan->input.min_coverage, err);
}

int halo_gate_plan_judge(struct halo_gate_plan *plan, struct halo_error *err)
{
    struct judged judged = {.plan = plan};
    const struct halo_planned_chain planned = planned_of(&judged);
    const enum halo_privacy privacy = plan->input.privacy;
    const int code = halo_privacy_judge(&planned, privacy, err), most = most_levels(plan);
    int good = 1;
    for (judged.level = 1; code == 0 && judged.level < most; judged.level++)
        good += good == judged.level && halo_privacy_judge(&planned, privacy, NULL) == 0;
    for (int f = 0; code == 0 && f < plan->chain->count; f++)
        if (plan->filter[f].levels > good)
            plan->filter[f].levels = good;
    return code;
}

/* Only formats that both the device's pool and its encoders support, with even width and height:
 * FFmpeg's layout of such planes requires whole chroma samples. */
bool halo_gate_plan_fits_device(const struct halo_gate_plan *plan)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12,
                                                 AV_PIX_FMT_P010, AV_PIX_FMT_YUV444P};
    const int odd = (plan->input.width | plan->input.height) & 1;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i] == halo_format_plain(plan->format))
            return !odd;
    return false;
}
