/* SPDX-License-Identifier: BSD-2-Clause
 * Lists of boxes: their order, which of many are kept, and that whatever a dropped box covers is
 * covered by another one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/detect/boxes.h"
#include "tests/cmocka_all.h"

static struct halo_boxes list, other;
static uint32_t lot = 1;

static uint32_t any(uint32_t below)
{
    lot = lot * 1664525u + 1013904223u;
    return (lot >> 8) % below;
}

static struct halo_detect_box any_box(void)
{
    struct halo_detect_box b = {0};
    b.x = (float)any(2000) / 10;
    b.y = (float)any(2000) / 10;
    b.width = (float)any(400) / 10;
    b.height = (float)any(400) / 10;
    b.score = (float)any(64) / 64; /* many are equal */
    return b;
}

static void add(float x, float y, float width, float height, float score)
{
    halo_boxes_add(&list, &(struct halo_detect_box){x, y, width, height, score});
}

static void check(int i, float x, float y, float width, float height, float score)
{
    const struct halo_detect_box *b = &list.box[i];
    const float want[] = {x, y, width, height, score};
    const float got[] = {b->x, b->y, b->width, b->height, b->score};
    for (int k = 0; k < 5; k++)
        if (fabsf(got[k] - want[k]) > 1e-5F)
            fail_msg("box %d: number %d is %g, not %g", i, k, (double)got[k], (double)want[k]);
}

/* ---- the order ---- */

struct numbered {
    struct halo_detect_box box;
    int number;
};

static int compare(const void *a, const void *b)
{
    const struct numbered *p = a, *q = b;
    if (p->box.score != q->box.score)
        return p->box.score < q->box.score ? 1 : -1;
    return p->number - q->number;
}

static void order(void **state)
{
    static const int counts[] = {0, 1, 2, 3, 100, HALO_BOXES_ROOM, HALO_BOXES_ROOM + 1, 10000};
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const int count = counts[k], kept = count < HALO_BOXES_ROOM ? count : HALO_BOXES_ROOM;
        struct numbered *all = malloc(((size_t)count + 1) * sizeof *all);
        halo_boxes_clear(&list);
        for (int i = 0; i < count; i++) {
            all[i] = (struct numbered){any_box(), i};
            halo_boxes_add(&list, &all[i].box);
            if (i == count / 2 && any(2))
                halo_boxes_sort(&list); /* may be done at any time */
        }
        qsort(all, (size_t)count, sizeof *all, compare);
        halo_boxes_sort(&list);
        assert_int_equal(list.count, kept);
        for (int i = 0; i < kept; i++) {
            assert_int_equal(list.number[i], all[i].number);
            assert_memory_equal(&list.box[i], &all[i].box, sizeof all[i].box);
        }
        free(all);
    }
}

/* ---- what shows the same ---- */

static double overlap(const struct halo_detect_box *a, const struct halo_detect_box *b)
{
    const double width = fmin((double)a->x + a->width, (double)b->x + b->width) - fmax(a->x, b->x);
    const double height =
        fmin((double)a->y + a->height, (double)b->y + b->height) - fmax(a->y, b->y);
    return width > 0 && height > 0 ? width * height : 0;
}

static double area(const struct halo_detect_box *b)
{
    return (double)b->width * b->height;
}

static double share(const struct halo_detect_box *a, const struct halo_detect_box *b)
{
    const double both = overlap(a, b), either = area(a) + area(b) - both;
    return either > 0 ? both / either : 0;
}

static void suppressed(void **state)
{
    (void)state;
    halo_boxes_clear(&list);
    add(0, 0, 10, 10, 0.6F);
    add(1, 0, 10, 10, 0.9F);
    add(30, 0, 10, 10, 0.3F);
    halo_boxes_suppress(&list, 0.4F);
    assert_int_equal(list.count, 2);
    check(0, 1, 0, 10, 10, 0.9F);
    check(1, 30, 0, 10, 10, 0.3F);
}

/* Kept boxes do not overlap each other, and each dropped one overlaps a kept one that is before it
 * in the order. */
static void suppressed_any(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        halo_boxes_clear(&list);
        halo_boxes_clear(&other);
        for (int i = (int)any(600); i >= 0; i--) {
            const struct halo_detect_box box = any_box();
            halo_boxes_add(&list, &box);
            halo_boxes_add(&other, &box);
        }
        halo_boxes_sort(&other);
        halo_boxes_suppress(&list, 0.4F);
        for (int i = 0, k = 0; i < other.count; i++) {
            bool found = false;
            for (int j = 0; j < k; j++)
                found = found || share(&list.box[j], &other.box[i]) > 0.4 - 1e-6;
            if (k < list.count && list.number[k] == other.number[i]) {
                for (int j = 0; j < k; j++)
                    assert_true(share(&list.box[j], &other.box[i]) < 0.4 + 1e-6);
                k++;
            } else {
                assert_true(found);
            }
            assert_true(i + 1 < other.count || k == list.count);
        }
    }
}

