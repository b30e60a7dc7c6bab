/* SPDX-License-Identifier: BSD-2-Clause
 * halo-bench: lists of masks, its options, medians, the ratio of reuse. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_all.h"
#include "tools/halo-bench/mask.h"
#include "tools/halo-bench/settings.h"
#include "tools/halo-bench/stats.h"

static void test_masks(void **state)
{
    (void)state;
    struct halo_bench_mask masks[HALO_BENCH_MAX_MASKS];
    struct halo_error err = {0};
    assert_int_equal(halo_bench_masks_parse(masks, "gauss:7,15,dense:3,box:2049", &err), 4);
    static const struct halo_bench_mask wanted[] = {{HALO_BENCH_GAUSS, 7},
                                                    {HALO_BENCH_GAUSS, 15},
                                                    {HALO_BENCH_DENSE, 3},
                                                    {HALO_BENCH_BOX, 2049}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(masks[i].kind, wanted[i].kind);
        assert_int_equal(masks[i].width, wanted[i].width);
    }
}

static void test_bad_masks(void **state)
{
    (void)state;
    static const struct {
        const char *list, *says;
    } bad[] = {
        {"", "list"},           {"gauss:7,", "list"},     {",gauss:7", "list"},
        {"gauss", "no kind"},   {"gauss:", "whole"},      {"gauss:x", "whole"},
        {"gauss:4", "odd"},     {"gauss:1", "odd"},       {"gauss:-3", "odd"},
        {"gauss:1203", "1201"}, {"dense:65", "63"},       {"box:2051", "2049"},
        {"7", "no kind"},       {"gaus:7", "gauss"},      {"gauss:7,bix:3", "box"},
        {"gauss:7.0", "whole"}, {"zzzzzzz:3", "must be"}, {"gauss:99999999999999", "1201"},
        {"gauss:7 ", "whole"},  {":3", "unknown kind"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct halo_bench_mask untouched = {HALO_BENCH_BOX, 77};
        struct halo_error err = {0};
        assert_int_equal(halo_bench_masks_parse(&untouched, bad[i].list, &err), -EINVAL);
        assert_true(err.usage);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' says '%s', not '%s'", bad[i].list, err.text, bad[i].says);
        assert_int_equal(untouched.width, 77);
    }
}

static void test_too_many_masks(void **state)
{
    (void)state;
    struct halo_bench_mask masks[HALO_BENCH_MAX_MASKS];
    struct halo_error err = {0};
    char list[HALO_BENCH_MAX_MASKS * 2 + 16] = "gauss:3";
    for (int i = 1; i < HALO_BENCH_MAX_MASKS; i++)
        strcat(list, ",5");
    assert_int_equal(halo_bench_masks_parse(masks, list, &err), HALO_BENCH_MAX_MASKS);
    strcat(list, ",7");
    assert_int_equal(halo_bench_masks_parse(masks, list, &err), -EINVAL);
}

/* A name promises its width: no mask may come out a tap wider or narrower. */
static void test_widths(void **state)
{
    (void)state;
    for (int width = 3; width <= HALO_MAX_TAPS; width += 2) {
        for (int depth = 8; depth <= 10; depth += 2) {
            struct halo_conv conv;
            const struct halo_bench_mask gauss = {HALO_BENCH_GAUSS, width};
            assert_int_equal(halo_bench_mask_make(&conv, &gauss, depth), 0);
            assert_int_equal(conv.kind, HALO_CONV_SEPARABLE);
            assert_int_equal(conv.radius_x, width / 2);
            assert_int_equal(conv.radius_y, width / 2);
            const struct halo_bench_mask dense = {HALO_BENCH_DENSE, width};
            if (width > HALO_MAX_DENSE)
                continue;
            assert_int_equal(halo_bench_mask_make(&conv, &dense, depth), 0);
            assert_int_equal(conv.kind, HALO_CONV_DENSE);
            assert_int_equal(conv.radius_x, width / 2);
        }
    }
}

