/* SPDX-License-Identifier: BSD-2-Clause
 * What a region feed hides, by made times: never less than what was told, and all of the frame
 * where nothing was. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/region_feed.h"
#include "tests/cmocka_all.h"

enum { MS = 1000, SECOND = 1000000 };
static const int64_t START = INT64_C(5000) * SECOND;
static const struct halo_region_feed_settings plain = {
    .on = true, .margin = 0, .hold = 0.5, .limit = 1};

static struct halo_region_now now_; /* large for a stack */

static struct halo_region_feed *create(double margin)
{
    struct halo_region_feed_settings settings = plain;
    struct halo_region_feed *feed;
    settings.margin = margin;
    assert_int_equal(halo_region_feed_create(&feed, &settings), 0);
    return feed;
}

static struct halo_length px(double value)
{
    return (struct halo_length){.value = value};
}

static struct halo_region_update update_of(enum halo_shape_kind kind, const char *id, double x,
                                           double y, double width, double height)
{
    struct halo_region_update updates = {
        .shape = {.kind = kind, .x = px(x), .y = px(y), .width = px(width), .height = px(height)}};
    snprintf(updates.id, sizeof updates.id, "%s", id);
    return updates;
}

static struct halo_region_update rect(const char *id, double x, double y, double width,
                                      double height)
{
    return update_of(HALO_SHAPE_RECT, id, x, y, width, height);
}

/* At the time of the frame, which has just been given out. */
static int update(struct halo_region_feed *feed, int64_t at,
                  const struct halo_region_update *updates, int count)
{
    struct halo_error err = {0};
    halo_region_feed_pass(feed, START + at);
    return halo_region_feed_update(feed, START + at, updates, count, (START + at) * 1000, &err);
}

/* Why everything is hidden, or NULL with the shapes in now_. came: us, when it is asked for. */
static const char *why_at(struct halo_region_feed *feed, int64_t at, int64_t came)
{
    const char *why = NULL;
    return halo_region_feed_at(feed, START + at, (START + came) * 1000, &now_, NULL, &why) ? NULL
                                                                                           : why;
}

/* ---- whether a point is hidden, by no code of the feed ---- */

static bool is_in_polygon(const struct halo_shape *s, double x, double y)
{
    bool in = false;
    for (int i = 0, k = s->corners - 1; i < s->corners; k = i++) {
        const double xi = s->corner[i][0].value, yi = s->corner[i][1].value;
        const double xk = s->corner[k][0].value, yk = s->corner[k][1].value;
        if ((yi > y) != (yk > y) && x < (xk - xi) * (y - yi) / (yk - yi) + xi)
            in = !in;
    }
    return in;
}

static bool is_in_shape(const struct halo_shape *s, double x, double y)
{
    const double w = s->width.value, h = s->height.value, slip = 1e-6;
    const double dx = x - s->x.value, dy = y - s->y.value;
    switch (s->kind) {
    case HALO_SHAPE_RECT:
        return dx >= -slip && dy >= -slip && dx <= w + slip && dy <= h + slip;
    case HALO_SHAPE_ELLIPSE:
        return hypot((dx - w / 2) / (w / 2), (dy - h / 2) / (h / 2)) <= 1 + slip;
    case HALO_SHAPE_POLYGON:
        return is_in_polygon(s, x, y);
    default:
        return false;
    }
}

static bool is_hidden(double x, double y)
{
    for (int i = 0; i < now_.count; i++)
        if (is_in_shape(&now_.shape[i], x, y))
            return true;
    return false;
}

/* Points of the shape, its edge too, where it was moved by dx, dy. */
static void assert_covered(const struct halo_shape *s, double dx, double dy)
{
    const double w = s->width.value, h = s->height.value;
    for (int i = 0; i <= 10; i++)
        for (int k = 0; k <= 10; k++) {
            const double x = s->x.value + w * i / 10, y = s->y.value + h * k / 10;
            if (is_in_shape(s, x, y) && !is_hidden(x + dx, y + dy))
                fail_msg("(%g, %g) of a shape at (%g, %g) is shown", x + dx, y + dy, s->x.value,
                         s->y.value);
        }
}

/* ---- silence ---- */

