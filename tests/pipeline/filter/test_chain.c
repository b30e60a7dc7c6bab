/* SPDX-License-Identifier: BSD-2-Clause
 * Filter chains: FFmpeg's syntax, and errors that say where. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/filter/filter.h"
#include "tests/cmocka_all.h"

static struct halo_chain *parse(const char *text)
{
    struct halo_chain *chain = NULL;
    struct halo_error err = {0};
    if (halo_chain_parse(&chain, text, &err))
        fail_msg("%s: %s", text, err.text);
    assert_string_equal(chain->text, text);
    return chain;
}

/* The kind and radius of filter f on a 4:2:0 luma plane, as a way to see its settings. */
static struct halo_conv plan_luma(const struct halo_chain *chain, int f)
{
    const struct halo_plane_info luma = {.width = 64, .height = 64, .target.depth = 8};
    struct halo_plane_plan plan;
    struct halo_error err = {0};
    if (halo_filter_plan(&chain->filter[f], luma, &plan, &err))
        fail_msg("%s", err.text);
    return plan.conv;
}

static void one_and_many(void **state)
{
    (void)state;
    struct halo_chain *chain = parse("null");
    assert_int_equal(chain->count, 1);
    assert_string_equal(chain->filter[0].kind->name, "null");
    assert_string_equal(chain->filter[0].common.strategy, "auto");
    assert_int_equal(chain->filter[0].common.planes, 15);
    assert_int_equal(chain->filter[0].common.border, HALO_BORDER_REPLICATE);
    halo_chain_destroy(chain);

    chain = parse(" gblur = sigma = 5 : border = wrap , avgblur=sizeX=3:strategy=auto ");
    assert_int_equal(chain->count, 2);
    assert_string_equal(chain->filter[0].kind->name, "gblur");
    assert_int_equal(chain->filter[0].common.border, HALO_BORDER_WRAP);
    assert_int_equal(plan_luma(chain, 0).radius_x, 15);
    assert_int_equal(plan_luma(chain, 1).radius_x, 3);
    halo_chain_destroy(chain);
    halo_chain_destroy(NULL);
}

static void values_without_names(void **state)
{
    (void)state;
    struct halo_chain *chain = parse("avgblur=5:7:2,gblur=2:1:3:1:border=reflect,boxblur=4:1");
    assert_int_equal(plan_luma(chain, 0).radius_x, 5); /* FFmpeg: sizeX, planes, sizeY */
    assert_int_equal(plan_luma(chain, 0).radius_y, 2);
    assert_int_equal(chain->filter[0].common.planes, 7);
    assert_int_equal(plan_luma(chain, 1).radius_x, 6); /* sigma, steps, planes, sigmaV */
    assert_int_equal(plan_luma(chain, 1).radius_y, 3);
    assert_int_equal(chain->filter[1].common.planes, 3);
    assert_int_equal(chain->filter[1].common.border, HALO_BORDER_REFLECT);
    assert_int_equal(plan_luma(chain, 2).radius_x, 4);
    halo_chain_destroy(chain);
}

static void quotes_and_backslashes(void **state)
{
    (void)state;
    static const char *const same[] = {
        "convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=1/16",
        "convolution=0m=1 2 1 2 4 2 1 2 1:0rdiv=1/16",
        "convolution='0m=1 2 1 2 4 2 1 2 1:0rdiv=1/16'",
        "convolution='1 2 1 2 4 2 1 2 1':0rdiv=1/16",
        "convolution=0m=\\'1 2 1 2 4 2 1 2 1\\':0rdiv=1/16",
        "'conv'olution=0m=\\1 2 1 2 4 2 1 2 1:0rdiv=1\\/16",
        "convolution=0m='1\n2 1\t2 4 2  1 2 1':0rdiv=1/16",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct halo_chain *chain = parse(same[i]);
        const struct halo_conv conv = plan_luma(chain, 0);
        assert_int_equal(conv.kind, HALO_CONV_DENSE);
        assert_int_equal(conv.radius_x, 1);
        assert_int_equal(conv.radius_y, 1);
        assert_int_equal(conv.mask[4], 4 * conv.mask[0]);
        halo_chain_destroy(chain);
    }
}

struct bad {
    const char *text, *says;
};

static void check_refused(const struct bad *bad)
{
    struct halo_chain *chain = NULL;
    struct halo_error err = {0};
    if (halo_chain_parse(&chain, bad->text, &err) != -EINVAL)
        fail_msg("%s was taken", bad->text);
    assert_null(chain);
    assert_true(err.usage);
    assert_string_equal(err.text, bad->says);
}

