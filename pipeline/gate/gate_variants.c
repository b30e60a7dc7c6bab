/* SPDX-License-Identifier: BSD-2-Clause
 * The plans of a gate's chain (gate_variants.h). */
#include "pipeline/gate/gate_variants.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "config/base/log.h"

static void close_way(struct halo_gate_variant *variant)
{
    halo_gate_regions_destroy(variant->regions);
    halo_gate_plan_finish(&variant->plan);
}

static int open_way(struct halo_gate_variant *variant, const struct halo_chain *chain,
                    const struct halo_gate_variants *variants, const struct halo_gate_input *input,
                    struct halo_error *err)
{
    int code = halo_gate_plan_init(&variant->plan, chain, variants->ring, input, err);
    if (code == 0)
        code = halo_gate_plan_judge(&variant->plan, err);
    if (code == 0)
        code = halo_gate_plan_cover(&variant->plan, &variant->coverage, err);
    if (code < 0)
        return code;
    if (!variant->plan.supplied && !variant->plan.written)
        return 0;
    variant->regions = halo_gate_regions_create(&variant->plan, variants->cells);
    return variant->regions ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

int halo_gate_variants_open(struct halo_gate_variants *variants, const struct halo_chain *chain,
                            struct halo_ring *ring, const struct halo_gate_input *input,
                            struct halo_error *err)
{
    struct halo_gate_input first = *input;
    first.turn %=
        HALO_DISPLAYS; /* unknown becomes 0: filters with a written region then apply everywhere */
    variants->ring = ring;
    if (halo_gate_cells_create(&variants->cells, chain, input->hidden, input->frozen) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    return open_way(&variants->first, chain, variants, &first, err);
}

void halo_gate_variants_close(struct halo_gate_variants *variants)
{
    close_way(&variants->first);
    for (int i = 0; i < HALO_GATE_VARIANTS; i++) {
        if (variants->other[i])
            close_way(variants->other[i]);
        av_freep(&variants->other[i]);
    }
    halo_gate_cells_destroy(variants->cells);
}

void halo_gate_variants_set_feed(struct halo_gate_variants *variants, struct halo_region_feed *feed)
{
    variants->feed = feed;
    if (variants->first.regions)
        halo_gate_regions_set_feed(variants->first.regions, feed);
    for (int i = 0; i < HALO_GATE_VARIANTS; i++)
        if (variants->other[i])
            halo_gate_regions_set_feed(variants->other[i]->regions, feed);
}

static void say_scaled(struct halo_gate_variants *variants)
{
    const struct halo_gate_input *in = &variants->first.plan.input;
    if (!variants->said_scaled)
        halo_log(
            HALO_LOG_WARNING,
            "stream %d: whole frames are filtered, because regions in pixels apply to one frame "
            "size only, and the size is no longer %dx%d or differs from the settings (lengths "
            "in %% work for every size)",
            in->stream, in->width, in->height);
    variants->said_scaled = true;
}

static struct halo_gate_variant *make_way(struct halo_gate_variants *variants, int turn, int spill)
{
    struct halo_gate_input input = variants->first.plan.input;
    struct halo_error err = {0};
    struct halo_gate_variant *variant = av_mallocz(sizeof *variant);
    int code = variant ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    input.turn = turn;
    input.spill = spill;
    if (code == 0)
        code = open_way(variant, variants->first.plan.chain, variants, &input, &err);
    if (code == 0) {
        halo_gate_regions_set_feed(variant->regions, variants->feed);
        return variant;
    }
    if (variant)
        close_way(variant);
    av_free(variant);
    halo_log(HALO_LOG_WARNING,
             "stream %d: the regions cannot be applied to frames that are %s for display, so "
             "the whole area of these frames is filtered: %s",
             input.stream, halo_display_words(turn), err.text);
    return NULL;
}

/* Finds or makes the way; NULL: the chain does not fit such frames. */
static const struct halo_gate_variant *find_way(struct halo_gate_variants *variants, int turn,
                                                int spill)
{
    const struct halo_gate_input *input = &variants->first.plan.input;
    const int i = turn * HALO_SPILLS + spill;
    if (turn == input->turn && spill == input->spill)
        return &variants->first;
    if (!variants->other[i] && !variants->refused[i])
        variants->refused[i] = !(variants->other[i] = make_way(variants, turn, spill));
    return variants->other[i];
}

/* The chroma spill that is possible in the plan's format. */
static int most_spill(const struct halo_gate_plan *plan)
{
    const struct halo_plane_info info =
        halo_format_plane_info(plan->format, 1, 1, plan->planes - 1);
    return (info.log2_sub_x ? HALO_SPILL_X : 0) | (info.log2_sub_y ? HALO_SPILL_Y : 0);
}

const struct halo_gate_variant *halo_gate_variants_choose(struct halo_gate_variants *variants,
                                                          int turn, int spill, bool scaled,
                                                          enum halo_gate_known *ret_known)
{
    const struct halo_gate_plan *first = &variants->first.plan;
    const bool unknown = first->written && turn == HALO_DISPLAY_UNKNOWN;
    *ret_known = HALO_KNOWN;
    if (!first->written && !first->supplied)
        return &variants->first;
    const struct halo_gate_variant *variant =
        find_way(variants, first->written && !unknown ? turn : first->input.turn,
                 (spill & most_spill(first)) | first->input.spill);
    if (!variant) {
        *ret_known = HALO_KNOWN_NOTHING;
        return &variants->first;
    }
    if (unknown) {
        if (!variants->said_unknown)
            halo_log(
                HALO_LOG_WARNING,
                "stream %d: the rotation of some frames is ambiguous, so the position of regions "
                "in them is unknown, and such frames are filtered completely",
                variants->first.plan.input.stream);
        variants->said_unknown = true;
        *ret_known = HALO_KNOWN_TOLD;
    } else if (first->pixels && (scaled || first->input.unsure)) {
        say_scaled(variants);
        *ret_known = HALO_KNOWN_PARTS;
    }
    return variant;
}