static void test_nothing_reported(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_feed_stats stats;
    assert_string_equal(why_at(feed, 0, 0), "none yet");
    halo_region_feed_stats(feed, START * 1000, &stats);
    assert_true(stats.age < 0);
    assert_string_equal(stats.why, "none yet");
    assert_int_equal(stats.whole, 1);
    /* Nobody there is something that was told. */
    assert_int_equal(update(feed, 0, NULL, 0), 0);
    assert_null(why_at(feed, 0, 0));
    assert_int_equal(now_.count, 0);
    halo_region_feed_destroy(feed);
    halo_region_feed_destroy(NULL);
}

static void test_silence(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_feed_stats stats;
    const struct halo_region_update a = rect("a", 10, 20, 30, 40);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_null(why_at(feed, 999 * MS, 999 * MS));
    assert_covered(&a.shape, 0, 0);
    assert_string_equal(why_at(feed, 999 * MS, 1001 * MS), "silent");
    assert_string_equal(why_at(feed, 1001 * MS, 999 * MS), "late");
    halo_region_feed_stats(feed, (START + 1500 * MS) * 1000, &stats);
    assert_string_equal(stats.why, "silent");
    assert_true(fabs(stats.age - 1.5) < 1e-6);
    /* It comes back, and what was there before is held. */
    assert_int_equal(update(feed, 1600 * MS, NULL, 0), 0);
    assert_null(why_at(feed, 1650 * MS, 1650 * MS));
    assert_covered(&a.shape, 0, 0);
    assert_int_equal(update(feed, 2150 * MS, NULL, 0), 0);
    assert_null(why_at(feed, 2200 * MS, 2200 * MS));
    assert_int_equal(now_.count, 0);
    halo_region_feed_destroy(feed);
}

static void test_sessions(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = rect("a", 10, 20, 30, 40);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    halo_region_feed_begin(feed, START + 100 * MS);
    assert_string_equal(why_at(feed, 100 * MS, 100 * MS), "none yet");
    assert_int_equal(update(feed, 90 * MS, &a, 1), -ESTALE);
    assert_string_equal(why_at(feed, 110 * MS, 110 * MS), "none yet");
    assert_int_equal(update(feed, 100 * MS, NULL, 0), 0);
    assert_null(why_at(feed, 120 * MS, 120 * MS));
    assert_int_equal(now_.count, 0);
    assert_string_equal(why_at(feed, 50 * MS, 120 * MS), "late");
    halo_region_feed_destroy(feed);
}

static void test_older_frames(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_feed_stats stats;
    const struct halo_region_update a = rect("a", 0, 0, 10, 10), b = rect("b", 50, 0, 10, 10);
    assert_int_equal(update(feed, 500 * MS, &a, 1), 0);
    assert_int_equal(update(feed, 400 * MS, NULL, 0), -ESTALE);
    /* One about the same frame adds to it. */
    assert_int_equal(update(feed, 500 * MS, &b, 1), 0);
    assert_null(why_at(feed, 500 * MS, 500 * MS));
    assert_covered(&a.shape, 0, 0);
    assert_covered(&b.shape, 0, 0);
    /* A detector whose clock was wrong for a moment is not refused for long. */
    assert_int_equal(update(feed, 20 * SECOND, &a, 1), 0);
    struct halo_error err = {0};
    assert_int_equal(
        halo_region_feed_update(feed, START + SECOND, &b, 1, (START + 21500 * MS) * 1000, &err), 0);
    halo_region_feed_stats(feed, (START + 21500 * MS) * 1000, &stats);
    assert_int_equal(stats.updates, 4);
    assert_int_equal(stats.refused, 1);
    halo_region_feed_destroy(feed);
}