static void test_weights(void **state)
{
    (void)state;
    static double weights[HALO_MAX_DENSE * HALO_MAX_DENSE];
    const struct halo_bench_mask gauss = {HALO_BENCH_GAUSS, 31}, dense = {HALO_BENCH_DENSE, 9};
    double sum = 0;
    halo_bench_mask_weights(weights, &gauss);
    for (int i = 0; i < 31; i++)
        sum += weights[i];
    assert_true(fabs(sum - 1) < 1e-12);
    assert_true(weights[0] == weights[30] && weights[15] > weights[14]);
    halo_bench_mask_weights(weights, &dense);
    sum = 0;
    for (int i = 0; i < 81; i++)
        sum += fabs(weights[i]);
    assert_true(fabs(sum - 1) < 1e-12);
}

static void test_stats(void **state)
{
    (void)state;
    double one[] = {3}, odd[] = {5, 1, 9}, even[] = {4, 1, 8, 2};
    struct halo_bench_stats s = halo_bench_stats_of(one, 1);
    assert_true(s.median == 3 && s.min == 3 && s.max == 3);
    s = halo_bench_stats_of(odd, 3);
    assert_true(s.median == 5 && s.min == 1 && s.max == 9);
    s = halo_bench_stats_of(even, 4);
    assert_true(s.median == 3 && s.min == 1 && s.max == 8);
}

static void test_reuse(void **state)
{
    (void)state;
    assert_true(fabs(halo_bench_reuse_1d(8, 3) - 2.4) < 1e-12);
    assert_true(fabs(halo_bench_reuse_2d(8, 3) - 5.76) < 1e-12);
    assert_true(halo_bench_reuse_1d(16, 1) == 1); /* nothing to use again */
    assert_true(halo_bench_reuse_2d(1, 15) == 1);
}

static int parse(struct halo_bench_settings *s, struct halo_error *err, const char *words)
{
    char copy[256], *argv[32];
    int argc = 0;
    strcpy(copy, words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    memset(err, 0, sizeof *err);
    return halo_bench_parse(s, argc, argv, err);
}

static void test_options(void **state)
{
    (void)state;
    static struct halo_bench_settings s;
    struct halo_error err;
    assert_int_equal(parse(&s, &err,
                           "--backend cpu --size=64x48 --strategies rows,auto "
                           "--launch graph --planes 3 --plot x.svg --json"),
                     0);
    assert_string_equal(s.backend->name, "cpu");
    assert_true(s.width == 64 && s.height == 48 && s.planes == 3 && s.rounds == 20);
    assert_true(s.strategy_count == 2 && s.strategies[0] && !s.strategies[1]);
    assert_int_equal(s.launch, HALO_GRAPH);
    assert_int_equal(s.format, HALO_BENCH_JSON);
    assert_int_equal(s.mode, HALO_BENCH_GRID);
    assert_string_equal(s.plot, "x.svg");
    assert_true(s.mask_count > 10);
    halo_bench_finish(&s);
}

static void test_bad_options(void **state)
{
    (void)state;
    static struct halo_bench_settings s;
    static const char *const bad[] = {
        "--sise 1x1",
        "-size 1x1",
        "size",
        "--size",
        "--size=",
        "--size 1x",
        "--size 0x1",
        "--size 1x1x",
        "--size 99999x1",
        "--rounds 0",
        "--planes x",
        "--channels 3",
        "--csv --json",
        "--list --reuse",
        "--list --svg x",
        "--csv=1",
        "--launch no",
        "--backend gpu",
        "--backend cpu --strategies row",
        "--backend cpu --strategies rows,",
        "--limit 0",
        "--peers --backend cpu",
        "--peers --channels 2",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct halo_error err;
        if (parse(&s, &err, bad[i]) != -EINVAL || !err.usage || !err.text[0])
            fail_msg("'%s' is taken", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks),       cmocka_unit_test(test_bad_masks),
        cmocka_unit_test(test_widths),      cmocka_unit_test(test_too_many_masks),
        cmocka_unit_test(test_weights),     cmocka_unit_test(test_stats),
        cmocka_unit_test(test_reuse),       cmocka_unit_test(test_options),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