/* Two models' boxes of one face become one that contains both; a speck in it is dropped. */
static void united(void **state)
{
    (void)state;
    halo_boxes_clear(&list);
    halo_boxes_clear(&other);
    add(0, 0, 10, 10, 0.6F);
    halo_boxes_add(&other, &(struct halo_detect_box){2, 1, 10, 12, 0.9F});
    halo_boxes_add(&other, &(struct halo_detect_box){4, 4, 2, 2, 0.3F});
    halo_boxes_append(&list, &other);
    halo_boxes_unite(&list, 0.35F);
    assert_int_equal(list.count, 1);
    check(0, 0, 0, 12, 13, 0.9F);
}

static void united_any(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        static struct halo_detect_box all[600];
        const int count = (int)any(600);
        halo_boxes_clear(&list);
        for (int i = 0; i < count; i++) {
            all[i] = any_box();
            halo_boxes_add(&list, &all[i]);
        }
        halo_boxes_unite(&list, 0.35F);
        for (int i = 1; i < list.count; i++)
            assert_true(list.box[i].score <= list.box[i - 1].score);
        for (int i = 0; i < count; i++) {
            double most = 0;
            for (int k = 0; k < list.count; k++)
                most = fmax(most, overlap(&all[i], &list.box[k]));
            assert_true(most >= (0.7 - 1e-5) * area(&all[i]));
        }
    }
}

/* ---- places and verdicts ---- */

static void places(void **state)
{
    (void)state;
    halo_boxes_clear(&list);
    add(70, 23, 20, 40, 0.5F);
    halo_boxes_grow(&list, (const float[]){0.05F, 0.25F, 0.05F, 0.1F});
    check(0, 69, 13, 22, 54, 0.5F);
    halo_boxes_map(&list, (const float[]){9, 3, 40, 20}, (const float[]){0, 0, 1, 1});
    check(0, 1.5F, 0.5F, 0.55F, 2.7F, 0.5F);
    halo_boxes_map(&list, (const float[]){0, 0, 1, 1}, (const float[]){5, 6, 100, 200});
    check(0, 155, 106, 55, 540, 0.5F);
}

/* No more than the verdict has room for, and each box is covered. */
static void judged(void **state)
{
    static struct halo_detect_verdict verdict;
    (void)state;
    halo_boxes_clear(&list);
    for (int i = 0; i < 100; i++)
        add((float)i / 50, 0, 0.01F, 0.01F, 1 - (float)i / 200);
    halo_boxes_judge(&list, &verdict);
    assert_true(verdict.boxed);
    assert_int_equal(verdict.count, HALO_DETECT_MAX_BOXES);
    for (int i = 0; i < 100; i++) {
        bool covered = false;
        for (int k = 0; k < verdict.count; k++)
            covered = covered ||
                      (verdict.box[k].x <= (float)i / 50 + 1e-5F &&
                       verdict.box[k].x + verdict.box[k].width >= (float)i / 50 + 0.01F - 1e-5F);
        assert_true(covered);
    }
    assert_true(verdict.box[63].score == 1 - 63.F / 200);
    halo_boxes_clear(&list);
    halo_boxes_judge(&list, &verdict);
    assert_true(verdict.boxed && verdict.count == 0);
}

static bool is_within(float v, float least, float most)
{
    return v >= least && v <= most;
}

/* Numbers that no network should give. What is left of them in the frame is still covered. */
static void hostile(void **state)
{
    static const float odd[] = {0,     -0.F,    1,      -1,       5,        -4,        1e9F,
                                -1e9F, 3.4e38F, 1e-45F, -3.4e38F, INFINITY, -INFINITY, NAN};
    enum { ODD = sizeof odd / sizeof *odd };
    static struct halo_detect_verdict verdict;
    (void)state;
    for (int round = 0; round < 300; round++) {
        halo_boxes_clear(&list);
        for (int i = 0; i < 70; i++)
            add(odd[any(ODD)], odd[any(ODD)], odd[any(ODD)], odd[any(ODD)],
                i % 2 ? (float)any(100) / 99 : odd[any(ODD - 1)]);
        if (round % 3 == 1)
            halo_boxes_suppress(&list, 0.4F);
        else if (round % 3 == 2)
            halo_boxes_unite(&list, 0.35F);
        for (int i = 0; i < list.count; i++)
            assert_true(is_within(list.box[i].width, 0, 4.F * HALO_BOXES_MAX) &&
                        is_within(list.box[i].height, 0, 4.F * HALO_BOXES_MAX));
        halo_boxes_judge(&list, &verdict);
        assert_true(verdict.count <= HALO_DETECT_MAX_BOXES);
        for (int i = 0; i < verdict.count; i++) {
            const struct halo_detect_box *b = &verdict.box[i];
            assert_true(is_within(b->x, -4, 5) && is_within(b->y, -4, 5) &&
                        is_within(b->width, 0, 5) && is_within(b->height, 0, 5) &&
                        is_within(b->score, 0, 1));
        }
    }
    halo_boxes_clear(&list);
    add(-1000, 0.1F, 1000.5F, 0.2F, 0.5F);
    halo_boxes_judge(&list, &verdict);
    assert_true(verdict.box[0].x + verdict.box[0].width >= 0.5F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),  cmocka_unit_test(suppressed), cmocka_unit_test(suppressed_any),
        cmocka_unit_test(united), cmocka_unit_test(united_any), cmocka_unit_test(places),
        cmocka_unit_test(judged), cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