/* Nobody can have found nothing in frames that do not exist yet. */
static void test_frames_to_come(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_feed_stats stats;
    const struct halo_region_update a = rect("a", 10, 20, 30, 40);
    const int64_t ahead[] = {101 * MS, 900 * MS, 5 * (int64_t)SECOND, 59 * (int64_t)SECOND};
    struct halo_error err = {0};
    assert_int_equal(halo_region_feed_update(feed, START, NULL, 0, START * 1000, &err), -ERANGE);
    assert_string_equal(why_at(feed, 0, 0), "none yet");
    assert_int_equal(update(feed, 0, &a, 1), 0);
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        assert_int_equal(halo_region_feed_update(feed, START + ahead[i], NULL, 0,
                                                 (START + 10 * MS) * 1000, &err),
                         -ERANGE);
        assert_non_null(strstr(err.text, "ahead of the newest frame"));
    }
    halo_region_feed_stats(feed, (START + 10 * MS) * 1000, &stats);
    assert_int_equal(stats.refused, 5);
    assert_int_equal(stats.updates, 1);
    assert_null(why_at(feed, 999 * MS, 999 * MS)); /* as though they had not come */
    assert_covered(&a.shape, 0, 0);
    assert_string_equal(why_at(feed, 1001 * MS, 1001 * MS), "silent");
    /* Clocks that differ a little, and the frame once it has come. */
    assert_int_equal(halo_region_feed_update(feed, START + 100 * MS, &a, 1, START * 1000, &err), 0);
    halo_region_feed_pass(feed, START + 900 * MS);
    assert_int_equal(
        halo_region_feed_update(feed, START + 900 * MS, NULL, 0, (START + 910 * MS) * 1000, &err),
        0);
    /* Another session: what has not come in it has not come. */
    halo_region_feed_begin(feed, START + 3 * SECOND);
    assert_int_equal(halo_region_feed_update(feed, START + 3 * SECOND, NULL, 0,
                                             (START + 3 * SECOND) * 1000, &err),
                     -ERANGE);
    halo_region_feed_destroy(feed);
}

/* ---- shapes in time ---- */

static void test_margin(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0.1);
    const struct halo_region_update a = rect("a", 100, 200, 50, 20);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_null(why_at(feed, 0, 0));
    assert_int_equal(now_.count, 1);
    assert_true(fabs(now_.shape[0].x.value - 95) < 1e-9);
    assert_true(fabs(now_.shape[0].y.value - 198) < 1e-9);
    assert_true(fabs(now_.shape[0].width.value - 60) < 1e-9);
    assert_true(fabs(now_.shape[0].height.value - 24) < 1e-9);
    halo_region_feed_destroy(feed);
}

static void test_hold_and_ttl(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_update two[] = {rect("a", 0, 0, 10, 10), rect("b", 50, 0, 10, 10)};
    two[1].ttl = 2;
    assert_int_equal(update(feed, 0, two, 2), 0);
    for (int at = 400; at <= 3200; at += 400) {
        assert_int_equal(update(feed, at * MS, NULL, 0), 0);
        assert_null(why_at(feed, (at + 40) * MS, (at + 40) * MS));
        /* Not named at 400 for the first time: held until 900. */
        assert_int_equal(is_hidden(5, 5), at + 40 <= 900);
        assert_int_equal(is_hidden(55, 5), at + 40 <= 2000);
    }
    halo_region_feed_destroy(feed);
}

/* A frame that comes late may be older than the update that no longer names a thing. */
static void test_hold_in_late_frames(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_update a = rect("a", 0, 0, 10, 10), b = rect("b", 50, 0, 10, 10);
    const struct halo_region_update both[] = {a, b};
    assert_int_equal(update(feed, 0, both, 2), 0);
    assert_int_equal(update(feed, 100 * MS, &b, 1), 0);
    for (int at = 0; at <= 600; at += 50) {
        assert_null(why_at(feed, at * MS, 610 * MS));
        assert_true(is_hidden(5, 5) && is_hidden(55, 5));
    }
    assert_null(why_at(feed, 601 * MS, 610 * MS));
    assert_false(is_hidden(5, 5));
    /* What has ended between two updates was there until then. */
    assert_int_equal(update(feed, 500 * MS, &b, 1), 0);
    assert_int_equal(update(feed, 700 * MS, &b, 1), 0);
    assert_null(why_at(feed, 550 * MS, 710 * MS));
    assert_true(is_hidden(5, 5));
    assert_null(why_at(feed, 650 * MS, 710 * MS));
    assert_false(is_hidden(5, 5));
    halo_region_feed_destroy(feed);
}

