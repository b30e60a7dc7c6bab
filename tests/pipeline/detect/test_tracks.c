/* SPDX-License-Identifier: BSD-2-Clause
 * Tracks: what stays hidden if there are more objects than tracks or shapes, and what is hidden
 * while an object is missed and before it is found. Frames are STEP_US apart. */
#include <stdlib.h>

#include "pipeline/detect/tracks.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/detect/cover.h"

enum { STEP_US = 40000, WINDOW = 15 };

static struct halo_tracks *tracks_;
static struct halo_verdict_shapes hidden_, shown_;

static void begin_with(int window, double hold, double margin)
{
    const struct halo_detector_settings settings = {
        .enter = 3, .hold = hold, .margin = margin, .score = 0.5, .low = 0.25};
    assert_int_equal(halo_tracks_create(&tracks_, HALO_FIND_FACES, &settings, window), 0);
}

static void begin(int window)
{
    begin_with(window, 1, 0.25);
}

static int teardown(void **state)
{
    (void)state;
    halo_tracks_destroy(tracks_);
    tracks_ = NULL;
    return 0;
}

static bool add(int frame, const struct halo_detect_box *boxes, int count)
{
    return halo_tracks_add(tracks_, (int64_t)frame * STEP_US, false, boxes, count);
}

static bool get(int frame)
{
    return halo_tracks_get(tracks_, (int64_t)frame * STEP_US, &hidden_, &shown_);
}

/* Box i of a grid of 16 x 16. */
static struct halo_detect_box cell(int i)
{
    return (struct halo_detect_box){(float)(i % 16) / 16 + 0.01f, (float)(i / 16) / 16 + 0.01f,
                                    0.02f, 0.02f, 0.9f};
}

static void add_cells(int frame, int first)
{
    struct halo_detect_box boxes[HALO_DETECT_MAX_BOXES];
    for (int i = 0; i < HALO_DETECT_MAX_BOXES; i++)
        boxes[i] = cell(first + i);
    add(frame, boxes, HALO_DETECT_MAX_BOXES);
}

static void test_many_shapes(void **state)
{
    (void)state;
    begin(1);
    add_cells(1, 0);
    add_cells(2, HALO_DETECT_MAX_BOXES);
    for (int frame = 2; frame <= 3; frame++) { /* judged, and not judged */
        assert_true(get(frame));
        assert_in_range(hidden_.count, 1, HALO_MAX_SHAPES);
        for (int i = 0; i < 2 * HALO_DETECT_MAX_BOXES; i++) {
            const struct halo_detect_box box = cell(i);
            assert_true(covers_box(&hidden_, &box, 1));
        }
    }
}

static void test_many_tracks(void **state)
{
    (void)state;
    begin(WINDOW);
    add_cells(1, 0);
    add_cells(2, HALO_DETECT_MAX_BOXES);
    assert_true(get(2));
    add_cells(3, 2 * HALO_DETECT_MAX_BOXES);
    for (int frame = 1; frame <= 4; frame++)
        assert_false(get(frame)); /* those of frame 3 may have been there before, and stay */
    for (int frame = 4; frame <= 28; frame++) {
        add(frame, NULL, 0);
        assert_false(get(frame));
    }
    add(29, NULL, 0);
    assert_true(get(29)); /* `hold` is over */
    assert_int_equal(hidden_.count, 0);
}

static void test_missed(void **state)
{
    (void)state;
    struct halo_detect_box box = {0.1f, 0.4f, 0.1f, 0.2f, 0.9f};
    begin(1);
    for (int frame = 1; frame <= 10; frame++, box.x += 0.01f)
        add(frame, &box, 1);
    for (int frame = 11; frame <= 20; frame++, box.x += 0.01f) { /* it moves on, unseen */
        add(frame, NULL, 0);
        assert_true(get(frame));
        assert_true(covers_box(&hidden_, &box, 1));
        assert_int_equal(shown_.count, 0);
    }
    box.score = 0.3f; /* enough near a track */
    add(21, &box, 1);
    assert_int_equal(halo_tracks_count(tracks_), 1);
    for (int frame = 22; frame <= 46; frame++) {
        add(frame, NULL, 0);
        assert_true(get(frame));
        assert_true(covers_box(&hidden_, &box, 1));
    }
    add(48, NULL, 0); /* `hold` is over */
    assert_true(get(48));
    assert_int_equal(hidden_.count, 0);
    add(49, &box, 1); /* not enough without a track */
    assert_int_equal(halo_tracks_count(tracks_), 0);
}

