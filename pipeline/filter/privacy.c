/* SPDX-License-Identifier: BSD-2-Clause
 * Refuses chains that a stream's privacy: setting does not allow (privacy.h). */
#include "pipeline/filter/privacy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/filter/disclosure.h"
#include "pipeline/filter/residual.h"
#include "pipeline/region/mask_image.h"

enum { PLANES = 3, SIDE = 4096 }; /* assumed for frames of unknown format */

/* The most that may be left: what an inverse filter brings back, and samples of blocks. Of what
 * a chain leaves in a few code values, somewhat more comes back than the measure says. */
struct limit {
    double share, blocks;
};
static const struct limit of_plane = {0.7, 0.25}, of_small = {0.9, 0.5};
static const double as_it_was = 0.995;

static double most_left(const struct halo_residual *residual, const struct limit *limit)
{
    return halo_residual_share(residual) >= 1 / residual->blocks ? limit->blocks : limit->share;
}

/* ---- words ---- */

static const char *plane_name(const struct halo_planned_chain *planned, int p)
{
    static const char *const yuv[] = {"luma", "chroma (plane 1)", "chroma (plane 2)", "plane 3"};
    static const char *const rgb[] = {"green", "blue", "red", "plane 3"};
    return planned->info[p].colours.rgb ? rgb[p] : yuv[p];
}

#define INSTEAD                                                                                    \
    " for this stream in the settings file (changed: any change is enough; off: no change is "     \
    "needed)"

/* f: the first filter of the region; negative: everywhere. */
static int refuse_weak(const struct halo_planned_chain *planned, int f, int p,
                       const struct limit *limit, const struct halo_residual *residual,
                       struct halo_error *err)
{
    const double share = halo_residual_share(residual), most = most_left(residual, limit);
    const enum halo_effect effect = halo_residual_effect(residual, most);
    char where[80] = "", what[120];
    if (f >= 0)
        snprintf(where, sizeof where, "in the region of filter %d, %s, ", f + 1,
                 planned->chain->filter[f].kind->name);
    if (effect == HALO_EFFECT_IDENTITY)
        snprintf(what, sizeof what, "passes unchanged");
    else if (residual->edges)
        snprintf(what, sizeof what, "keeps its outlines");
    else if (effect == HALO_EFFECT_SHARPENS)
        snprintf(what, sizeof what, "is sharpened, not hidden");
    else if (share > as_it_was)
        snprintf(what, sizeof what, "keeps all its detail");
    else if (most < limit->share)
        snprintf(what, sizeof what, "keeps %.0f %% of its samples, but at most %.0f %% is allowed",
                 100 * share, 100 * most);
    else
        snprintf(what, sizeof what,
                 "keeps %.0f %% of its fine detail, which an inverse filter can restore, but at "
                 "most %.0f %% is allowed",
                 100 * share, 100 * most);
    return halo_fail_usage(err,
                           "%s%s %s: blur it more, or use pixelize or solid, on every plane; or "
                           "set 'privacy: changed' or 'privacy: off'" INSTEAD,
                           where, plane_name(planned, p), what);
}

/* ---- the judgement ---- */

enum halo_chain_does halo_planned_filter_does(const struct halo_planned_chain *planned, int f)
{
    for (int p = 0; p < planned->planes; p++) {
        const struct halo_plane_plan *plan = planned->plan(planned->arg, f, p);
        if (!plan || plan->conv.kind != HALO_CONV_COPY)
            return HALO_CHAIN_FILTERS;
    }
    const enum halo_effect effect = planned->chain->filter[f].kind->effect;
    return effect == HALO_EFFECT_IDENTITY ? HALO_CHAIN_OPEN_NULL : HALO_CHAIN_IDLE;
}

