/* SPDX-License-Identifier: BSD-2-Clause
 * The plans of a gate's chain (gate_ways.h). */
#include "pipeline/gate/gate_ways.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "config/base/log.h"

static void close_way(struct halo_gate_way *way)
{
    halo_gate_regions_destroy(way->regions);
    halo_gate_plan_finish(&way->plan);
}

static int open_way(struct halo_gate_way *way, const struct halo_chain *chain,
                    const struct halo_gate_ways *ways, const struct halo_gate_input *input,
                    struct halo_error *err)
{
    int code = halo_gate_plan_init(&way->plan, chain, ways->ring, input, err);
    if (code == 0)
        code = halo_gate_plan_judge(&way->plan, err);
    if (code == 0)
        code = halo_gate_plan_cover(&way->plan, &way->coverage, err);
    if (code < 0)
        return code;
    if (!way->plan.supplied && !way->plan.written)
        return 0;
    way->regions = halo_gate_regions_create(&way->plan, ways->cells);
    return way->regions ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

int halo_gate_ways_open(struct halo_gate_ways *ways, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err)
{
    struct halo_gate_input first = *input;
    first.turn %=
        HALO_DISPLAYS; /* unknown becomes 0: filters with a written region then apply everywhere */
    ways->ring = ring;
    if (halo_gate_cells_create(&ways->cells, chain, input->hidden, input->frozen) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    return open_way(&ways->first, chain, ways, &first, err);
}

void halo_gate_ways_close(struct halo_gate_ways *ways)
{
    close_way(&ways->first);
    for (int i = 0; i < HALO_GATE_WAYS; i++) {
        if (ways->other[i])
            close_way(ways->other[i]);
        av_freep(&ways->other[i]);
    }
    halo_gate_cells_destroy(ways->cells);
}

void halo_gate_ways_set_feed(struct halo_gate_ways *ways, struct halo_region_feed *feed)
{
    ways->feed = feed;
    if (ways->first.regions)
        halo_gate_regions_set_feed(ways->first.regions, feed);
    for (int i = 0; i < HALO_GATE_WAYS; i++)
        if (ways->other[i])
            halo_gate_regions_set_feed(ways->other[i]->regions, feed);
}

static void say_scaled(struct halo_gate_ways *ways)
{
    const struct halo_gate_input *in = &ways->first.plan.input;
    if (!ways->said_scaled)
        halo_log(
            HALO_LOG_WARNING,
            "stream %d: whole frames are filtered, because regions in pixels apply to one frame "
            "size only, and the size is no longer %dx%d or differs from the settings (lengths "
            "in %% work for every size)",
            in->stream, in->width, in->height);
    ways->said_scaled = true;
}

static struct halo_gate_way *make_way(struct halo_gate_ways *ways, int turn, int spill)
{
    struct halo_gate_input input = ways->first.plan.input;
    struct halo_error err = {0};
    struct halo_gate_way *way = av_mallocz(sizeof *way);
    int code = way ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    input.turn = turn;
    input.spill = spill;
    if (code == 0)
        code = open_way(way, ways->first.plan.chain, ways, &input, &err);
    if (code == 0) {
        halo_gate_regions_set_feed(way->regions, ways->feed);
        return way;
    }
    if (way)
        close_way(way);
    av_free(way);
    halo_log(HALO_LOG_WARNING,
             "stream %d: the regions cannot be applied to frames that are %s for display, so "
             "the whole area of these frames is filtered: %s",
             input.stream, halo_display_words(turn), err.text);
    return NULL;
}

/* Finds or makes the way; NULL: the chain does not fit such frames. */
static const struct halo_gate_way *find_way(struct halo_gate_ways *ways, int turn, int spill)
{
    const struct halo_gate_input *input = &ways->first.plan.input;
    const int i = turn * HALO_SPILLS + spill;
    if (turn == input->turn && spill == input->spill)
        return &ways->first;
    if (!ways->other[i] && !ways->refused[i])
        ways->refused[i] = !(ways->other[i] = make_way(ways, turn, spill));
    return ways->other[i];
}

/* The chroma spill that is possible in the plan's format. */
static int most_spill(const struct halo_gate_plan *plan)
{
    const struct halo_plane_info info =
        halo_format_plane_info(plan->format, 1, 1, plan->planes - 1);
    return (info.log2_sub_x ? HALO_SPILL_X : 0) | (info.log2_sub_y ? HALO_SPILL_Y : 0);
}

const struct halo_gate_way *halo_gate_ways_choose(struct halo_gate_ways *ways, int turn, int spill,
                                                  bool scaled, enum halo_gate_known *ret_known)
{
    const struct halo_gate_plan *first = &ways->first.plan;
    const bool unknown = first->written && turn == HALO_DISPLAY_UNKNOWN;
    *ret_known = HALO_KNOWN;
    if (!first->written && !first->supplied)
        return &ways->first;
    const struct halo_gate_way *way =
        find_way(ways, first->written && !unknown ? turn : first->input.turn,
                 (spill & most_spill(first)) | first->input.spill);
    if (!way) {
        *ret_known = HALO_KNOWN_NOTHING;
        return &ways->first;
    }
    if (unknown) {
        if (!ways->said_unknown)
            halo_log(
                HALO_LOG_WARNING,
                "stream %d: the rotation of some frames is ambiguous, so the position of regions "
                "in them is unknown, and such frames are filtered completely",
                ways->first.plan.input.stream);
        ways->said_unknown = true;
        *ret_known = HALO_KNOWN_TOLD;
    } else if (first->pixels && (scaled || first->input.unsure)) {
        say_scaled(ways);
        *ret_known = HALO_KNOWN_PARTS;
    }
    return way;
}