/* One that was told longer is not cut short by a later, shorter one; nor in the same frame. */
static void test_longest_ttl(void **state)
{
    (void)state;
    struct halo_region_update a = rect("a", 0, 0, 10, 10);
    for (int same = 0; same < 2; same++) {
        struct halo_region_feed *feed = create(0);
        a.ttl = 2;
        assert_int_equal(update(feed, 0, &a, 1), 0);
        a.ttl = 0;
        assert_int_equal(update(feed, same ? 0 : 100 * MS, &a, 1), 0);
        assert_int_equal(update(feed, 200 * MS, NULL, 0), 0);
        assert_int_equal(update(feed, 1900 * MS, NULL, 0), 0);
        assert_null(why_at(feed, 1950 * MS, 1950 * MS));
        assert_true(is_hidden(5, 5));
        assert_null(why_at(feed, 2050 * MS, 2050 * MS));
        assert_false(is_hidden(5, 5));
        halo_region_feed_destroy(feed);
    }
}

/* From (0, 0) to (80, 40) in 100 ms. */
static void check_way(enum halo_shape_kind kind)
{
    struct halo_region_feed *feed = create(0);
    struct halo_region_update a = update_of(kind, "a", 0, 0, 20, 20);
    struct halo_region_update b = update_of(kind, "a", 80, 40, 20, 20);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_int_equal(update(feed, 100 * MS, &b, 1), 0);
    assert_null(why_at(feed, 40 * MS, 110 * MS));
    for (int i = 0; i <= 100; i++)
        assert_covered(&a.shape, 80.0 * i / 100, 40.0 * i / 100);
    assert_false(is_hidden(0, 62) || is_hidden(120, 60) || is_hidden(-10, 5));
    assert_null(why_at(feed, 150 * MS, 150 * MS));
    for (int i = 0; i <= 100; i++)
        assert_covered(&b.shape, 40.0 * i / 100, 20.0 * i / 100);
    assert_false(is_hidden(10, 10));
    if (kind == HALO_SHAPE_ELLIPSE)
        assert_false(is_hidden(81, 79)); /* a corner of the box around all of it */
    halo_region_feed_destroy(feed);
}

static void test_way_of_rectangles(void **state)
{
    (void)state;
    check_way(HALO_SHAPE_RECT);
}

static void test_way_of_ellipses(void **state)
{
    (void)state;
    check_way(HALO_SHAPE_ELLIPSE);
}

static void test_shapes_that_stay(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = update_of(HALO_SHAPE_ELLIPSE, "a", 5, 6, 20, 30);
    for (int at = 0; at < 300; at += 100)
        assert_int_equal(update(feed, at * MS, &a, 1), 0);
    assert_null(why_at(feed, 250 * MS, 250 * MS));
    assert_int_equal(now_.count, 1);
    assert_int_equal(now_.shape[0].kind, HALO_SHAPE_ELLIPSE);
    assert_true(fabs(now_.shape[0].width.value - 20) < 1e-9);
    halo_region_feed_destroy(feed);
}

static void test_growing(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = rect("a", 100, 100, 20, 20), b = rect("a", 90, 90, 40, 40);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_int_equal(update(feed, 100 * MS, &b, 1), 0);
    assert_null(why_at(feed, 200 * MS, 200 * MS));
    assert_true(is_hidden(81, 81) && is_hidden(139, 139));
    assert_false(is_hidden(79, 79));
    /* What shrinks is not taken to go on with it. */
    assert_int_equal(update(feed, 200 * MS, &a, 1), 0);
    assert_null(why_at(feed, 240 * MS, 240 * MS));
    assert_covered(&a.shape, 0, 0);
    halo_region_feed_destroy(feed);
}

/* On its way it is as large as it is at the larger end. */
static void test_growing_ellipse(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = update_of(HALO_SHAPE_ELLIPSE, "a", 10, 10, 20, 20);
    const struct halo_region_update b = update_of(HALO_SHAPE_ELLIPSE, "a", 20, 10, 60, 60);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_int_equal(update(feed, 100 * MS, &b, 1), 0);
    assert_null(why_at(feed, 50 * MS, 110 * MS));
    assert_covered(&a.shape, 0, 0);
    assert_covered(&b.shape, 0, 0);
    halo_region_feed_destroy(feed);
}

/* What came nearer to its end does not vanish there. */
static void test_shrinking(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = rect("a", 0, 0, 40, 40), b = rect("a", 60, 10, 20, 20);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_int_equal(update(feed, 100 * MS, &b, 1), 0);
    assert_null(why_at(feed, 200 * MS, 200 * MS));
    assert_covered(&b.shape, 50, 0);
    halo_region_feed_destroy(feed);
}

