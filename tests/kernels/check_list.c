/* SPDX-License-Identifier: BSD-2-Clause
 * The listed cases: sizes, formats and masks, each with the others. Cases whose reference would be
 * slow are drawn by lot, so that all of them have about the same expected cost; --full draws more
 * of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/kernels/check.h"
#include "tests/kernels/masks.h"

/* The widest one is three strips of the CPU's rows strategy. */
static const int sizes[][2] = {
    {1, 1},   {1, 7},     {7, 1},     {3, 5},    {17, 9},      {64, 48},
    {65, 33}, {257, 131}, {641, 363}, {8195, 5}, {1921, 1081}, {3840, 2160},
};

static const struct format formats[] = {
    {8, 1, 0},  {8, 2, 0},  {9, 1, 0},  {10, 1, 0}, {10, 2, 0}, {10, 1, 6},
    {10, 2, 6}, {12, 1, 0}, {12, 2, 0}, {12, 1, 4}, {12, 2, 4}, {16, 2, 0},
};

/* Rows lie an odd number of samples apart, so that they begin at every alignment. */
static struct layout odd_layout(const struct test_case *t, bool upside_down)
{
    static const int guard = 75;
    const int between = guard + t->width * t->format.channels % 2;
    return (struct layout){guard, between, upside_down};
}

/* False where the mask cannot be made for this format, which is only right if it says -ERANGE. */
static bool make(struct check *k, const struct test_case *t, const struct mask *mask,
                 enum halo_border border, uint64_t draw, struct halo_conv *conv)
{
    const int max = halo_sample_max(t->format.depth);
    const struct halo_conv_target target = {t->format.depth, border, (int)(draw % (max + 1u))};
    const int error = mask_make(conv, mask, &target);
    if (error) {
        k->skipped++;
        if (error != -ERANGE)
            expect(k, mask->name, error, -ERANGE);
    }
    return !error;
}

static void run_case(struct check *k, struct test_case *t, const struct mask *mask,
                     enum halo_border border)
{
    if (k->only >= 0 && t->number != k->only)
        return;
    t->state = case_state(k, t->number);
    const uint64_t draw = next_random(&t->state);
    t->src = odd_layout(t, draw >> 10 & 1);
    t->dst = odd_layout(t, draw >> 11 & 1);

    /* Before the mask, which takes longer to make than small pictures to filter. */
    const uint64_t drawn = next_random(&t->state);
    if (k->only < 0 && k->thin && drawn % (uint64_t)k->thin)
        return;
    struct halo_conv conv;
    if (!make(k, t, mask, border, draw >> 12, &conv))
        return;
    const double affordable = k->full ? 3e6 : 5e5;
    const double lot = (double)(next_random(&t->state) % 1000000) / 1e6;
    const double cost = reference_cost(&conv, t->width, t->height, t->format.channels);
    if (k->only < 0 && lot * cost > affordable)
        return;
    t->conv = &conv;
    t->mask = mask->name;
    check_case(k, t);
}

/* Small pictures meet every border and pattern; for the larger ones both go round. */
void check_list(struct check *k)
{
    long number = 0, turn = (long)(k->seed % 97);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int m = 0; m < mask_count; m++) {
            for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
                const bool small = sizes[s][0] * sizes[s][1] <= (k->full ? 200 : 40);
                const int rounds = small ? HALO_BORDER_COUNT * PATTERN_COUNT : k->full ? 4 : 1;
                for (int i = 0; i < rounds; i++, turn++) {
                    struct test_case t = {
                        .number = number++,
                        .width = sizes[s][0],
                        .height = sizes[s][1],
                        .format = formats[f],
                        /* Half of the turns are random data, the one pattern with no structure. */
                        .pattern = small      ? (enum pattern)(i / HALO_BORDER_COUNT)
                                   : turn % 2 ? RANDOM
                                              : (enum pattern)(turn / 2 % PATTERN_COUNT),
                    };
                    run_case(k, &t, &masks[m], (enum halo_border)(turn % HALO_BORDER_COUNT));
                }
            }
        }
    }
}
