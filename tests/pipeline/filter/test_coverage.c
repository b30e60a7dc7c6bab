/* SPDX-License-Identifier: BSD-2-Clause
 * How much of each plane a chain hides: from its text alone, and by the gate. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipeline/filter/coverage.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/filter/judge.h"

static struct halo_coverage guess(const char *text, int width, int height)
{
    struct halo_chain *chain;
    struct halo_coverage ret;
    struct halo_error err = {0};
    assert_int_equal(halo_chain_parse(&chain, text, &err), 0);
    assert_int_equal(halo_coverage_guess(&ret, chain, width, height, &err), 0);
    halo_chain_destroy(chain);
    return ret;
}

static void is_said(const struct halo_coverage *coverage, const char *text, const char *words)
{
    char said[HALO_COVERAGE_WORDS];
    halo_coverage_words(coverage, said, sizeof said);
    if (strcmp(said, words) != 0)
        fail_msg("%s: %s, not %s", text, said, words);
}

static void guesses(void **state)
{
    static const char unknown[] =
        "a part that depends on the size of the frames or on a mask image";
    static const char expected[] = "the regions that are detected in each frame";
    static const struct {
        const char *chain;
        int width, height; /* 0: not known */
        const char *words;
    } cases[] = {
        {"solid", 0, 0, "100 % of every plane"},
        {"null", 0, 0, "0 % of every plane"},
        {"unsharp", 0, 0, "0 % of every plane"}, /* a change that hides nothing */
        {"unsharp,solid=region=rect 0 0 10% 10%", 0, 0, "1 % of every plane"},
        {"gblur=sigma=9:region=rect 0 0 50% 25%", 0, 0, "12.5 % of every plane"},
        {"gblur=sigma=9:region=rect 0 0 50% 25%:feather=60", 0, 0, "12.5 % of every plane"},
        {"gblur=sigma=9:region=rect 0 0 50% 25%:invert=1", 0, 0, "87.5 % of every plane"},
        /* its blocks are parts of the frame, not of the region that it leaves out */
        {"pixelize=w=0.03*w:h=0.03*w:region=rect 0 0 10% 10%:invert=1", 640, 360,
         "99 % of every plane"},
        {"solid=region=rect 0 0 50% 50%+rect 25% 0 50% 50%", 0, 0, "37.5 % of every plane"},
        {"solid=region=rect 0 0 50% 50%,gblur=sigma=9:region=rect 25% 0 50% 50%", 0, 0,
         "37.5 % of every plane"}, /* what both hide counts once */
        {"solid=region=rect 0 0 50% 50%:planes=1,solid=planes=6", 0, 0,
         "25 % of luma, 100 % of plane 1, 100 % of plane 2"},
        {"gblur=sigma=9:region=rect 0 0 50% 50%,unsharp=la=3:ca=3:region=rect 50% 0 50% 50%", 0, 0,
         "25 % of every plane"},
        {"solid=planes=1", 0, 0, "100 % of luma, 0 % of plane 1, 0 % of plane 2"},
        {"solid=region=rect -50% 0 100% 100%", 0, 0, "50 % of every plane"},
        {"solid=region=rect 0 0 10 10", 0, 0, unknown},
        {"solid=region=rect 0 0 10 10", 640, 360, "0.0434 % of every plane"},
        {"solid=region=rect 1 1 1 1", 10, 10, "1 % of luma, 4 % of plane 1, 4 % of plane 2"},
        {"solid=region=rect 0 0 10 10:invert=1", 640, 360, "more than 99.9 % of every plane"},
        {"solid=region=feed", 0, 0, expected},
        {"solid=region=feed,solid=region=rect 0 0 50% 50%", 0, 0, expected},
        {"solid=region=feed,gblur=sigma=9", 0, 0, "100 % of every plane"},
        {"solid=region=rect 0 0 10 10,gblur=sigma=9", 0, 0, "100 % of every plane"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct halo_coverage c = guess(cases[i].chain, cases[i].width, cases[i].height);
        is_said(&c, cases[i].chain, cases[i].words);
    }
    const struct halo_coverage disc = guess("solid=region=ellipse 0 0 100% 100%", 0, 0);
    assert_true(fabs(disc.part[0] - M_PI / 4) < 0.005 && disc.part[1] >= disc.part[0]);
}

/* The same rectangle; masks and sizes are known there. 0, or -EINVAL. */
static int gate_of(const char *text, double least, bool unsure, struct halo_coverage *ret,
                   struct halo_error *err)
{
    const struct halo_gate_input input = {.format = AV_PIX_FMT_YUV420P,
                                          .width = 640,
                                          .height = 360,
                                          .unsure = unsure,
                                          .min_coverage = least};
    return judge(text, &input, ret, err);
}

static void gates(void **state)
{
    static const char small[] = "solid=region=rect 0 0 10 10";
    struct halo_coverage c;
    struct halo_error err = {0};
    (void)state;
    assert_int_equal(gate_of(small, 0, false, &c, &err), 0);
    is_said(&c, small, "0.0434 % of every plane");
    assert_true(c.known && c.planes == 3 && c.part[0] == 100. / (640 * 360));
    assert_int_equal(gate_of(small, 0.0004, false, &c, &err), 0);
    assert_int_equal(gate_of(small, 0.0005, false, &c, &err), -EINVAL);
    assert_true(err.usage);
    assert_string_equal(err.text,
                        "these filters hide 0.0434 % of luma, but min_coverage requires 0.05 %: "
                        "use larger regions, or a smaller min_coverage");
    static const char soft[] = "solid=region=rect 0 0 50% 50%:feather=60";
    assert_int_equal(gate_of(soft, 0.25, false, &c, &err), 0);
    is_said(&c, soft, "25 % of every plane");
    /* Where nobody knows which pixels are meant all of them are filtered. */
    assert_int_equal(gate_of(small, 1, true, &c, &err), 0);
    is_said(&c, small, "100 % of every plane");
    /* It does not speak of feeds. */
    assert_int_equal(gate_of("solid=region=feed", 1, false, &c, &err), 0);
    assert_true(c.known && c.feed && c.planes == 0);
    /* The least plane decides. */
    err = (struct halo_error){0};
    assert_int_equal(gate_of("solid=planes=1,gblur=sigma=9:planes=6:region=rect 0 0 50% 50%", 0.3,
                             false, &c, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "hide 25 % of plane 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guesses), cmocka_unit_test(gates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