static void test_twice_in_one_frame(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = rect("a", 0, 0, 10, 10), b = rect("a", 90, 90, 10, 10);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_int_equal(update(feed, 0, &b, 1), 0);
    assert_null(why_at(feed, 0, 0));
    assert_covered(&a.shape, 0, 0);
    assert_covered(&b.shape, 0, 0);
    halo_region_feed_destroy(feed);
}

static void test_appearing(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    const struct halo_region_update a = rect("a", 0, 0, 10, 10);
    assert_int_equal(update(feed, 0, NULL, 0), 0);
    assert_int_equal(update(feed, 100 * MS, &a, 1), 0);
    assert_null(why_at(feed, 50 * MS, 110 * MS)); /* it may have been there already */
    assert_covered(&a.shape, 0, 0);
    halo_region_feed_destroy(feed);
}

static void test_polygons(void **state)
{
    (void)state;
    struct halo_length corner[5][2] = {
        {px(0), px(0)}, {px(40), px(0)}, {px(40), px(40)}, {px(20), px(10)}, {px(0), px(40)}};
    struct halo_region_update a = {
        .id = "a", .shape = {.kind = HALO_SHAPE_POLYGON, .corner = corner, .corners = 5}};
    struct halo_region_feed *feed = create(0);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_null(why_at(feed, 10 * MS, 10 * MS));
    assert_true(is_hidden(20, 5) && is_hidden(2, 30));
    assert_false(is_hidden(20, 30)); /* as it is */
    for (int i = 0; i < 5; i++)
        corner[i][0].value += 100;
    assert_int_equal(update(feed, 100 * MS, &a, 1), 0);
    assert_null(why_at(feed, 60 * MS, 110 * MS));
    for (int x = 1; x < 139; x++)
        assert_true(is_hidden(x, 20));
    halo_region_feed_destroy(feed);
    feed = create(0.1);
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_null(why_at(feed, 10 * MS, 10 * MS));
    assert_true(is_hidden(97, -3) && is_hidden(120, 30) && is_hidden(143, 43));
    assert_false(is_hidden(95, -3));
    halo_region_feed_destroy(feed);

    /* The fewest corners; and a way ahead that cannot be drawn becomes a box that can. */
    struct halo_region_feed_stats stats;
    struct halo_length far[3][2] = {{px(0), px(0)}, {px(40), px(0)}, {px(0), px(40)}};
    feed = create(0);
    a.shape.corner = far;
    a.shape.corners = 3;
    assert_int_equal(update(feed, 0, &a, 1), 0);
    for (int i = 0; i < 3; i++)
        far[i][0].value += 40000;
    assert_int_equal(update(feed, 40 * MS, &a, 1), 0);
    halo_region_feed_stats(feed, START * 1000, &stats);
    assert_int_equal(stats.regions, 1);
    assert_null(why_at(feed, 40 * MS, 50 * MS));
    assert_int_equal(now_.shape[0].kind, HALO_SHAPE_POLYGON);
    assert_null(why_at(feed, 80 * MS, 90 * MS));
    assert_int_equal(now_.shape[0].kind, HALO_SHAPE_RECT);
    halo_region_feed_destroy(feed);
}

/* ---- many ---- */

/* All that was held and all that is named now is hidden, however many there are. */
static void test_many(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    static struct halo_region_update updates[HALO_MAX_SHAPES];
    static double seen[40][HALO_MAX_SHAPES][2];
    srand(7);
    for (int u = 0; u < 40; u++) {
        for (int i = 0; i < HALO_MAX_SHAPES; i++) {
            seen[u][i][0] = rand() % 1900;
            seen[u][i][1] = rand() % 1000;
            updates[i] = update_of(i % 2 ? HALO_SHAPE_RECT : HALO_SHAPE_ELLIPSE, "", seen[u][i][0],
                                   seen[u][i][1], 20, 20);
        }
        assert_int_equal(update(feed, u * 10 * MS, updates, HALO_MAX_SHAPES), 0);
        assert_null(why_at(feed, u * 10 * MS, u * 10 * MS));
        assert_true(now_.count <= HALO_MAX_SHAPES);
        for (int old = 0; old <= u; old++)
            for (int i = 0; i < HALO_MAX_SHAPES; i++)
                assert_true(is_hidden(seen[old][i][0] + 10, seen[old][i][1] + 10));
    }
    /* And it ends. */
    assert_int_equal(update(feed, 900 * MS, NULL, 0), 0);
    assert_int_equal(update(feed, 1450 * MS, NULL, 0), 0);
    assert_null(why_at(feed, 1460 * MS, 1460 * MS));
    assert_int_equal(now_.count, 0);
    halo_region_feed_destroy(feed);
}

