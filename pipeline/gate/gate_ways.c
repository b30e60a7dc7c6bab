/* SPDX-License-Identifier: BSD-2-Clause
 * The plans of a gate's chain (gate_ways.h). */
#include "pipeline/gate/gate_ways.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "config/log.h"

static void close_way(struct halo_gate_way *way)
{
    halo_gate_regions_destroy(way->regions);
    halo_gate_plan_finish(&way->plan);
}

static int open_way(struct halo_gate_way *way, const struct halo_chain *chain,
                    struct halo_ring *ring, const struct halo_gate_input *input,
                    struct halo_error *err)
{
    int ret = halo_gate_plan_init(&way->plan, chain, ring, input, err);
    if (ret == 0)
        ret = halo_gate_plan_judge(&way->plan, err);
    if (ret == 0)
        ret = halo_gate_plan_cover(&way->plan, &way->coverage, err);
    if (ret < 0)
        return ret;
    if (!way->plan.feed && !way->plan.written)
        return 0;
    way->regions = halo_gate_regions_create(&way->plan);
    return way->regions ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

int halo_gate_ways_open(struct halo_gate_ways *ways, const struct halo_chain *chain,
                        struct halo_ring *ring, const struct halo_gate_input *input,
                        struct halo_error *err)
{
    struct halo_gate_input first = *input;
    first.turn %= HALO_DISPLAYS; /* unknown: none of its pictures goes this way with regions */
    ways->ring = ring;
    return open_way(&ways->first, chain, ring, &first, err);
}

void halo_gate_ways_close(struct halo_gate_ways *ways)
{
    close_way(&ways->first);
    for (int turn = 0; turn < HALO_DISPLAYS; turn++) {
        if (ways->other[turn])
            close_way(ways->other[turn]);
        av_freep(&ways->other[turn]);
    }
}

void halo_gate_ways_set_feed(struct halo_gate_ways *ways, struct halo_region_feed *feed)
{
    ways->feed = feed;
    if (ways->first.regions)
        halo_gate_regions_set_feed(ways->first.regions, feed);
    for (int turn = 0; turn < HALO_DISPLAYS; turn++)
        if (ways->other[turn])
            halo_gate_regions_set_feed(ways->other[turn]->regions, feed);
}

static void say_scaled(struct halo_gate_ways *ways)
{
    const struct halo_gate_input *in = &ways->first.plan.input;
    if (!ways->said_scaled)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: its regions have lengths in pixels, and its pictures come in another "
                 "size than %dx%d, or than their settings say: all of each is filtered (lengths "
                 "in %% hold for every size)",
                 in->stream, in->width, in->height);
    ways->said_scaled = true;
}

static void say_unknown(struct halo_gate_ways *ways)
{
    if (!ways->said_unknown)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: it is not clear how some of its pictures are to be turned to be "
                 "shown, and so not where its regions lie: all of each such picture is filtered",
                 ways->first.plan.input.stream);
    ways->said_unknown = true;
}

static struct halo_gate_way *make_way(struct halo_gate_ways *ways, int turn)
{
    struct halo_gate_input input = ways->first.plan.input;
    struct halo_error err = {0};
    struct halo_gate_way *way = av_mallocz(sizeof *way);
    int ret = way ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    input.turn = turn;
    if (ret == 0)
        ret = open_way(way, ways->first.plan.chain, ways->ring, &input, &err);
    if (ret == 0) {
        halo_gate_regions_set_feed(way->regions, ways->feed);
        return way;
    }
    if (way)
        close_way(way);
    av_free(way);
    halo_log(HALO_LOG_WARNING, "pictures that are to be %s to be shown are filtered whole: %s",
             halo_display_words(turn), err.text);
    return NULL;
}

/* NULL: there is none. */
static const struct halo_gate_way *find_way(struct halo_gate_ways *ways, int turn)
{
    if (turn == ways->first.plan.input.turn)
        return &ways->first;
    if (turn == HALO_DISPLAY_UNKNOWN) {
        say_unknown(ways);
        return NULL;
    }
    if (!ways->other[turn] && !ways->refused[turn])
        ways->refused[turn] = !(ways->other[turn] = make_way(ways, turn));
    return ways->other[turn];
}

const struct halo_gate_way *halo_gate_ways_choose(struct halo_gate_ways *ways, int turn,
                                                  bool scaled, enum halo_gate_known *ret_known)
{
    const struct halo_gate_plan *first = &ways->first.plan;
    *ret_known = HALO_KNOWN;
    if (!first->written)
        return &ways->first;
    const struct halo_gate_way *way = find_way(ways, turn);
    if (!way) {
        *ret_known = HALO_KNOWN_NOTHING;
        return &ways->first;
    }
    if (first->pixels && (scaled || first->input.unsure)) {
        say_scaled(ways);
        *ret_known = HALO_KNOWN_PARTS;
    }
    return way;
}