enum halo_chain_does halo_planned_chain_does(const struct halo_planned_chain *planned)
{
    enum halo_chain_does ret = HALO_CHAIN_OPEN_NULL;
    for (int f = 0; f < planned->chain->count; f++) {
        const enum halo_chain_does does = halo_planned_filter_does(planned, f);
        if (does == HALO_CHAIN_FILTERS)
            return does;
        if (does == HALO_CHAIN_IDLE)
            ret = does;
    }
    return ret;
}

/* The index of the first filter with the same region, whatever its feather; -1: f has no region. */
static int place_of(const struct halo_chain *chain, int f)
{
    const struct halo_filter_common *mine = &chain->filter[f].common;
    if (!chain->filter[f].shapes)
        return -1;
    for (int i = 0; i < f; i++) {
        const struct halo_filter_common *other = &chain->filter[i].common;
        if (chain->filter[i].shapes && !strcmp(other->region, mine->region) &&
            other->invert == mine->invert)
            return i;
    }
    return f;
}

/* Places of the frame, by the filters that apply there: those of one region and those without a
 * region. */
struct judge {
    const struct halo_planned_chain *planned;
    int place[HALO_MAX_FILTERS];      /* of each filter: its region; -1: everywhere */
    int places[HALO_MAX_FILTERS + 1]; /* all regions, by their first filters; last -1: everywhere */
    int regions;                      /* number of regions */
    struct halo_response response;    /* of one filter */
    struct halo_residual residual[];  /* of the current plane, in each place */
};

static struct judge *create_judge(const struct halo_planned_chain *planned, struct halo_error *err)
{
    const struct halo_chain *chain = planned->chain;
    struct judge *j = calloc(1, sizeof *j + (size_t)(chain->count + 1) * sizeof j->residual[0]);
    if (!j) {
        halo_fail(err, -ENOMEM, "out of memory");
        return NULL;
    }
    j->planned = planned;
    for (int f = 0; f < chain->count; f++) {
        j->place[f] = place_of(chain, f);
        if (j->place[f] == f)
            j->places[j->regions++] = f;
    }
    j->places[j->regions] = -1;
    return j;
}

/* Measures the detail that is left of plane p in each place; false: a filter cannot be planned. */
static bool measure(struct judge *j, int p)
{
    const struct halo_planned_chain *planned = j->planned;
    for (int i = 0; i <= j->regions; i++)
        halo_residual_begin(&j->residual[i], planned->info[p].target.depth);
    for (int f = 0; f < planned->chain->count; f++) {
        const struct halo_plane_plan *plan = planned->plan(planned->arg, f, p);
        if (!plan)
            return false;
        if (plan->conv.kind == HALO_CONV_COPY)
            continue;
        halo_response_plan(&j->response, plan);
        for (int i = 0; i <= j->regions; i++)
            if (j->place[f] < 0 || j->place[f] == j->places[i])
                halo_residual_add(&j->residual[i], plan, &j->response);
    }
    return true;
}

static const struct limit *limit_of(const struct halo_plane_info *info)
{
    const bool is_small = info->chroma && info->log2_sub_x + info->log2_sub_y > 0;
    return is_small ? &of_small : &of_plane;
}

static bool does_hide(const struct halo_residual *residual, const struct limit *limit)
{
    return halo_residual_effect(residual, most_left(residual, limit)) == HALO_EFFECT_HIDES;
}

static int judge_plane(struct judge *j, int p, struct halo_error *err)
{
    const struct limit *limit = limit_of(&j->planned->info[p]);
    if (!measure(j, p))
        return 0;
    for (int i = 0; i < j->regions || i == 0; i++)
        if (!does_hide(&j->residual[i], limit))
            return refuse_weak(j->planned, j->places[i], p, limit, &j->residual[i], err);
    return 0;
}

static int judge_strictly(const struct halo_planned_chain *planned, struct halo_error *err)
{
    struct judge *j = create_judge(planned, err);
    int code = j ? 0 : -ENOMEM;
    for (int p = 0; p < planned->planes && code == 0; p++)
        code = judge_plane(j, p, err);
    free(j);
    return code;
}

