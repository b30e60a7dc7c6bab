/* SPDX-License-Identifier: BSD-2-Clause
 * What outputs of networks mean: known boxes of each network, values that no network should give,
 * and outputs of other shapes. tests/tools/check_detect_decode.py has the same boxes for the
 * decoders of halo-detect. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/detect/decoders.h"
#include "tests/cmocka_all.h"

static struct halo_boxes list;
static uint32_t lot = 1;

static uint32_t any(uint32_t below)
{
    lot = lot * 1664525u + 1013904223u;
    return (lot >> 8) % below;
}

/* ---- outputs ---- */

/* The outputs of a network, of which all values are 0 at first. */
struct outputs {
    const struct halo_decoder *decoder;
    struct halo_decoder_tensor tensor[HALO_DECODER_OUTPUTS];
    float *data[HALO_DECODER_OUTPUTS];
    int size[2];
};

static int planes_of(const struct halo_decoder *d, int output)
{
    const int anchors = d->level[output / d->tensors].anchors;
    return output % d->tensors ? anchors * d->values / (d->tensors - 1) : anchors * d->scores;
}

/* strides: pixels from cell to cell, for each level. */
static struct outputs outputs_create(const char *name, int width, int height, const int *strides)
{
    struct outputs o = {.decoder = halo_decoder_find(name), .size = {width, height}};
    assert_non_null(o.decoder);
    for (int i = 0; i < o.decoder->outputs; i++) {
        struct halo_decoder_tensor *t = &o.tensor[i];
        const int stride = strides[i / o.decoder->tensors];
        t->planes = planes_of(o.decoder, i);
        t->width = (width + stride - 1) / stride;
        t->height = (height + stride - 1) / stride;
        t->stride = (size_t)t->width * (size_t)t->height + 3;
        t->data = o.data[i] = calloc((size_t)t->planes * t->stride, sizeof *t->data);
    }
    return o;
}

static void outputs_destroy(struct outputs *o)
{
    for (int i = 0; i < HALO_DECODER_OUTPUTS; i++)
        free(o->data[i]);
}

static float *value_at(const struct outputs *o, int output, int plane, int x, int y)
{
    const struct halo_decoder_tensor *t = &o->tensor[output];
    return &o->data[output][(size_t)plane * t->stride + (size_t)(y * t->width + x)];
}

static int decode(const struct outputs *o, float least)
{
    halo_boxes_clear(&list);
    const int code = halo_decode_boxes(o->decoder, o->tensor, o->size, least, &list);
    halo_boxes_sort(&list);
    return code;
}

static void check_box(int i, const double want[5])
{
    const struct halo_detect_box *b = &list.box[i];
    const float got[] = {b->x, b->y, b->width, b->height, b->score};
    for (int k = 0; k < 5; k++)
        if (fabs((double)got[k] - want[k]) > 1e-5 * fmax(1, fabs(want[k])))
            fail_msg("number %d of the box is %.9g, not %.9g", k, (double)got[k], want[k]);
}

static void check_only(const struct outputs *o, const double want[5])
{
    assert_int_equal(decode(o, 0.2F), 0);
    assert_int_equal(list.count, 1);
    check_box(0, want);
}

/* ---- known boxes ---- */

static void centerface(void **state)
{
    struct outputs o = outputs_create("centerface", 384, 224, (const int[]){4});
    (void)state;
    *value_at(&o, 0, 0, 20, 10) = 0.9F;
    *value_at(&o, 1, 0, 20, 10) = logf(10);
    *value_at(&o, 1, 1, 20, 10) = logf(5);
    *value_at(&o, 2, 0, 20, 10) = 0.25F;
    *value_at(&o, 2, 1, 20, 10) = -0.5F;
    check_only(&o, (const double[]){70, 23, 20, 40, 0.9F});
    outputs_destroy(&o);
}

static void blazeface(void **state)
{
    struct outputs o = outputs_create("blazeface", 192, 192, (const int[]){4});
    (void)state;
    *value_at(&o, 0, 0, 1, 1) = 0.5F;
    for (int k = 0; k < 4; k++)
        *value_at(&o, 1, k, 1, 1) = (const float[]){1, 2, 20, 30}[k];
    check_only(&o, (const double[]){-3, -7, 20, 30, 0.5});
    outputs_destroy(&o);
}

