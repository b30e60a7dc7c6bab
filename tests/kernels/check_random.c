/* SPDX-License-Identifier: BSD-2-Clause
 * Cases made by lot. Each has a budget of samples times taps, also drawn by lot: twice as much is
 * half as likely, so small and large pictures take about the same part of the time. --thin leaves
 * out the large ones. */
#include <stdio.h>

#include "tests/kernels/check.h"
#include "tests/kernels/random_mask.h"

enum {
    LEAST_BUDGET = 1 << 20,
    DOUBLINGS = 11,
    LONG_LINE = 9000, /* more than two strips of the CPU's rows strategy */
};

static int side(uint64_t *state)
{
    const int lot = random_below(state, 8);
    if (lot == 0)
        return 1 + random_below(state, 8);
    if (lot < 5)
        return 1 + random_below(state, 80);
    if (lot == 7)
        return 1 + random_below(state, random_below(state, 4) ? 700 : LONG_LINE);
    /* A tile more or less. */
    const int tile = 16 << random_below(state, 4);
    return tile * (1 + random_below(state, 512 / tile)) + random_below(state, 3) - 1;
}

static void affordable_size(const struct check *k, struct test_case *t, uint64_t *state)
{
    double budget = LEAST_BUDGET;
    for (int i = 0; i < (k->thin ? 0 : DOUBLINGS) && random_below(state, 2); i++)
        budget *= 2;
    for (int tries = 0; tries < 32; tries++) {
        t->width = side(state);
        t->height = side(state);
        if (reference_cost(t->conv, t->width, t->height, t->format.channels) <= budget)
            return;
    }
    t->width = 1 + random_below(state, 8);
    t->height = 1 + random_below(state, 8);
}

static struct format any_format(uint64_t *state)
{
    static const int depths[] = {8, 8, 8, 10, 10, 12, 16};
    const int lot = random_below(state, 8);
    const int depth = lot < 7 ? depths[lot] : 8 + random_below(state, 9);
    const int shift = depth > 8 && random_below(state, 2) ? random_below(state, 17 - depth) : 0;
    return (struct format){depth, 1 + random_below(state, 2), shift};
}

/* Rows at any distance from each other and from a boundary of 64 bytes, or all of them on such. */
static struct layout any_layout(const struct test_case *t, uint64_t *state)
{
    const int lot = random_below(state, 8), samples = t->width * t->format.channels;
    return (struct layout){
        .before = lot < 2 ? 64 : 64 + random_below(state, 64),
        .between = lot < 2    ? -samples & 63
                   : lot == 2 ? 0
                              : random_below(state, 130),
        .upside_down = random_below(state, 4) == 0,
    };
}

void check_random(struct check *k)
{
    const long first = k->only >= 0 ? k->only : 0, end = k->only >= 0 ? k->only + 1 : k->random;
    for (long number = first; number < end; number++) {
        uint64_t state = case_state(k, number);
        struct test_case t = {.number = number, .format = any_format(&state)};
        const int max = halo_sample_max(t.format.depth);
        struct halo_conv_target target = {
            .depth = t.format.depth,
            .border = (enum halo_border)random_below(&state, HALO_BORDER_COUNT),
            .border_value = random_below(&state, 2) ? max : random_below(&state, max + 1),
        };
        struct halo_conv conv;
        char text[120];
        random_mask(&conv, &target, &state, text, sizeof text);
        t.conv = &conv;
        t.mask = text;
        affordable_size(k, &t, &state);
        t.src = any_layout(&t, &state);
        t.dst = any_layout(&t, &state);
        t.pattern =
            random_below(&state, 2) ? RANDOM : (enum pattern)random_below(&state, PATTERN_COUNT);
        t.state = state;
        check_case(k, &t);
    }
}