/* Ids that come and go while the table is full: what was taken together with another is held. */
static void test_many_ids(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    static struct halo_region_update updates[HALO_MAX_SHAPES];
    static double seen[30][HALO_MAX_SHAPES][2];
    srand(8);
    for (int u = 0; u < 30; u++) {
        for (int i = 0; i < HALO_MAX_SHAPES; i++) {
            char id[HALO_REGION_ID];
            snprintf(id, sizeof id, "%d", (u / 3 * 40 + i * 7) % 300);
            seen[u][i][0] = rand() % 1900;
            seen[u][i][1] = rand() % 1000;
            updates[i] = rect(id, seen[u][i][0], seen[u][i][1], 20, 20);
        }
        assert_int_equal(update(feed, u * 10 * MS, updates, HALO_MAX_SHAPES), 0);
        assert_null(why_at(feed, u * 10 * MS, u * 10 * MS));
        for (int i = 0; i < HALO_MAX_SHAPES; i++)
            assert_true(is_hidden(seen[u][i][0] + 10, seen[u][i][1] + 10));
    }
    halo_region_feed_destroy(feed);
}

/* In pixels, as many as a feed can hold. */
static struct halo_region_feed *create_full(void)
{
    static struct halo_region_update updates[HALO_MAX_SHAPES];
    struct halo_region_feed *feed = create(0);
    for (int u = 0; u < 2; u++) {
        for (int i = 0; i < HALO_MAX_SHAPES; i++)
            updates[i] = rect("", 30 * i, 30 * u, 20, 20);
        assert_int_equal(update(feed, u * 10 * MS, updates, HALO_MAX_SHAPES), 0);
    }
    return feed;
}

/* What finds no place of its own stays as long as it was told. */
static void test_no_place(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create_full();
    struct halo_region_update one = rect("one", 300, 500, 20, 20);
    one.ttl = 3;
    assert_int_equal(update(feed, 20 * MS, &one, 1), 0);
    for (int at = 600; at <= 2400; at += 600)
        assert_int_equal(update(feed, at * MS, NULL, 0), 0);
    assert_null(why_at(feed, 2500 * MS, 2500 * MS));
    assert_covered(&one.shape, 0, 0);
    assert_false(is_hidden(1000, 10));
    halo_region_feed_destroy(feed);
    /* Nothing in its unit that it could join. */
    feed = create_full();
    one.shape.x = one.shape.y = one.shape.width = one.shape.height =
        (struct halo_length){0.25, true};
    assert_int_equal(update(feed, 20 * MS, &one, 1), 0);
    assert_string_equal(why_at(feed, 20 * MS, 20 * MS), "none yet");
    halo_region_feed_destroy(feed);
}

static void test_both_units(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_update a = rect("a", 10, 10, 20, 20), b = a;
    b.shape.x = b.shape.y = (struct halo_length){0.5, true};
    b.shape.width = b.shape.height = (struct halo_length){0.25, true};
    assert_int_equal(update(feed, 0, &a, 1), 0);
    assert_int_equal(update(feed, 100 * MS, &b, 1), 0);
    assert_null(why_at(feed, 50 * MS, 110 * MS));
    assert_int_equal(now_.count, 2);
    assert_int_equal(now_.shape[0].x.relative + now_.shape[1].x.relative, 1);
    assert_null(why_at(feed, 120 * MS, 120 * MS));
    assert_int_equal(now_.count, 1);
    assert_true(now_.shape[0].x.relative);
    halo_region_feed_destroy(feed);
}

/* ---- what is refused ---- */