static void blazeface_short(void **state)
{
    struct outputs o = outputs_create("blazeface_short", 128, 128, (const int[]){8, 16});
    int anchors = 0;
    (void)state;
    for (int i = 0; i < 2; i++)
        anchors += o.tensor[2 * i].planes * o.tensor[2 * i].width * o.tensor[2 * i].height;
    assert_int_equal(anchors, 896);
    *value_at(&o, 2, 5, 2, 7) = 0.75F; /* the sixth anchor */
    for (int k = 0; k < 4; k++)
        *value_at(&o, 3, 5 * 16 + k, 2, 7) = (const float[]){1, 2, 20, 30}[k];
    check_only(&o, (const double[]){40 + 1 - 10, 120 + 2 - 15, 20, 30, 0.75});
    outputs_destroy(&o);
}

static void retinaface(void **state)
{
    struct outputs o = outputs_create("retinaface", 320, 192, (const int[]){8, 16, 32});
    (void)state;
    *value_at(&o, 2, 2, 5, 3) = 0.9F; /* no face */
    *value_at(&o, 2, 3, 5, 3) = 0.7F;
    for (int k = 0; k < 4; k++)
        *value_at(&o, 3, 4 + k, 5, 3) = (const float[]){0.5F, -1, 2, -3}[k];
    const double width = 128 * exp(0.4), height = 128 * exp(-0.6);
    check_only(&o, (const double[]){88 + 0.05 * 128 - width / 2, 56 - 0.1 * 128 - height / 2, width,
                                    height, 0.7F});
    outputs_destroy(&o);
}

static void ssdlite(void **state)
{
    /* 300 pixels are no multiple of these: the cells are 300 / 19 pixels large, and so on */
    static const int strides[] = {16, 32, 64, 128, 256, 512};
    struct outputs o = outputs_create("ssdlite", 300, 300, strides);
    int anchors = 0;
    (void)state;
    for (int i = 0; i < 6; i++)
        anchors += o.tensor[2 * i].planes / 2 * o.tensor[2 * i].width * o.tensor[2 * i].height;
    assert_int_equal(anchors, 1917);
    assert_int_equal(o.tensor[0].width, 19);
    assert_int_equal(o.tensor[4].width, 5);
    *value_at(&o, 4, 2 * 4 + 1, 2, 1) = 0.6F; /* of the third level the fifth anchor: 1 to 3 */
    for (int k = 0; k < 4; k++)
        *value_at(&o, 5, 4 * 4 + k, 2, 1) = (const float[]){0.5F, -1, 2, -3}[k];
    const double across = 150 * sqrt(0.3333), down = 150 / sqrt(0.3333);
    const double width = across * exp(-0.6), height = down * exp(0.4);
    check_only(&o, (const double[]){150 - 0.1 * across - width / 2, 90 + 0.05 * down - height / 2,
                                    width, height, 0.6F});
    outputs_destroy(&o);
}

static void pose(void **state)
{
    struct outputs o = outputs_create("pose", 224, 224, (const int[]){8, 16, 32});
    (void)state;
    *value_at(&o, 4, 3, 3, 2) = 0.4F;
    for (int k = 0; k < 12; k++)
        *value_at(&o, 5, 3 * 12 + k, 3, 2) =
            (const float[]){1, 2, 3, 4, 10, 20, 13, 16, 7, 7, 7, 7}[k];
    check_only(&o, (const double[]){112 + 10 - 6.25, 80 + 20 - 6.25, 12.5, 12.5, 0.4F});
    outputs_destroy(&o);
}

/* Sizes are exponentials, which are limited. */
static void exponentials(void **state)
{
    struct outputs o = outputs_create("centerface", 32, 32, (const int[]){4});
    (void)state;
    *value_at(&o, 0, 0, 0, 0) = 1;
    for (double v = -30; v < 12; v += 0.0137) {
        *value_at(&o, 1, 0, 0, 0) = *value_at(&o, 1, 1, 0, 0) = (float)v;
        assert_int_equal(decode(&o, 0.5F), 0);
        const double want = 4 * exp(fmin((float)v, 8));
        assert_true(fabs(list.box[0].width / want - 1) < 1.2e-7);
        assert_true(list.box[0].width == list.box[0].height);
    }
    outputs_destroy(&o);
}

/* ---- all networks ---- */

static const int strides_of_all[] = {8, 16, 32, 64, 128, 256};