int halo_privacy_hides(const struct halo_planned_chain *planned, int p, bool *ret_all,
                       bool *ret_regions, struct halo_error *err)
{
    struct judge *j = create_judge(planned, err);
    if (!j)
        return -ENOMEM;
    const bool known = measure(j, p);
    const struct limit *limit = limit_of(&planned->info[p]);
    *ret_all = known && does_hide(&j->residual[j->regions], limit);
    for (int f = 0; f < planned->chain->count; f++)
        ret_regions[f] = false;
    for (int i = 0; i < j->regions; i++)
        ret_regions[j->places[i]] = known && does_hide(&j->residual[i], limit);
    free(j);
    return 0;
}

bool halo_privacy_limits(enum halo_privacy privacy)
{
    return privacy == HALO_PRIVACY_STRICT || privacy == HALO_PRIVACY_ANONYMOUS;
}

/* Whatever has a weight is hidden wholly (gate_plan.c). Still, what is gray everywhere has not been
 * painted for that. */
static int judge_masks(const struct halo_chain *chain, struct halo_error *err)
{
    for (int f = 0; f < chain->count; f++) {
        const struct halo_shapes *shapes = chain->filter[f].shapes;
        const int white = chain->filter[f].common.invert ? 0 : 255;
        for (int i = 0; shapes && i < shapes->count; i++) {
            const struct halo_mask_image *mask = shapes->shape[i].mask;
            if (shapes->shape[i].kind == HALO_SHAPE_MASK && mask->weight &&
                !memchr(mask->weight, white, (size_t)mask->width * (size_t)mask->height))
                return halo_fail_usage(
                    err,
                    "filter %d, %s: the mask image %s has no %s pixel: paint what has to be hidden "
                    "%s, or set 'privacy: changed'" INSTEAD,
                    f + 1, chain->filter[f].kind->name, mask->path, white ? "white" : "black",
                    white ? "white" : "black");
        }
    }
    return 0;
}

static int judge_bound(const struct halo_chain *chain, struct halo_error *err)
{
    struct halo_disclosure disclosure[HALO_MAX_FILTERS];
    const int count = halo_chain_disclosure(chain, disclosure);
    for (int i = 0; i < count; i++)
        if (disclosure[i].kind == HALO_DISCLOSURE_MORE)
            return halo_fail_usage(err, "privacy: anonymous: %s: %s", disclosure[i].where,
                                   disclosure[i].words);
    return 0;
}

int halo_privacy_judge(const struct halo_planned_chain *planned, enum halo_privacy privacy,
                       struct halo_error *err)
{
    if (privacy == HALO_PRIVACY_OFF)
        return 0;
    if (halo_planned_chain_does(planned) != HALO_CHAIN_FILTERS)
        return halo_fail_usage(err,
                               "these filters pass frames unchanged: use a filter that changes "
                               "them, or set 'privacy: off' for this stream in the settings file");
    int code = halo_privacy_limits(privacy) ? judge_strictly(planned, err) : 0;
    if (code == 0 && halo_privacy_limits(privacy))
        code = judge_masks(planned->chain, err);
    return code == 0 && privacy == HALO_PRIVACY_ANONYMOUS ? judge_bound(planned->chain, err) : code;
}

/* ---- frames of unknown format ---- */

struct room {
    const struct halo_planned_chain *planned;
    struct halo_plane_plan plan; /* too large for the stack */
};

static const struct halo_plane_plan *plan_one(void *arg, int f, int p)
{
    struct room *room = arg;
    struct halo_error ignored = {0};
    const struct halo_filter *filter = &room->planned->chain->filter[f];
    struct halo_plane_info info = room->planned->info[p];
    const struct halo_shapes *shapes = filter->shapes;
    const struct halo_plane_info *luma = room->planned->info;
    if (shapes && shapes->from == HALO_SHAPES_WRITTEN && !filter->common.invert)
        halo_shapes_size(shapes->shape, shapes->count, luma->width, luma->height,
                         &info.region_width, &info.region_height);
    return halo_filter_plan(filter, info, &room->plan, &ignored) == 0 ? &room->plan : NULL;
}