static void assert_refused(const struct halo_region_update *updates, int count, int64_t at,
                           const char *words)
{
    struct halo_region_feed *feed = create(0);
    struct halo_error err = {0};
    const struct halo_region_update good = rect("good", 1, 1, 1, 1);
    assert_int_equal(update(feed, 0, &good, 1), 0);
    assert_int_equal(
        halo_region_feed_update(feed, START + at, updates, count, (START + 10 * MS) * 1000, &err),
        -EINVAL);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_null(why_at(feed, 10 * MS, 10 * MS)); /* nothing has changed */
    assert_covered(&good.shape, 0, 0);
    halo_region_feed_destroy(feed);
}

static void test_refused(void **state)
{
    (void)state;
    static struct halo_region_update many[HALO_MAX_SHAPES + 1];
    struct halo_region_update a = rect("a", 1, 2, 3, 4);
    for (int i = 0; i <= HALO_MAX_SHAPES; i++)
        many[i] = rect("", i, i, 1, 1);
    assert_refused(many, HALO_MAX_SHAPES + 1, 0, "at most 64");
    assert_refused(&a, 1, 61 * (int64_t)SECOND, "within a minute");
    assert_refused(&a, 1, -61 * (int64_t)SECOND, "within a minute");
    assert_refused((struct halo_region_update[]){a, a}, 2, 5, "another region has the id 'a'");
    const double bad[] = {NAN, INFINITY, -INFINITY, 2e5, 0, -1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        a.shape.width.value = bad[i];
        assert_refused(&a, 1, 5, "regions[0]");
    }
    a = rect("a", 1, 2, 3, 4);
    a.shape.y.relative = true;
    assert_refused(&a, 1, 5, "all in pixels");
    a = rect("a", 1, 2, 3, 4);
    a.ttl = -1;
    assert_refused(&a, 1, 5, "ttl");
    a.ttl = NAN;
    assert_refused(&a, 1, 5, "ttl");
    a = rect("a", 1, 2, 3, 4);
    a.shape.kind = HALO_SHAPE_MASK;
    assert_refused(&a, 1, 5, "a rectangle, an ellipse or a polygon");
    a.shape.kind = HALO_SHAPE_POLYGON;
    assert_refused(&a, 1, 5, "3 to 64 corners");
}

/* ---- threads ---- */

struct asking {
    struct halo_region_feed *feed;
    atomic_bool over;
    atomic_int at;    /* ms: the frame that was told of last */
    atomic_int apart; /* looks in which something was shown that was not hidden */
};

/* ---- filters with invert ---- */

static bool shows(struct halo_region_feed *feed, int64_t at)
{
    const char *why;
    return halo_region_feed_at(feed, START + at, (START + at) * 1000, NULL, &now_, &why) &&
           now_.count > 0;
}

/* Less than was told, never more. */
static void test_shown(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0.1);
    assert_false(shows(feed, 0)); /* none yet */
    struct halo_region_update one = rect("a", 100, 100, 40, 20);
    update(feed, 0, &one, 1);
    assert_true(shows(feed, 10 * MS));
    assert_int_equal(now_.count, 1);
    assert_float_equal(now_.shape[0].x.value, 104, 1e-9);
    assert_float_equal(now_.shape[0].width.value, 32, 1e-9);
    assert_float_equal(now_.shape[0].y.value, 102, 1e-9);
    assert_float_equal(now_.shape[0].height.value, 16, 1e-9);

    one = rect("a", 200, 100, 40, 20); /* it moves: no way, and nothing ahead */
    update(feed, 40 * MS, &one, 1);
    assert_false(shows(feed, 20 * MS));
    assert_true(shows(feed, 60 * MS));
    assert_int_equal(now_.count, 1);
    assert_float_equal(now_.shape[0].x.value, 204, 1e-9);

    update(feed, 80 * MS, NULL, 0); /* it went: not held */
    assert_false(shows(feed, 90 * MS));
    one = rect("a", 100, 100, 40, 20);
    update(feed, 120 * MS, &one, 1);
    assert_false(shows(feed, 120 * MS + 10 * SECOND)); /* silence */
    assert_int_equal(now_.count, 0);
    halo_region_feed_destroy(feed);
}