/* The order of boxes with equal scores is that of levels, rows, columns and anchors. */
static void positions(void **state)
{
    (void)state;
    for (int i = 0; i < halo_decoder_count; i++) {
        const struct halo_decoder *d = &halo_decoders[i];
        if (!d->box)
            continue;
        struct outputs o = outputs_create(d->name, 64, 32, strides_of_all);
        int count = 0;
        for (int k = 0; k < d->outputs; k += d->tensors) {
            for (int p = 0; p < o.tensor[k].planes; p++)
                for (int c = 0; c < o.tensor[k].width * o.tensor[k].height; c++)
                    *value_at(&o, k, p, c, 0) = 0.5F;
            count += o.tensor[k].planes / d->scores * o.tensor[k].width * o.tensor[k].height;
        }
        assert_int_equal(decode(&o, 0.5F), 0);
        assert_int_equal(list.count, count);
        assert_int_equal(decode(&o, 0.50001F), 0);
        assert_int_equal(list.count, 0);
        /* all but one */
        *value_at(&o, 0, o.tensor[0].planes - 1, 3, 2) = 0.75F;
        assert_int_equal(decode(&o, 0.5F), 0);
        const int anchors = d->level[0].anchors;
        assert_int_equal(list.number[0], (2 * o.tensor[0].width + 3) * anchors + anchors - 1);
        for (int k = 1; k + 1 < count; k++)
            assert_true(list.number[k] < list.number[k + 1]);
        outputs_destroy(&o);
    }
}

static float odd_value(void)
{
    static const float odd[] = {0, 1e-38F, -1e-38F, 1e30F, -1e30F, 3.4e38F, -3.4e38F, 100, -100};
    return any(2) ? odd[any(sizeof odd / sizeof *odd)] : (float)any(2000) / 100 - 10;
}

static uint32_t hash_of(uint32_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return hash;
}

static void hostile(void **state)
{
    static struct halo_detect_verdict verdict;
    uint32_t hash = 2166136261u;
    (void)state;
    lot = 2;
    for (int i = 0; i < 20 * halo_decoder_count; i++) {
        const struct halo_decoder *d = &halo_decoders[i % halo_decoder_count];
        if (!d->box)
            continue;
        struct outputs o = outputs_create(d->name, 128 + (int)any(50), 128, strides_of_all);
        for (int k = 0; k < d->outputs; k++)
            for (size_t n = (size_t)o.tensor[k].planes * o.tensor[k].stride; n > 0; n--)
                o.data[k][n - 1] = odd_value();
        assert_int_equal(decode(&o, 0.2F), 0);
        assert_true(list.count <= HALO_BOXES_ROOM);
        for (int k = 0; k < list.count; k++) {
            const struct halo_detect_box *b = &list.box[k];
            assert_true(b->score >= 0.2F && b->width >= 0 && b->height >= 0);
            assert_true(fabsf(b->x) <= HALO_BOXES_MAX && fabsf(b->y) <= HALO_BOXES_MAX &&
                        b->width <= HALO_BOXES_MAX && b->height <= HALO_BOXES_MAX);
        }
        halo_boxes_suppress(&list, 0.4F);
        halo_boxes_judge(&list, &verdict);
        assert_true(verdict.count >= 1);
        hash = hash_of(hash, list.box, (size_t)list.count * sizeof *list.box);
        hash = hash_of(hash, verdict.box, (size_t)verdict.count * sizeof *verdict.box);
        outputs_destroy(&o);
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    assert_int_equal(hash, 0xe19b1bf7); /* on every machine and with every compiler */
#endif
}

static void refused(void **state)
{
    (void)state;
    assert_null(halo_decoder_find("haar"));
    for (int i = 0; i < halo_decoder_count; i++) {
        const struct halo_decoder *d = &halo_decoders[i];
        assert_ptr_equal(halo_decoder_find(d->name), d);
        for (int k = 0; k < HALO_DECODER_OUTPUTS; k++)
            assert_true(!d->output[k] == (k >= d->outputs));
        if (!d->box) {
            assert_int_equal(d->outputs, 1);
            const struct halo_decoder_tensor t = {.planes = 1, .width = 1, .height = 1};
            assert_int_equal(halo_decode_boxes(d, &t, (const int[]){1, 1}, 0, &list), -EINVAL);
            continue;
        }
        assert_int_equal(d->outputs, d->levels * d->tensors);
        assert_true(d->values <= HALO_DECODER_VALUES);
        struct outputs o = outputs_create(d->name, 64, 64, strides_of_all);
        for (int k = 0; k < d->outputs; k++) {
            const struct halo_decoder_tensor good = o.tensor[k];
            o.tensor[k].planes--;
            assert_int_equal(decode(&o, 0.5F), -EINVAL);
            o.tensor[k] = good;
            o.tensor[k].width--;
            assert_int_equal(decode(&o, 0.5F), -EINVAL);
            o.tensor[k] = good;
            o.tensor[k].height++;
            assert_int_equal(decode(&o, 0.5F), -EINVAL);
            o.tensor[k] = good;
        }
        assert_int_equal(decode(&o, 0.5F), 0);
        outputs_destroy(&o);
    }
}

/* ---- masks ---- */

static void mask_of_frame(void **state)
{
    enum { W = 40, H = 30, COLUMNS = 27, ROWS = 19 };
    static const int inside[] = {3, 5, 33, 22};
    static float value[W * H];
    uint8_t weight[COLUMNS * ROWS] = {0};
    const struct halo_decoder_tensor t = {value, 1, W, H, W * H};
    const struct halo_decoded_mask mask = {weight, COLUMNS, ROWS};
    (void)state;
    for (int i = 0; i < W * H; i++)
        value[i] = (float)any(1400) / 1000 - 0.2F;
    value[(5 + 4 * 22 / ROWS) * W + 3 + 6 * 33 / COLUMNS] = NAN;
    assert_int_equal(halo_decode_mask(&t, inside, &mask, (const int[]){0, 0, COLUMNS, ROWS}), 0);
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++) {
            const float v = value[(5 + y * 22 / ROWS) * W + 3 + x * 33 / COLUMNS];
            const int want = isnan(v) || v > 1 ? 255 : v < 0 ? 0 : (int)(v * 255 + 0.5F);
            assert_int_equal(weight[y * COLUMNS + x], want);
        }
}

