/* SPDX-License-Identifier: BSD-2-Clause
 * What every kind of filter promises, tried with the example of each: a new kind is tested here
 * without a line of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/filter/residual.h"
#include "tests/cmocka_all.h"

enum { WIDTH = 67, HEIGHT = 45, MAX_CHANNELS = 2 };

static const int depths[] = {8, 10, 12};

/* Luma, and chroma of 4:2:0, 4:2:2 and 4:4:4. */
static const struct halo_plane_info planes[] = {
    {.width = WIDTH, .height = HEIGHT},
    {.index = 1,
     .chroma = true,
     .log2_sub_x = 1,
     .log2_sub_y = 1,
     .width = (WIDTH + 1) / 2,
     .height = (HEIGHT + 1) / 2},
    {.index = 2, .chroma = true, .log2_sub_x = 1, .width = (WIDTH + 1) / 2, .height = HEIGHT},
    {.index = 1, .chroma = true, .width = WIDTH, .height = HEIGHT},
};

enum { PLANES = sizeof planes / sizeof *planes, DEPTHS = sizeof depths / sizeof *depths };

static struct halo_chain *parse(const char *text)
{
    struct halo_chain *chain = NULL;
    struct halo_error err = {0};
    if (halo_chain_parse(&chain, text, &err))
        fail_msg("%s: %s", text, err.text);
    return chain;
}

static struct halo_plane_plan plan_of(const struct halo_filter *filter, int p, int d)
{
    struct halo_plane_plan plan;
    struct halo_error err = {0};
    struct halo_plane_info info = planes[p];
    info.target.depth = depths[d];
    if (halo_filter_plan(filter, info, &plan, &err))
        fail_msg("%s", err.text);
    return plan;
}

static void each_example(void (*try)(const struct halo_filter_kind *, struct halo_chain *))
{
    for (int i = 0; halo_filter_kinds[i]; i++) {
        struct halo_chain *chain = parse(halo_filter_kinds[i]->example);
        assert_int_equal(chain->count, 1);
        assert_ptr_equal(chain->filter[0].kind, halo_filter_kinds[i]);
        try(halo_filter_kinds[i], chain);
        halo_chain_destroy(chain);
    }
}

/* ---- accuracy ---- */

static void try_bounds(const struct halo_filter_kind *kind, struct halo_chain *chain)
{
    for (int p = 0; p < PLANES; p++) {
        for (int d = 0; d < DEPTHS; d++) {
            const struct halo_plane_plan plan = plan_of(&chain->filter[0], p, d);
            const double most = plan.conv.kind == HALO_CONV_DECIMATED ? 2 : 1;
            if (plan.passes < 1 || plan.conv.depth != depths[d] || plan.conv.error_bound > most)
                fail_msg("%s, plane %d of %d bits: %d passes of %d bits, off by %g", kind->name, p,
                         depths[d], plan.passes, plan.conv.depth, plan.conv.error_bound);
        }
    }
}

static void every_depth_within_one_code_value(void **state)
{
    (void)state;
    each_example(try_bounds);
}

/* ---- strategies ---- */

static uint16_t source[WIDTH * HEIGHT * MAX_CHANNELS], got[WIDTH * HEIGHT * MAX_CHANNELS],
    wanted[WIDTH * HEIGHT * MAX_CHANNELS];

static struct halo_plane plane_of(void *data, int p, int depth, int channels)
{
    struct halo_plane ret = {.data = data,
                             .width = planes[p].width,
                             .height = planes[p].height,
                             .channels = channels,
                             .depth = depth};
    ret.stride = (ptrdiff_t)halo_plane_row_bytes(&ret);
    return ret;
}

/* Half noise, half hard edges. */
static void fill(const struct halo_plane *plane)
{
    for (int i = 0; i < plane->width * plane->height * plane->channels; i++) {
        const int max = halo_sample_max(plane->depth), noise = rand() % (max + 1);
        const int v = i % 2 ? noise : i / 300 % 2 * max;
        if (plane->depth == 8)
            ((uint8_t *)plane->data)[i] = (uint8_t)v;
        else
            ((uint16_t *)plane->data)[i] = (uint16_t)v;
    }
}

static struct halo_backend *cpu, *tried;