/* What has no room is left out: the box around a polygon would show more than was told. */
static void test_shown_without_room(void **state)
{
    (void)state;
    enum { POLYGONS = HALO_REGION_CORNERS / HALO_MAX_CORNERS };
    static struct halo_region_update updates[POLYGONS];
    static struct halo_length corner[HALO_MAX_CORNERS][2];
    struct halo_region_feed *feed = create(0);
    for (int i = 0; i < HALO_MAX_CORNERS; i++) {
        corner[i][0] = px(100 + 50 * cos(i * 2 * M_PI / HALO_MAX_CORNERS));
        corner[i][1] = px(100 + 50 * sin(i * 2 * M_PI / HALO_MAX_CORNERS));
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < POLYGONS; i++) {
            updates[i].shape = (struct halo_shape){
                .kind = HALO_SHAPE_POLYGON, .corner = corner, .corners = HALO_MAX_CORNERS};
            snprintf(updates[i].id, sizeof updates[i].id, "%d", round * POLYGONS + i);
        }
        assert_int_equal(update(feed, 0, updates, POLYGONS), 0);
    }
    assert_true(shows(feed, 0));
    assert_int_equal(now_.count, POLYGONS);
    assert_false(is_hidden(55, 55)); /* a corner of the box */
    halo_region_feed_destroy(feed);
}

/* What was joined to one is more than was told; so is the box around a polygon. */
static void test_shown_joined(void **state)
{
    (void)state;
    struct halo_region_feed *feed = create(0);
    struct halo_region_update one = rect("a", 0, 0, 10, 10);
    update(feed, 0, &one, 1);
    one = rect("a", 90, 90, 10, 10);
    update(feed, 0, &one, 1);
    assert_false(shows(feed, 0));
    one = rect("a", 90, 90, 10, 10);
    update(feed, 40 * MS, &one, 1);
    assert_true(shows(feed, 40 * MS));
    assert_false(is_hidden(5, 5));
    halo_region_feed_destroy(feed);
}

static bool is_within(const struct halo_region_now *now, const struct halo_shape *s)
{
    bool within = false;
    for (int i = 0; i < now->count; i++)
        within |= is_in_shape(&now->shape[i], s->x.value + s->width.value / 2,
                              s->y.value + s->height.value / 2);
    return within;
}

/* What one look hides and what it shows belong together, whatever is told meanwhile. */
static void *ask(void *arg)
{
    struct asking *asking = arg;
    struct halo_region_now *now = malloc(2 * sizeof *now);
    while (now && !atomic_load(&asking->over)) {
        const int64_t at = atomic_load(&asking->at) + 200; /* a detector is late */
        const char *why;
        struct halo_region_feed_stats stats;
        halo_region_feed_at(asking->feed, START + at * MS, (START + at * MS) * 1000, &now[0],
                            &now[1], &why);
        for (int i = 0; i < now[1].count; i++)
            atomic_fetch_add(&asking->apart, !is_within(&now[0], &now[1].shape[i]));
        halo_region_feed_stats(asking->feed, (START + at * MS) * 1000, &stats);
    }
    free(now);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct asking asking = {.feed = create(0.1)};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &asking), 0);
    for (int at = 0; at < 20000; at++) {
        const struct halo_region_update two[] = {
            rect("a", at % 2 * 500, 5, 20, 20),
            update_of(HALO_SHAPE_ELLIPSE, "", 50, at % 70, 9, 9)};
        update(asking.feed, at * (int64_t)MS, two, 1 + at % 2);
        atomic_store(&asking.at, at);
        if (at % 500 == 0)
            halo_region_feed_begin(asking.feed, START + at * (int64_t)MS);
    }
    atomic_store(&asking.over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(asking.apart, 0);
    halo_region_feed_destroy(asking.feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_reported),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_older_frames),
        cmocka_unit_test(test_frames_to_come),
        cmocka_unit_test(test_margin),
        cmocka_unit_test(test_hold_and_ttl),
        cmocka_unit_test(test_hold_in_late_frames),
        cmocka_unit_test(test_growing_ellipse),
        cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_twice_in_one_frame),
        cmocka_unit_test(test_no_place),
        cmocka_unit_test(test_longest_ttl),
        cmocka_unit_test(test_way_of_rectangles),
        cmocka_unit_test(test_way_of_ellipses),
        cmocka_unit_test(test_shapes_that_stay),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_appearing),
        cmocka_unit_test(test_polygons),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_many_ids),
        cmocka_unit_test(test_both_units),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_shown_joined),
        cmocka_unit_test(test_shown_without_room),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