/* A second person is added to the first one; what lies outside of the mask is left out. */
static void mask_of_people(void **state)
{
    static const float value[] = {0.2F, 1, 0.6F, 0};
    uint8_t weight[5 * 4] = {0};
    const struct halo_decoder_tensor t = {value, 1, 2, 2, 4};
    const struct halo_decoded_mask mask = {weight, 5, 4};
    static const uint8_t want[] = {255, 255, 0, 0,  0,   255, 0, 0, 0,   0,
                                   0,   0,   0, 51, 255, 0,   0, 0, 153, 0};
    static const int all[] = {0, 0, 2, 2};
    (void)state;
    assert_int_equal(halo_decode_mask(&t, all, &mask, (const int[]){-2, 0, 4, 2}), 0);
    assert_int_equal(weight[0], 255);
    assert_int_equal(weight[5], 0);
    assert_int_equal(halo_decode_mask(&t, all, &mask, (const int[]){-1, 0, 2, 4}), 0);
    assert_int_equal(halo_decode_mask(&t, all, &mask, (const int[]){3, 2, 2, 2}), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(weight[i], want[i]);
    assert_int_equal(halo_decode_mask(&t, all, &mask, (const int[]){900, 900, 5, 5}), 0);
    static const int bad_from[][4] = {{-1, 0, 2, 2}, {0, 1, 2, 2}, {0, 0, 3, 1}, {0, 0, 0, 1}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(halo_decode_mask(&t, bad_from[i], &mask, all), -EINVAL);
    assert_int_equal(halo_decode_mask(&t, all, &mask, (const int[]){0, 0, 0, 5}), -EINVAL);
    assert_int_equal(halo_decode_mask(&t, all, &mask, (const int[]){HALO_BOXES_MAX + 1, 0, 5, 5}),
                     -EINVAL);
    assert_int_equal(
        halo_decode_mask(&t, all, &mask, (const int[]){-HALO_BOXES_MAX, 0, HALO_BOXES_MAX, 5}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centerface),      cmocka_unit_test(blazeface),
        cmocka_unit_test(blazeface_short), cmocka_unit_test(retinaface),
        cmocka_unit_test(ssdlite),         cmocka_unit_test(pose),
        cmocka_unit_test(exponentials),    cmocka_unit_test(positions),
        cmocka_unit_test(hostile),         cmocka_unit_test(refused),
        cmocka_unit_test(mask_of_frame),   cmocka_unit_test(mask_of_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