int halo_chain_plan_assumed(struct halo_planned_chain *ret, const struct halo_chain *chain,
                            int width, int height, bool small_chroma)
{
    struct room *room = malloc(sizeof *room);
    if (!room)
        return -ENOMEM;
    *ret = (struct halo_planned_chain){
        .chain = chain, .planes = PLANES, .plan = plan_one, .arg = room};
    for (int p = 0; p < PLANES; p++) {
        const int sub = p > 0 && small_chroma;
        ret->info[p] = (struct halo_plane_info){.index = p,
                                                .chroma = p > 0,
                                                .log2_sub_x = sub,
                                                .log2_sub_y = sub,
                                                .width = (width + sub) >> sub,
                                                .height = (height + sub) >> sub,
                                                .target.depth = 8};
    }
    room->planned = ret;
    return 0;
}

/* Unless privacy is strict, 4:4:4 is assumed: no plane is subsampled, so sizes are not scaled down.
 * A chain that leaves all planes of 4:4:4 unchanged leaves those of any format unchanged. */
static int judge_unseen(const struct halo_chain *chain, enum halo_privacy privacy,
                        struct halo_error *err)
{
    struct halo_planned_chain planned;
    if (halo_chain_plan_assumed(&planned, chain, SIDE, SIDE, halo_privacy_limits(privacy)) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = halo_privacy_judge(&planned, privacy, err);
    free(planned.arg);
    return code;
}

int halo_chain_does(const struct halo_chain *chain, enum halo_chain_does *ret,
                    struct halo_error *err)
{
    struct halo_planned_chain planned;
    if (halo_chain_plan_assumed(&planned, chain, SIDE, SIDE, false) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    *ret = halo_planned_chain_does(&planned);
    free(planned.arg);
    return 0;
}

/* ---- texts ---- */

int halo_chain_admit(struct halo_chain **ret, const char *text, enum halo_privacy privacy,
                     struct halo_error *err)
{
    struct halo_chain *chain;
    int code = halo_chain_parse(&chain, strcmp(text, "none") ? text : "null", err);
    if (code)
        return code;
    code = judge_unseen(chain, privacy, err);
    if (code) {
        halo_chain_destroy(chain);
        return code;
    }
    *ret = chain;
    return 0;
}

int halo_chain_check_each(const char *text, struct halo_error *err)
{
    struct halo_chain *chain = NULL, *one = calloc(1, sizeof *one);
    int code = one ? halo_chain_parse(&chain, text, err) : halo_fail(err, -ENOMEM, "out of memory");
    for (int f = 0; code == 0 && f < chain->count; f++) {
        one->filter[0] = chain->filter[f]; /* borrowed */
        one->count = 1;
        code = judge_unseen(one, HALO_PRIVACY_STRICT, err);
    }
    halo_chain_destroy(chain);
    free(one);
    return code;
}

int halo_chain_check_feed(const char *text, struct halo_error *err)
{
    struct halo_chain *chain = NULL;
    if (halo_chain_parse(&chain, text, NULL) < 0)
        return 0;
    const int code = halo_chain_refuse_feed(chain, err);
    halo_chain_destroy(chain);
    return code;
}

int halo_chain_check(const char *text, enum halo_privacy privacy, struct halo_error *err)
{
    if (strlen(text) > HALO_MAX_CHAIN)
        return halo_fail_usage(err, "the chain is longer than %d bytes", HALO_MAX_CHAIN);
    struct halo_chain *chain = NULL;
    const int code = halo_chain_admit(&chain, text, privacy, err);
    halo_chain_destroy(chain);
    return code;
}
