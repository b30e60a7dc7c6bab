/* SPDX-License-Identifier: BSD-2-Clause
 * Several planes in one call: what planes of a launch share must not mix them up. */
#include "tests/kernels/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/masks.h"
#include "tests/kernels/picture.h"
#include "tests/kernels/regions.h"

enum { PLANES = 6, MAX_WIDTH = 300, MAX_HEIGHT = 150 };

static const double affordable = 5e6; /* samples times taps, for the reference */

struct one {
    struct halo_conv conv;
    const char *mask;
    struct picture src, got, want;
    struct test_region region;
    bool in_region;
};

static int draw_number(uint64_t *state, int most)
{
    return 1 + (int)(next_random(state) % (unsigned)most);
}

static void draw_mask(struct one *o, int samples, int depth, uint64_t *state)
{
    const struct halo_conv_target target = {
        depth, (enum halo_border)(next_random(state) % HALO_BORDER_COUNT), 1};
    for (;;) {
        const struct mask *mask = &masks[next_random(state) % (unsigned)mask_count];
        o->mask = mask->name;
        if (mask_make(&o->conv, mask, &target) == 0 &&
            (2.0 * o->conv.radius_x + 1) * (2.0 * o->conv.radius_y + 1) * samples < affordable)
            return;
    }
}

static struct layout any_layout(uint64_t *state)
{
    return (struct layout){draw_number(state, 99), draw_number(state, 40),
                           next_random(state) % 2 == 0};
}

static void draw(struct one *o, struct halo_backend *oracle, int depth, uint64_t *state)
{
    const int channels = draw_number(state, 2);
    const struct format format = {depth, channels, depth == 10 && next_random(state) % 2 ? 6 : 0};
    const int width = draw_number(state, MAX_WIDTH), height = draw_number(state, MAX_HEIGHT);
    draw_mask(o, width * height * channels, depth, state);
    o->src = picture_create(width, height, format, any_layout(state));
    const struct layout layout = any_layout(state);
    o->got = picture_create(width, height, format, layout);
    o->want = picture_create(width, height, format, layout);
    picture_fill(&o->src, RANDOM, &o->conv, state);

    const struct halo_job job = {&o->conv, halo_strategy_find(halo_backends[0], "reference"),
                                 o->src.plane, o->want.plane};
    if (halo_backend_convolve(oracle, &job, 1)) {
        printf("FAIL the reference itself\n");
        exit(1);
    }
    o->in_region = next_random(state) % 4;
    if (o->in_region) {
        test_region_draw(&o->region, width, height, state);
        test_region_apply(&o->region, &o->src, &o->want);
    }
}

static void finish(struct one *o)
{
    picture_destroy(&o->src);
    picture_destroy(&o->got);
    picture_destroy(&o->want);
    if (o->in_region)
        test_region_finish(&o->region);
}

int check_together(struct halo_backend *b, struct halo_backend *oracle, uint64_t seed, int rounds)
{
    static struct one planes[PLANES];
    uint64_t state = seed + 1;
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        struct halo_job jobs[PLANES];
        const int count = draw_number(&state, PLANES), depth = round % 3 ? 8 : 10;
        for (int i = 0; i < count; i++) {
            draw(&planes[i], oracle, depth, &state);
            jobs[i] = (struct halo_job){
                .conv = &planes[i].conv,
                .src = planes[i].src.plane,
                .dst = planes[i].got.plane,
                .region = planes[i].in_region ? &planes[i].region.region : NULL,
            };
        }
        const int error = halo_backend_convolve(b, jobs, count);
        for (int i = 0; i < count; i++) {
            const struct one *o = &planes[i];
            if (error || memcmp(o->got.memory, o->want.memory, o->want.size)) {
                printf("FAIL %s/auto: round %d of calls with several planes, plane %d of %d: %dx%d "
                       "depth %d channels %d, %s%s%s%s\n",
                       b->ops->name, round, i, count, o->src.plane.width, o->src.plane.height,
                       depth, o->src.plane.channels, o->mask, o->in_region ? ", " : "",
                       o->in_region ? o->region.name : "", error ? ": the call failed" : "");
                wrong++;
            }
            finish(&planes[i]);
        }
    }
    return wrong;
}
