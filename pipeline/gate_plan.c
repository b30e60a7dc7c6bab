/* SPDX-License-Identifier: BSD-2-Clause
 * Planning: every filter of the chain on every plane, and the steps that come of it. */
#include "pipeline/gate_plan.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/format.h"

struct halo_planned_filter {
    struct halo_plane_plan plane[HALO_MAX_PLANES];
    const struct halo_strategy *strategy; /* NULL: auto */
};

/* Only -vf null asks openly for no filter at all. */
static void say_idle(const struct halo_gate_plan *plan, int f)
{
    const char *name = plan->chain->filter[f].kind->name;
    for (int p = 0; p < plan->planes; p++)
        if (plan->filter[f].plane[p].conv.kind != HALO_CONV_COPY)
            return;
    if (strcmp(name, "null") != 0)
        halo_log(HALO_LOG_WARNING, "stream %d: filter %d, %s, changes nothing with these options",
                 plan->input.stream, f + 1, name);
}

static const struct halo_strategy *find_strategy(const struct halo_ring *ring,
                                                 const struct halo_filter *filter)
{
    const struct halo_backend_ops *ops = halo_ring_ops(ring);
    const char *name = filter->common.strategy;
    if (!name || !strcmp(name, "auto"))
        return NULL;
    const struct halo_strategy *found = halo_strategy_find(ops, name);
    if (!found)
        halo_log(HALO_LOG_INFO, "%s: strategy %s is not of the %s backend: auto is used",
                 filter->kind->name, name, ops->name);
    return found;
}

static int plan_filters(struct halo_gate_plan *plan, const struct halo_ring *ring,
                        struct halo_error *err)
{
    for (int f = 0; f < plan->chain->count; f++) {
        const struct halo_filter *filter = &plan->chain->filter[f];
        plan->filter[f].strategy = find_strategy(ring, filter);
        for (int p = 0; p < plan->planes; p++) {
            const struct halo_plane_info info =
                halo_format_plane_info(plan->format, plan->input.width, plan->input.height, p);
            const int ret = halo_filter_plan(filter, info, &plan->filter[f].plane[p], err);
            if (ret < 0)
                return ret;
        }
        say_idle(plan, f);
    }
    return 0;
}

/* Appends a filter's passes; a copy among other steps changes nothing and is left out. */
static void add_steps(struct halo_gate_plan *plan, const struct halo_ring *ring, int f, int p)
{
    struct halo_plane_steps *steps = &plan->steps[p];
    const struct halo_plane_plan *plane = &plan->filter[f].plane[p];
    const struct halo_strategy *strategy = plan->filter[f].strategy;
    const int channels = halo_format_channels(plan->format, p);
    if (plane->conv.kind == HALO_CONV_COPY)
        return;
    if (strategy && !halo_ring_can(ring, strategy, &plane->conv, channels))
        strategy = NULL;
    for (int pass = 0; pass < plane->passes; pass++) {
        steps->own[steps->count] = (struct halo_step){&plane->conv, strategy};
        steps->plain[steps->count++] = (struct halo_step){&plane->conv, NULL};
    }
}

/* After plan_filters: the plans stay where they are. */
static int plan_steps(struct halo_gate_plan *plan, const struct halo_ring *ring)
{
    for (int p = 0; p < plan->planes; p++) {
        struct halo_plane_steps *steps = &plan->steps[p];
        const struct halo_plane_info info =
            halo_format_plane_info(plan->format, plan->input.width, plan->input.height, p);
        size_t most = 1;
        for (int f = 0; f < plan->chain->count; f++)
            most += (size_t)plan->filter[f].plane[p].passes;
        steps->own = av_calloc(most, sizeof *steps->own);
        steps->plain = av_calloc(most, sizeof *steps->plain);
        if (!steps->own || !steps->plain ||
            halo_conv_copy(&plan->copy, &(struct halo_conv_target){.depth = info.target.depth}) < 0)
            return -ENOMEM;
        for (int f = 0; f < plan->chain->count; f++)
            add_steps(plan, ring, f, p);
        if (steps->count == 0)
            steps->own[steps->count++] = steps->plain[0] = (struct halo_step){&plan->copy, NULL};
    }
    return 0;
}

int halo_gate_plan_init(struct halo_gate_plan *plan, const struct halo_chain *chain,
                        const struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err)
{
    plan->input = *input;
    plan->chain = chain;
    plan->format = halo_format_nearest_native(input->format);
    if (plan->format == AV_PIX_FMT_NONE) {
        const char *name = av_get_pix_fmt_name(input->format);
        return halo_fail(err, -ENOTSUP, "stream %d: pixel format %s cannot be filtered",
                         input->stream, name ? name : "unknown");
    }
    plan->planes = halo_format_planes(plan->format);
    plan->filter = av_calloc(chain->count, sizeof *plan->filter);
    if (!plan->filter)
        return halo_fail(err, -ENOMEM, "out of memory");
    int ret = plan_filters(plan, ring, err);
    if (ret < 0)
        return ret;
    ret = plan_steps(plan, ring);
    return ret < 0 ? halo_fail(err, ret, "out of memory") : 0;
}

void halo_gate_plan_finish(struct halo_gate_plan *plan)
{
    for (int p = 0; p < HALO_MAX_PLANES; p++) {
        av_free(plan->steps[p].own);
        av_free(plan->steps[p].plain);
    }
    av_free(plan->filter);
}

bool halo_gate_plan_is_open(const struct halo_gate_plan *plan)
{
    for (int p = 0; p < plan->planes; p++)
        for (int s = 0; s < plan->steps[p].count; s++)
            if (plan->steps[p].own[s].conv != &plan->copy)
                return false;
    return true;
}

/* What both the pool of the device and its encoders have, in whole samples of chroma: FFmpeg's
 * layout of such planes wants that. */
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