static void refused(void **state)
{
    (void)state;
    static const struct bad bad[] = {
        {"", "column 1: the chain is empty (null passes frames unchanged)"},
        {" \t", "column 1: the chain is empty (null passes frames unchanged)"},
        {"gblurr=5", "column 1: unknown filter gblurr (nearest: gblur)"},
        {"gblur:sigma=5", "column 1: unknown filter gblur:sigma (options of gblur follow an '=': "
                          "gblur=...)"},
        {"null, boxblu=5", "column 7: unknown filter boxblu (nearest: boxblur)"},
        {"drawtext", "column 1: unknown filter drawtext (run 'halod filters' for a list)"},
        {"gblur=simga=5", "column 7: gblur: unknown option simga (nearest: sigma)"},
        {"gblur=sigma=5:boarder=wrap",
         "column 15: gblur: unknown option boarder (nearest: border)"},
        {"gblur=sigma=999", "column 13: gblur: sigma=999: must be between 0 and 200"},
        {"null,gblur=sigma= '9'99", "column 20: gblur: sigma=999: must be between 0 and 200"},
        {"gblur=999", "column 7: gblur: sigma=999: must be between 0 and 200"},
        {"gblur=", "column 7: gblur: an option is missing here"},
        {"gblur=sigma=5:", "column 15: gblur: an option is missing here"},
        {"gblur=:sigma=5", "column 7: gblur: an option is missing here"},
        {"gblur=sigma=", "column 13: gblur: sigma=: must be a number such as 2 or 0.5"},
        {"gblur=sigma=2:3", "column 15: gblur: values without a name must come before those with "
                            "one"},
        {"avgblur=1:1:1:1",
         "column 15: avgblur: at most 3 values without a name are allowed (write NAME=VALUE)"},
        {"null=1",
         "column 6: null: at most 0 values without a name are allowed (write NAME=VALUE)"},
        {"null,", "column 5: a filter is missing after the last ','"},
        {",null", "column 1: the name of a filter is missing"},
        {"null,,null", "column 6: the name of a filter is missing"},
        {"=3", "column 1: the name of a filter is missing"},
        {"null;null", "column 5: ';': only one chain is supported: put ',' between filters"},
        {"gblur=2;null", "column 8: ';': only one chain is supported: put ',' between filters"},
        {"[in]null",
         "column 1: '[': link labels are not supported: use a single chain, as in a,b,c"},
        {"gblur=2[out]",
         "column 8: '[': link labels are not supported: use a single chain, as in a,b,c"},
        {"null]", "column 5: ']': link labels are not supported: use a single chain, as in a,b,c"},
        {"gblur='sigma=2", "column 7: the closing quote is missing"},
        {"gblur=sigma=\\'2", "column 14: the closing quote is missing"},
        {"gblur=2\\", "column 8: the backslash has nothing to escape"},
        {"gblur=2\\\\", "column 9: the backslash has nothing to escape"},
        {"gblur=border=mirror",
         "column 14: gblur: border=mirror: must be one of constant, replicate, "
         "reflect, reflect101, wrap"},
        {"gblur=strategy=aut", "column 16: gblur: strategy=aut: unknown (nearest: auto)"},
        {"gblur=planes=16", "column 14: gblur: planes=16: must be between 0 and 15"},
        {"gblur=steps=0", "column 13: gblur: steps=0: must be between 1 and 6"},
        {"boxblur=h/10", "column 9: boxblur: luma_radius=h/10: must be a whole number; expressions "
                         "are not supported"},
        {"boxblur=lr=-1", "column 12: boxblur: luma_radius=-1: must be between 0 and 1024"},
        {"null,convolution=0m=1 2", "column 21: convolution: 0m has 2 weights, but a square mask "
                                    "with odd sides needs 1, 9, 25, 49 ... (for a single row, set "
                                    "0mode=row)"},
        {"convolution=2m=1 2:2mode=row",
         "column 16: convolution: 2m has 2 weights, but a row needs an odd number"},
        {"convolution=1m=1 x 1",
         "column 16: convolution: 1m: weight 2 is x, but must be a number such as 3, 0.5 or 1/9"},
        {"convolution=0m=''", "column 18: convolution: 0m has 0 weights, but a square mask with "
                              "odd sides needs 1, 9, 25, 49 ... (for a single row, set "
                              "0mode=row)"},
        {"gblur=sigma=1:sigma=2", "column 15: gblur: sigma is given twice"},
        {"gblur=1:sigma=2", "column 9: gblur: sigma is given twice"},
        {"null,boxblur=luma_radius=2:lr=3", "column 28: boxblur: luma_radius is given twice"},
        {"gblur=planes=1:planes=1", "column 16: gblur: planes is given twice"},
        {"gblur=sigma=1\x1b]0;", "column 13: gblur: sigma=1?: must be a number such as 2 or 0.5"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_refused(&bad[i]);
}

static void options_of_filters_refused(void **state)
{
    (void)state;
    static const struct bad bad[] = {
        {"unsharp=lx=4", "column 12: unsharp: luma_msize_x=4: must be odd"},
        {"null,unsharp=5:5:1:3:8", "column 22: unsharp: chroma_msize_y=8: must be odd"},
        {"unsharp=ly=25", "column 12: unsharp: luma_msize_y=25: must be between 3 and 23"},
        {"unsharp=la=5.1", "column 12: unsharp: luma_amount=5.1: must be between -2 and 5"},
        {"unsharp=ax=2", "column 12: unsharp: alpha_msize_x=2: must be between 3 and 23"},
        {"laplacian=neighbours=6",
         "column 22: laplacian: neighbours=6: must be one of 4, 8 (nearest: 4)"},
        {"laplacian=scale=-1", "column 17: laplacian: scale=-1: must be between 0 and 65535"},
        {"laplacian=delta=1e6",
         "column 17: laplacian: delta=1e6: must be between -65535 and 65535"},
        {"discblur=0.4", "column 10: discblur: radius=0.4: must be between 0.5 and 31"},
        {"discblur=radiusV=32", "column 18: discblur: radiusV=32: must be between 0.5 and 31"},
        {"discblur=sigma=3", "column 10: discblur: unknown option sigma (run 'halod filter "
                             "discblur' for a list)"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_refused(&bad[i]);
}

/* count times item, joined by separator. */
static char *repeat(const char *head, const char *item, const char *separator, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    fputs(head, to);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%s", i ? separator : "", item);
    fclose(to);
    return text;
}

static void check_limit(char *text, const char *says)
{
    struct halo_chain *chain = NULL;
    struct halo_error err = {0};
    const int code = halo_chain_parse(&chain, text, &err);
    if (says) {
        assert_int_equal(code, -EINVAL);
        assert_string_equal(err.text, says);
    } else {
        assert_int_equal(code, 0);
    }
    halo_chain_destroy(chain);
    free(text);
}

static void limits(void **state)
{
    (void)state;
    check_limit(repeat("", "null", ",", HALO_MAX_FILTERS), NULL);
    check_limit(repeat("", "null", ",", HALO_MAX_FILTERS + 1),
                "column 161: a chain may have at most 32 filters");
    check_limit(repeat("convolution=0m=", "1", " ", 63 * 63), NULL);
    check_limit(repeat("convolution=0m=", "1", " ", 65 * 65),
                "column 16: convolution: 0m has 4225 weights, but a square mask may have at most "
                "3969 (63x63)");
    check_limit(repeat("convolution=0mode=column:0m=", "1", " ", 127), NULL);
    check_limit(repeat("convolution=0mode=column:0m=", "1", " ", 129),
                "column 29: convolution: 0m has 129 weights, but a column may have at most 127");
    check_limit(
        repeat("", "x", "", (1 << 20) + 1),
        "column 1048577: the chain is too long: 1048577 bytes, but at most 1048576 are allowed");
    check_limit(repeat("gblur=sigma='", "9", "", 100000),
                "column 13: the closing quote is missing");
}

static void help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct halo_error err = {0};
    halo_filters_print(to);
    for (int i = 0; halo_filter_kinds[i]; i++) {
        if (i > 0)
            assert_true(strcmp(halo_filter_kinds[i - 1]->name, halo_filter_kinds[i]->name) < 0);
        assert_int_equal(halo_filter_print(halo_filter_kinds[i]->name, to, &err), 0);
    }
    assert_int_equal(halo_filter_print("gblr", to, &err), -ENOENT);
    fclose(to);
    assert_string_equal(err.text, "unknown filter gblr (nearest: gblur)");
    assert_non_null(strstr(text, "sigma=X"));
    assert_non_null(strstr(text, "example: -vf gblur=sigma=12"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_and_many),
        cmocka_unit_test(values_without_names),
        cmocka_unit_test(quotes_and_backslashes),
        cmocka_unit_test(refused),
        cmocka_unit_test(options_of_filters_refused),
        cmocka_unit_test(limits),
        cmocka_unit_test(help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