static void test_crossing(void **state)
{
    (void)state;
    struct halo_detect_box box[2] = {{0.1f, 0.3f, 0.1f, 0.2f, 0.9f},
                                     {0.8f, 0.35f, 0.1f, 0.2f, 0.9f}};
    begin(1);
    for (int frame = 1; frame <= 30; frame++, box[0].x += 0.025f, box[1].x -= 0.025f) {
        assert_int_equal(add(frame, box, 2), frame > 1);
        assert_true(get(frame));
        assert_int_equal(halo_tracks_count(tracks_), 2);
        assert_true(covers_box(&hidden_, &box[0], 1) && covers_box(&hidden_, &box[1], 1));
        assert_int_equal(shown_.count, frame < 3 ? 0 : 2);
    }
}

static void test_back(void **state)
{
    (void)state;
    const struct halo_detect_box box = {0.4f, 0.4f, 0.1f, 0.2f, 0.9f};
    begin(WINDOW);
    for (int frame = 1; frame <= 13; frame++)
        add(frame, NULL, 0);
    add(14, &box, 1);
    assert_true(get(1)); /* more than half a second before */
    assert_int_equal(hidden_.count, 0);
    for (int frame = 2; frame <= 14; frame++) {
        assert_true(get(frame));
        assert_true(covers_box(&hidden_, &box, 1));
    }
}

/* Found again so far away that what was hidden meanwhile does not contain it. */
static void test_between(void **state)
{
    (void)state;
    struct halo_detect_box box = {0.4f, 0.4f, 0.1f, 0.2f, 0.9f};
    const struct halo_detect_box found = {0.449f, 0.4f, 0.1f, 0.2f, 0.9f};
    begin(WINDOW);
    for (int frame = 1; frame <= 16; frame++)
        add(frame, frame == 16 ? &found : &box, frame <= 4 || frame == 16);
    assert_int_equal(halo_tracks_count(tracks_), 1);
    for (int frame = 5; frame <= 15; frame++) {
        box.x = 0.4f + 0.049f * (float)(frame - 4) / 12;
        assert_true(get(frame));
        assert_true(covers_box(&hidden_, &box, 1));
    }
}

/* The wire permits boxes without width or height, and boxes beyond the frame. */
static void test_degenerate(void **state)
{
    (void)state;
    const struct halo_detect_box boxes[] = {
        {0.5f, 0.5f, 0, 0, 0.9f}, {-4, -4, 5, 5, 0.9f}, {5, 5, 5, 5, 0.9f}, {-1, 0.7f, 5, 0, 0.9f}};
    begin(WINDOW);
    for (int frame = 1; frame <= 3; frame++) {
        add(frame, boxes, 4);
        assert_true(get(frame));
        for (int i = 0; i < 4; i++)
            assert_true(covers_box(&hidden_, &boxes[i], 1));
        assert_true(covers(&hidden_, 0.5, 0.5) && covers(&hidden_, 0.99, 0.7));
        for (int i = 0; i < hidden_.count; i++)
            assert_true(isfinite(hidden_.shape[i].x.value) &&
                        isfinite(hidden_.shape[i].width.value));
    }
}

/* What enters is seen in part, and scores less: at the edge, `low` is enough for a new track. */
static void test_low_scores_at_the_edges(void **state)
{
    (void)state;
    const struct halo_detect_box edges[] = {{-0.05f, 0.4f, 0.1f, 0.2f, 0.3f},
                                            {0.4f, 0, 0.1f, 0.2f, 0.3f},
                                            {0.95f, 0.4f, 0.1f, 0.2f, 0.3f},
                                            {0.4f, 0.795f, 0.1f, 0.2f, 0.3f}};
    for (int i = 0; i < 4; i++) {
        begin(1);
        assert_false(add(1, &edges[i], 1));
        assert_true(get(1));
        assert_true(covers_box(&hidden_, &edges[i], 1));
        teardown(NULL);
    }
    const struct halo_detect_box inside = {0.05f, 0.05f, 0.1f, 0.2f, 0.3f};
    begin(1);
    assert_true(add(1, &inside, 1));
    assert_true(get(1));
    assert_int_equal(hidden_.count, 0);
}

/* More is hidden in frame 1 than there is room for, although there is room for all tracks: those of
 * frame 1, and, because they may have been there, those of frames 2 and 4. */
static void test_many_marks(void **state)
{
    (void)state;
    begin_with(WINDOW, 0.04, 0.25);
    add_cells(1, 0);
    add_cells(2, HALO_DETECT_MAX_BOXES);
    assert_true(get(1));
    add(3, NULL, 0);
    add_cells(4, 2 * HALO_DETECT_MAX_BOXES);
    assert_true(get(4));
    assert_false(get(1));
}

