/* SPDX-License-Identifier: BSD-2-Clause
 * From settings to one convolution per plane. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipeline/filter/filter.h"
#include "tests/cmocka_all.h"

static const struct halo_plane_info luma = {.width = 64, .height = 48, .target.depth = 8};
static const struct halo_plane_info chroma = {.index = 1,
                                              .chroma = true,
                                              .log2_sub_x = 1,
                                              .log2_sub_y = 1,
                                              .width = 32,
                                              .height = 24,
                                              .target.depth = 8};
static const struct halo_plane_info chroma422 = {
    .index = 2, .chroma = true, .log2_sub_x = 1, .width = 32, .height = 48, .target.depth = 10};
static const struct halo_plane_info alpha = {
    .index = 3, .width = 64, .height = 48, .target.depth = 8};

static int try_plan(const char *text, const struct halo_plane_info *plane,
                    struct halo_plane_plan *plan, struct halo_error *err)
{
    struct halo_chain *chain = NULL;
    *err = (struct halo_error){0};
    if (halo_chain_parse(&chain, text, err))
        fail_msg("%s: %s", text, err->text);
    const int code = halo_filter_plan(&chain->filter[0], *plane, plan, err);
    halo_chain_destroy(chain);
    return code;
}

static struct halo_plane_plan plan_of(const char *text, const struct halo_plane_info *plane)
{
    struct halo_plane_plan plan;
    struct halo_error err;
    if (try_plan(text, plane, &plan, &err))
        fail_msg("%s: %s", text, err.text);
    return plan;
}

static void check_plan(const char *text, const struct halo_plane_info *plane,
                       enum halo_conv_kind kind, int radius_x, int radius_y, int passes)
{
    const struct halo_plane_plan plan = plan_of(text, plane);
    if (plan.conv.kind != kind || plan.passes != passes ||
        (kind != HALO_CONV_COPY &&
         (plan.conv.radius_x != radius_x || plan.conv.radius_y != radius_y)))
        fail_msg("%s, plane %d: kind %d, radius %d x %d, %d passes", text, plane->index,
                 plan.conv.kind, plan.conv.radius_x, plan.conv.radius_y, plan.passes);
}

static void gaussians_scale_with_the_plane(void **state)
{
    (void)state;
    check_plan("gblur=sigma=6", &luma, HALO_CONV_SEPARABLE, 18, 18, 1);
    check_plan("gblur=sigma=6", &chroma, HALO_CONV_SEPARABLE, 9, 9, 1);
    check_plan("gblur=sigma=6", &chroma422, HALO_CONV_SEPARABLE, 9, 18, 1);
    check_plan("gblur=sigma=6:sigmaV=2", &chroma, HALO_CONV_SEPARABLE, 9, 3, 1);
    check_plan("gblur=sigma=21", &luma, HALO_CONV_SEPARABLE, 63, 63, 1);
    check_plan("gblur=sigma=100", &luma, HALO_CONV_DECIMATED, 319, 319, 1);
    check_plan("gblur=sigma=100", &chroma, HALO_CONV_DECIMATED, 159, 159, 1);
    check_plan("gblur=sigma=30", &chroma, HALO_CONV_SEPARABLE, 45, 45, 1);
    check_plan("gblur=sigma=200:sigmaV=4", &chroma, HALO_CONV_DECIMATED, 319, 6, 1);
    check_plan("gblur=sigma=0", &luma, HALO_CONV_COPY, 0, 0, 1);
}

static void averages_scale_with_the_plane(void **state)
{
    (void)state;
    check_plan("avgblur=sizeX=9", &luma, HALO_CONV_BOX, 9, 9, 1);
    check_plan("avgblur=sizeX=9", &chroma, HALO_CONV_BOX, 5, 5, 1);
    check_plan("avgblur=sizeX=8:sizeY=3", &chroma422, HALO_CONV_BOX, 4, 3, 1);
    check_plan("avgblur", &luma, HALO_CONV_BOX, 1, 1, 1);
    check_plan("avgblur=sizeX=1024", &luma, HALO_CONV_BOX, 1024, 1024, 1);
}

static void boxes(void **state)
{
    (void)state;
    check_plan("boxblur", &luma, HALO_CONV_BOX, 2, 2, 2);
    check_plan("boxblur", &chroma, HALO_CONV_BOX, 1, 1, 2);
    check_plan("boxblur=lr=8:lp=3", &chroma422, HALO_CONV_BOX, 4, 8, 3);
    check_plan("boxblur=lr=8:cr=5:cp=1", &chroma, HALO_CONV_BOX, 5, 5, 1); /* given: as it is */
    check_plan("boxblur=lr=8:cr=0", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("boxblur=lr=8:cp=0", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("boxblur=lr=8:lp=0", &luma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("boxblur=lr=8:cr=3:cp=1", &alpha, HALO_CONV_BOX, 8, 8, 2);
    check_plan("boxblur=lr=8:ar=3:ap=64", &alpha, HALO_CONV_BOX, 3, 3, 64);
}

static void masks(void **state)
{
    (void)state;
    check_plan("convolution", &luma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("convolution=0m=1 1 1 1 1 1 1 1 1", &luma, HALO_CONV_DENSE, 1, 1, 1);
    check_plan("convolution=0m=1 1 1 1 1 1 1 1 1", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("convolution=1m=1 2 3 2 1:1mode=row", &chroma, HALO_CONV_DENSE, 2, 0, 1);
    check_plan("convolution=1m=1 2 3 2 1:1mode=column", &chroma, HALO_CONV_DENSE, 0, 2, 1);
    check_plan("convolution=0bias=16", &luma, HALO_CONV_DENSE, 0, 0, 1);

    /* Without 0rdiv the weights come to a sum of one, or stay as they are where they cancel. */
    const struct halo_conv sum = plan_of("convolution=0m=1 2 1 2 4 2 1 2 1", &luma).conv;
    assert_int_equal(sum.mask[4], 1 << (sum.mask_bits - 2));
    const struct halo_conv edge =
        plan_of("convolution=0m=0.1 0.2 -0.3:0mode=row:0bias=128", &luma).conv;
    assert_true(edge.mask[0] > 0 && edge.mask[0] < 1 << edge.mask_bits);
    const struct halo_conv half = plan_of("convolution=0m=1:0rdiv=1/2", &luma).conv;
    assert_int_equal(half.mask[0] * 2, 1 << half.mask_bits);
}

static double weight(const struct halo_conv *conv, int x, int y)
{
    const int width = 2 * conv->radius_x + 1;
    const int32_t w = conv->mask[(conv->radius_y + y) * width + conv->radius_x + x];
    return (double)w / (double)(INT64_C(1) << conv->mask_bits);
}

static void check_weight(const struct halo_conv *conv, int x, int y, double want)
{
    if (fabs(weight(conv, x, y) - want) > 2.0 / (double)(INT64_C(1) << conv->mask_bits))
        fail_msg("weight at %d, %d: %.9g, not %.9g", x, y, weight(conv, x, y), want);
}

static void unsharp_masks(void **state)
{
    (void)state;
    check_plan("unsharp", &luma, HALO_CONV_DENSE, 2, 2, 1);
    check_plan("unsharp", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("unsharp=la=0:ca=1", &luma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("unsharp=cx=3:cy=23:ca=-2", &chroma, HALO_CONV_DENSE, 1, 11, 1); /* not scaled */
    check_plan("unsharp=7:3:1.5:9:5:0.5", &luma, HALO_CONV_DENSE, 3, 1, 1);
    check_plan("unsharp=7:3:1.5:9:5:0.5", &chroma422, HALO_CONV_DENSE, 4, 2, 1);
    check_plan("unsharp=23:23:5", &luma, HALO_CONV_DENSE, 11, 11, 1);

    struct halo_conv c = plan_of("unsharp=lx=3:ly=5:la=2", &luma).conv;
    check_weight(&c, 0, 0, 1 + 2 - 2 * (2.0 / 4) * (6.0 / 16));
    check_weight(&c, 1, -2, -2 * (1.0 / 4) * (1.0 / 16));
    check_weight(&c, 0, 1, -2 * (2.0 / 4) * (4.0 / 16));
    c = plan_of("unsharp=3:3:-1", &luma).conv; /* nothing but the blur */
    check_weight(&c, 0, 0, 4.0 / 16);
    check_weight(&c, 1, 1, 1.0 / 16);
}

static void laplacians(void **state)
{
    (void)state;
    check_plan("laplacian", &luma, HALO_CONV_DENSE, 1, 1, 1);
    check_plan("laplacian", &chroma, HALO_CONV_DENSE, 1, 1, 1);
    check_plan("laplacian=1:2:128", &chroma, HALO_CONV_COPY, 0, 0, 1); /* planes first */

    struct halo_conv c = plan_of("laplacian=scale=0.5", &luma).conv;
    check_weight(&c, 0, 0, -2);
    check_weight(&c, 1, 0, 0.5);
    check_weight(&c, 1, 1, 0);
    c = plan_of("laplacian=neighbours=8:delta=100", &chroma422).conv;
    check_weight(&c, 0, 0, -8);
    check_weight(&c, -1, 1, 1);
    assert_int_equal(c.bias >> c.mask_bits, 100); /* in code values of 10 bits */
    check_plan("laplacian=scale=65535:delta=-65535", &luma, HALO_CONV_DENSE, 1, 1, 1);
}

static void discs(void **state)
{
    (void)state;
    check_plan("discblur", &luma, HALO_CONV_DENSE, 5, 5, 1);
    check_plan("discblur", &chroma, HALO_CONV_DENSE, 2, 2, 1); /* 2.5 ends where a pixel does */
    check_plan("discblur=radius=5.2", &chroma, HALO_CONV_DENSE, 3, 3, 1);
    check_plan("discblur=5.2:7:2", &chroma422, HALO_CONV_DENSE, 3, 2, 1);
    check_plan("discblur=31", &luma, HALO_CONV_DENSE, 31, 31, 1);
    check_plan("discblur=0.5", &luma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("discblur=1", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("discblur=radius=0.5:radiusV=3", &luma, HALO_CONV_DENSE, 0, 3, 1);

    const struct halo_conv c = plan_of("discblur=1.5", &luma).conv;
    const double area = 3.14159265358979 * 1.5 * 1.5;
    /* The integral of sqrt(1.5^2 - y^2) - 0.5 for y from -0.5 to 0.5. */
    const double beside = 2.25 * asin(1 / 3.0) + 0.5 * sqrt(2) - 0.5;
    assert_true(fabs(weight(&c, 0, 0) - 1 / area) < 1e-4);
    assert_true(fabs(weight(&c, 1, 0) - beside / area) < 1e-4);
    assert_true(fabs(weight(&c, 0, -1) - beside / area) < 1e-4);
    assert_true(fabs(weight(&c, 1, 1) - (area - 1 - 4 * beside) / 4 / area) < 1e-4);
}

static void depths(void **state)
{
    (void)state;
    struct halo_plane_info plane = luma;
    plane.target.depth = 12;
    assert_int_equal(plan_of("gblur=sigma=2", &plane).conv.accum, HALO_ACCUM_I32);
    assert_int_equal(plan_of("gblur=sigma=12", &plane).conv.accum, HALO_ACCUM_I64);
    check_plan("discblur=31", &plane, HALO_CONV_DENSE, 31, 31, 1);
    assert_int_equal(
        plan_of("avgblur=border=constant:border_value=16.25", &plane).conv.border_value, 260);
}

static void too_large_weights_are_an_error(void **state)
{
    (void)state;
    struct halo_plane_plan plan = {.passes = -77};
    struct halo_error err;
    assert_int_equal(try_plan("convolution=0m=1e12:0rdiv=1", &luma, &plan, &err), -ERANGE);
    assert_string_equal(err.text,
                        "convolution, plane 0: 0m cannot be computed with an error of at most one "
                        "code value: its weights, multiplied by 0rdiv (1), are too large");
    assert_true(err.usage);
    assert_int_equal(plan.passes, -77);
    assert_int_not_equal(try_plan("convolution=0m=1e300:0rdiv=1e9", &luma, &plan, &err), 0);
}

static void edges(void **state)
{
    (void)state;
    check_plan("sobel", &luma, HALO_CONV_GRADIENT, 1, 1, 1);
    check_plan("prewitt", &chroma422, HALO_CONV_GRADIENT, 1, 1, 1);
    check_plan("sobel=1:2:3", &chroma, HALO_CONV_COPY, 0, 0, 1); /* planes:scale:delta */

    const struct halo_conv plain = plan_of("sobel", &luma).conv;
    assert_int_equal(plain.scale, 1);
    assert_int_equal(plain.scale_bits, 0);
    assert_int_equal(plain.bias, 0);
    assert_int_equal(plain.mask_bits, 0);
    assert_int_equal(plain.accum, HALO_ACCUM_I32);
    assert_int_equal(plain.mask[7], 2);
    assert_int_equal(plain.mask[9 + 5], 2);
    assert_int_equal(plan_of("prewitt", &luma).conv.mask[7], 1);

    const struct halo_conv half = plan_of("sobel=scale=0.5:delta=-20", &luma).conv;
    assert_int_equal(half.scale, 1); /* its square, over 2^2 */
    assert_int_equal(half.scale_bits, 2);
    assert_int_equal(half.bias, -20);
    const struct halo_conv fraction = plan_of("prewitt=delta=1.5", &luma).conv;
    assert_int_equal(fraction.bias, 3 << (fraction.mask_bits - 1));

    const struct halo_conv scharr = plan_of("scharr", &luma).conv;
    assert_int_equal(scharr.mask[7], 162);
    assert_int_equal(scharr.scale, 1);
    assert_int_equal(scharr.scale_bits, 16);
    assert_int_equal(scharr.accum, HALO_ACCUM_I32);
    assert_int_equal(plan_of("scharr", &chroma422).conv.accum, HALO_ACCUM_I64);
    check_plan("scharr=scale=65535:delta=-65535", &luma, HALO_CONV_GRADIENT, 1, 1, 1);
    check_plan("scharr=scale=0:delta=0.1", &luma, HALO_CONV_GRADIENT, 1, 1, 1);
}

static void check_blocks(const char *text, const struct halo_plane_info *plane, int width,
                         int height, enum halo_pixelize mode)
{
    const struct halo_conv c = plan_of(text, plane).conv;
    if (c.kind != HALO_CONV_PIXELIZE || c.block_w != width || c.block_h != height || c.mode != mode)
        fail_msg("%s, plane %d: kind %d, block %d x %d, mode %d", text, plane->index, c.kind,
                 c.block_w, c.block_h, c.mode);
}

static void blocks_shrink_with_the_plane(void **state)
{
    (void)state;
    check_blocks("pixelize", &luma, 16, 16, HALO_PIXELIZE_MEAN);
    check_blocks("pixelize", &chroma, 8, 8, HALO_PIXELIZE_MEAN);
    check_blocks("pixelize=w=7:h=5:m=min", &chroma422, 3, 5, HALO_PIXELIZE_MIN);
    check_blocks("pixelize=width=1:height=9:mode=2", &chroma, 1, 4, HALO_PIXELIZE_MAX);
    check_blocks("pixelize=1024:3:max:1", &luma, 1024, 3, HALO_PIXELIZE_MAX);
    check_plan("pixelize=1024:3:max:1", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("pixelize=p=1", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("pixelize=1:1", &luma, HALO_CONV_COPY, 0, 0, 1);
}

static void planes_and_borders(void **state)
{
    (void)state;
    check_plan("gblur=sigma=6:planes=1", &luma, HALO_CONV_SEPARABLE, 18, 18, 1);
    check_plan("gblur=sigma=6:planes=1", &chroma, HALO_CONV_COPY, 0, 0, 1);
    check_plan("boxblur=lr=6:planes=7", &alpha, HALO_CONV_COPY, 0, 0, 1);
    check_plan("gblur=sigma=6:planes=0", &luma, HALO_CONV_COPY, 0, 0, 1);

    struct halo_plane_plan plan = plan_of("avgblur=border=constant:border_value=16", &luma);
    assert_int_equal(plan.conv.border, HALO_BORDER_CONSTANT);
    assert_int_equal(plan.conv.border_value, 16);
    plan = plan_of("avgblur=border=constant:border_value=16.25", &chroma422);
    assert_int_equal(plan.conv.border_value, 65);
    plan = plan_of("avgblur=border=constant:border_value=255", &chroma422);
    assert_int_equal(plan.conv.border_value, 1020);
    plan = plan_of("avgblur=border=reflect101", &luma);
    assert_int_equal(plan.conv.border, HALO_BORDER_REFLECT101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussians_scale_with_the_plane),
        cmocka_unit_test(averages_scale_with_the_plane),
        cmocka_unit_test(boxes),
        cmocka_unit_test(masks),
        cmocka_unit_test(unsharp_masks),
        cmocka_unit_test(laplacians),
        cmocka_unit_test(discs),
        cmocka_unit_test(depths),
        cmocka_unit_test(too_large_weights_are_an_error),
        cmocka_unit_test(edges),
        cmocka_unit_test(blocks_shrink_with_the_plane),
        cmocka_unit_test(planes_and_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