static void try_strategies_on(const char *name, const struct halo_conv *conv, int p, int channels)
{
    const struct halo_plane src = plane_of(source, p, conv->depth, channels);
    struct halo_job job = {.conv = conv,
                           .strategy = halo_strategy_find(cpu->ops, "reference"),
                           .src = src,
                           .dst = plane_of(wanted, p, conv->depth, channels)};
    fill(&src);
    assert_int_equal(halo_backend_convolve(cpu, &job, 1), 0);
    job.dst.data = got;
    for (int s = 0; tried->ops->strategies[s]; s++) {
        job.strategy = tried->ops->strategies[s];
        if (!halo_backend_can(tried, job.strategy, conv, channels))
            continue;
        memset(got, 0x5a, sizeof got);
        assert_int_equal(halo_backend_convolve(tried, &job, 1), 0);
        const size_t bytes = halo_plane_row_bytes(&src) * (size_t)src.height;
        if (memcmp(got, wanted, bytes) != 0)
            fail_msg("%s, plane %d of %d bits, %d channels: %s of %s is not the reference", name, p,
                     conv->depth, channels, job.strategy->name, tried->ops->name);
    }
}

static void try_strategies(const struct halo_filter_kind *kind, struct halo_chain *chain)
{
    for (int p = 0; p < PLANES; p++) {
        for (int d = 0; d < DEPTHS; d++) {
            const struct halo_plane_plan plan = plan_of(&chain->filter[0], p, d);
            try_strategies_on(kind->name, &plan.conv, p, 1);
            if (planes[p].index == 1)
                try_strategies_on(kind->name, &plan.conv, p, 2);
        }
    }
}

static void every_strategy_gives_the_same(void **state)
{
    const struct halo_backend_settings settings = {.threads = 2};
    (void)state;
    assert_int_equal(halo_backend_open(halo_backend_find("cpu"), &settings, &cpu), 0);
    for (int b = 0; halo_backends[b]; b++) {
        if (halo_backend_open(halo_backends[b], &settings, &tried) < 0)
            continue; /* no such device here */
        each_example(try_strategies);
        halo_backend_close(tried);
    }
    halo_backend_close(cpu);
}

/* ---- what is left ---- */

static void try_effect(const struct halo_filter_kind *kind, struct halo_chain *chain)
{
    const enum halo_privacy hides[] = {HALO_PRIVACY_STRICT, HALO_PRIVACY_OFF};
    struct halo_response *response = calloc(1, sizeof *response);
    struct halo_residual *residual = calloc(1, sizeof *residual);
    struct halo_chain *admitted = NULL;
    const struct halo_plane_plan plan = plan_of(&chain->filter[0], 0, 0);
    assert_true(response && residual);
    halo_residual_begin(residual, plan.conv.depth);
    halo_response_plan(response, &plan);
    halo_residual_add(residual, &plan, response);
    const enum halo_effect effect = halo_residual_effect(residual, 0.7);
    if (effect != kind->effect)
        fail_msg("%s: effect %d, and declares %d", kind->name, effect, kind->effect);
    for (int i = 0; i < 2 && kind->effect != HALO_EFFECT_HIDES; i++) {
        const int code = halo_chain_admit(&admitted, kind->example, hides[i], NULL);
        assert_int_equal(code, hides[i] == HALO_PRIVACY_OFF ? 0 : -EINVAL);
    }
    halo_chain_destroy(admitted);
    free(residual);
    free(response);
}

static void every_effect_is_as_declared(void **state)
{
    (void)state;
    each_example(try_effect);
}

/* Without a plane no kind has anything to do: by accident, but for those that never have. */
static void try_idle(const struct halo_filter_kind *kind, struct halo_chain *chain)
{
    const bool open = kind->effect == HALO_EFFECT_IDENTITY;
    enum halo_chain_does does = HALO_CHAIN_OPEN_NULL;
    assert_int_equal(halo_chain_does(chain, &does, NULL), 0);
    assert_int_equal(does, open ? HALO_CHAIN_OPEN_NULL : HALO_CHAIN_FILTERS);
    chain->filter[0].common.planes = 0;
    assert_int_equal(halo_chain_does(chain, &does, NULL), 0);
    assert_int_equal(does, open ? HALO_CHAIN_OPEN_NULL : HALO_CHAIN_IDLE);
}

static void every_kind_is_idle_without_planes(void **state)
{
    enum halo_chain_does does;
    struct halo_chain *chain = parse("null,gblur=sigma=0,null");
    (void)state;
    assert_int_equal(halo_chain_does(chain, &does, NULL), 0);
    assert_int_equal(does, HALO_CHAIN_IDLE);
    halo_chain_destroy(chain);
    each_example(try_idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_depth_within_one_code_value),
        cmocka_unit_test(every_strategy_gives_the_same),
        cmocka_unit_test(every_effect_is_as_declared),
        cmocka_unit_test(every_kind_is_idle_without_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