/* What is shown is the ellipse in a box, whatever the margin is, if the box itself is good enough,
 * and its track has been there in enough frames. */
static void test_shown(void **state)
{
    (void)state;
    for (int margin = 0; margin <= 2; margin++) {
        struct halo_detect_box box = {0, 0.4f, 0.1f, 0.2f, 0.3f}; /* at the edge */
        begin_with(WINDOW, 1, 0.45 * margin);
        for (int frame = 1; frame <= 7; frame++) {
            box.score = frame == 1 || frame == 5 ? 0.3f : 0.9f;
            add(frame, &box, 1);
        }
        for (int frame = 1; frame <= 7; frame++) {
            assert_true(get(frame));
            assert_int_equal(shown_.count, frame != 1 && frame != 5);
            if (shown_.count == 0)
                continue;
            const struct halo_shape *s = &shown_.shape[0];
            assert_int_equal(s->kind, HALO_SHAPE_ELLIPSE);
            assert_true(fabs(s->x.value - box.x) < 1e-6 && fabs(s->y.value - box.y) < 1e-6);
            assert_true(fabs(s->width.value - box.width) < 1e-6 &&
                        fabs(s->height.value - box.height) < 1e-6);
        }
        teardown(NULL);
    }
}

/* The whole box, its corners, too. */
static void test_every_margin_hides_the_box(void **state)
{
    (void)state;
    const struct halo_detect_box box = {0.4f, 0.4f, 0.1f, 0.2f, 0.9f};
    for (int percent = 0; percent <= 60; percent++) {
        begin_with(1, 1, percent / 100.0);
        add(1, &box, 1);
        assert_true(get(1));
        assert_true(covers_box(&hidden_, &box, 1));
        assert_true(covers_box(&hidden_, &box, percent < 21 ? 1 + 0.019 * percent : 1));
        teardown(NULL);
    }
}

/* A box that is suddenly smaller may be wrong: the shape follows in 0.3 seconds. */
static void test_shapes_shrink_slowly(void **state)
{
    (void)state;
    const struct halo_detect_box large = {0.4f, 0.4f, 0.2f, 0.2f, 0.9f},
                                 small = {0.45f, 0.45f, 0.1f, 0.1f, 0.9f};
    begin(1);
    add(1, &large, 1);
    for (int frame = 2; frame <= 12; frame++) {
        const double left = fmax(1 - (frame - 1) * 0.04 / 0.3, 0); /* at least, of the difference */
        add(frame, &small, 1);
        assert_true(get(frame));
        assert_int_equal(halo_tracks_count(tracks_), 1);
        assert_true(covers_box(&hidden_, &small, 1 + left * left));
    }
    assert_false(covers_box(&hidden_, &large, 1));
}

/* A box half a width from where a track is may be another object: both are hidden. */
static void test_near_a_track(void **state)
{
    (void)state;
    const struct halo_detect_box box = {0.4f, 0.4f, 0.1f, 0.2f, 0.9f},
                                 near = {0.45f, 0.4f, 0.1f, 0.2f, 0.9f};
    begin(1);
    for (int frame = 1; frame <= 5; frame++)
        add(frame, &box, 1);
    add(6, &near, 1);
    assert_int_equal(halo_tracks_count(tracks_), 2);
    for (int frame = 7; frame <= 20; frame++) {
        add(frame, &near, 1);
        assert_true(get(frame));
        assert_true(covers_box(&hidden_, &box, 1) && covers_box(&hidden_, &near, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_near_a_track, teardown),
        cmocka_unit_test_teardown(test_many_marks, teardown),
        cmocka_unit_test_teardown(test_shown, teardown),
        cmocka_unit_test_teardown(test_every_margin_hides_the_box, teardown),
        cmocka_unit_test_teardown(test_shapes_shrink_slowly, teardown),
        cmocka_unit_test_teardown(test_many_shapes, teardown),
        cmocka_unit_test_teardown(test_many_tracks, teardown),
        cmocka_unit_test_teardown(test_missed, teardown),
        cmocka_unit_test_teardown(test_crossing, teardown),
        cmocka_unit_test_teardown(test_back, teardown),
        cmocka_unit_test_teardown(test_between, teardown),
        cmocka_unit_test_teardown(test_degenerate, teardown),
        cmocka_unit_test_teardown(test_low_scores_at_the_edges, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
