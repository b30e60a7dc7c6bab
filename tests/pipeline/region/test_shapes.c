/* SPDX-License-Identifier: BSD-2-Clause
 * Shapes: parsed, and drawn as a slow rasteriser draws them that looks at many points of each
 * sample. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/mask_image.h"
#include "pipeline/region/shapes.h"
#include "tests/cmocka_all.h"

static struct halo_shapes *parse(const char *text)
{
    struct halo_shapes *shapes = NULL;
    struct halo_error err = {0};
    if (halo_shapes_parse(&shapes, text, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return shapes;
}

static void parsed(void **state)
{
    (void)state;
    struct halo_shapes *s = parse(" rect 10% 20 5 400%+ellipse 1 2 3 4 polygon 0 0 50% 0 .5 1 ");
    assert_int_equal(s->count, 3);
    assert_int_equal(s->shape[0].kind, HALO_SHAPE_RECT);
    assert_true(s->shape[0].x.relative && s->shape[0].x.value == 0.1);
    assert_true(!s->shape[0].y.relative && s->shape[0].y.value == 20);
    assert_int_equal(s->shape[1].kind, HALO_SHAPE_ELLIPSE);
    assert_true(s->shape[1].height.value == 4);
    assert_int_equal(s->shape[2].corners, 3);
    assert_true(s->shape[2].corner[2][0].value == 0.5 && !s->shape[2].corner[2][0].relative);
    halo_shapes_destroy(s);
    s = parse("feed");
    assert_int_equal(s->from, HALO_SHAPES_FEED);
    assert_int_equal(s->count, 0);
    assert_int_equal(halo_shapes_finds(s), 0);
    halo_shapes_destroy(s);
    static const struct {
        const char *text;
        enum halo_shapes_from from;
        enum halo_find find;
    } found[] = {
        {"faces", HALO_SHAPES_FACES, HALO_FIND_FACES},
        {" people ", HALO_SHAPES_PEOPLE, HALO_FIND_PEOPLE},
        {"background", HALO_SHAPES_BACKGROUND, HALO_FIND_PEOPLE},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        s = parse(found[i].text);
        assert_int_equal(s->from, found[i].from);
        assert_int_equal(s->count, 0);
        assert_int_equal(halo_shapes_finds(s), halo_find_bit(found[i].find));
        halo_shapes_destroy(s);
    }
    assert_int_equal(halo_shapes_finds(NULL), 0);
    halo_shapes_destroy(NULL);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "column 1: a shape"},
        {"elipse 1 2 3 4", "column 1: unknown shape elipse (nearest: ellipse)"},
        {"rect 1 2 3", "column 11: a height is missing"},
        {"rect 1 2 3 4 5", "column 14: found 5 instead of a shape"},
        {"rect 1 2 0 4", "column 10: a width must be greater than 0"},
        {"rect 1 2 4 -4", "column 12: a height must be greater than 0"},
        {"rect 1 2 3 4+", "column 14: a shape"},
        {"rect 1 2 3 4++rect 1 2 3 4", "column 14: a shape"},
        {"rect 1e3 2 3 4x", "column 14: found 4x instead of "},
        {"rect nan 2 3 4", "column 6: found nan instead of "},
        {"rect 70000 2 3 4", "column 6: 70000 exceeds the limit of 65536"},
        {"rect 401% 2 3 4", "column 6: 401 exceeds the limit of 400%"},
        {"polygon 0 0 1 1", "column 16: x of a corner"},
        {"polygon 0 0 1 1 2", "column 18: y of a corner is missing"},
        {"feed+rect 1 2 3 4", "column 5: feed cannot be combined with other shapes"},
        {"background rect 1 2 3 4", "column 12: background cannot be combined"},
        {"faces+people", "column 6: faces cannot be combined with other shapes"},
        {"rect 1 2 3 4 feed", "column 18: feed cannot be combined with other shapes"},
        {"mask", "column 5: an image's path is missing"},
        {"rect 0 0 1 1+mask /nonexistent/a.png",
         "column 19: the mask image /nonexistent/a.png cannot be read: No such file"},
        {"mask /dev", "column 6: the mask image /dev cannot be used: this is not a regular file"},
        {"mask /dev/null", "this is not a regular file"},
        {"mask /proc/self/maps", "the file is not PNG"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct halo_shapes *shapes = NULL;
        struct halo_error err = {0};
        if (halo_shapes_parse(&shapes, bad[i].text, &err) >= 0 || shapes ||
            !strstr(err.text, bad[i].says))
            fail_msg("%s: '%s'", bad[i].text, err.text);
    }
}

static void many(void **state)
{
    char text[4096] = "";
    struct halo_shapes *shapes;
    struct halo_error err = {0};
    (void)state;
    for (int i = 0; i < HALO_MAX_SHAPES; i++)
        strcat(text, "rect 0 0 1 1+");
    text[strlen(text) - 1] = '\0';
    shapes = parse(text);
    assert_int_equal(shapes->count, HALO_MAX_SHAPES);
    halo_shapes_destroy(shapes);
    strcat(text, "+rect 0 0 1 1");
    assert_int_equal(halo_shapes_parse(&shapes, text, &err), -EINVAL);
    assert_non_null(strstr(err.text, "at most 64 shapes"));
    strcpy(text, "polygon");
    for (int i = 0; i < HALO_MAX_CORNERS; i++)
        strcat(text, " 1 2");
    shapes = parse(text);
    halo_shapes_destroy(shapes);
    strcat(text, " 1 2");
    err = (struct halo_error){0};
    assert_int_equal(halo_shapes_parse(&shapes, text, &err), -EINVAL);
    assert_non_null(strstr(err.text, "at most 64 corners"));
}

/* ---- the slow rasteriser ---- */

enum { GRID = 8 }; /* points of a luma pixel in each direction, away from its edges */

static double length_of(const struct halo_length *l, int whole)
{
    return l->relative ? l->value * whole : l->value;
}

static bool holds(const struct halo_shape *s, double x, double y, int width, int height)
{
    if (s->kind == HALO_SHAPE_POLYGON) {
        bool in = false;
        for (int i = 0, j = s->corners - 1; i < s->corners; j = i++) {
            const double xi = length_of(&s->corner[i][0], width);
            const double yi = length_of(&s->corner[i][1], height);
            const double xj = length_of(&s->corner[j][0], width);
            const double yj = length_of(&s->corner[j][1], height);
            if ((yi > y) != (yj > y) && x < (xj - xi) * (y - yi) / (yj - yi) + xi)
                in = !in;
        }
        return in;
    }
    const double a = length_of(&s->width, width) / 2, b = length_of(&s->height, height) / 2;
    const double u = x - length_of(&s->x, width) - a, v = y - length_of(&s->y, height) - b;
    if (s->kind == HALO_SHAPE_RECT)
        return fabs(u) < a && fabs(v) < b;
    return u * u / (a * a) + v * v / (b * b) < 1;
}

/* Points of the sample that the shape holds, and how many there are. */
static int count_points(const struct halo_shape *s, const struct halo_shape_canvas *c, int x, int y,
                        int *ret_all)
{
    const int across = GRID << c->log2_sub_x, down = GRID << c->log2_sub_y;
    int held = 0;
    *ret_all = 0;
    for (int j = 0; j < down; j++)
        for (int i = 0; i < across; i++) {
            const double u = x * (1 << c->log2_sub_x) + (i + 0.5) / GRID;
            const double v = y * (1 << c->log2_sub_y) + (j + 0.5) / GRID;
            const bool outside = u > c->frame_width || v > c->frame_height;
            if (outside && s->kind == HALO_SHAPE_RECT)
                continue;
            held += holds(s, u, v, c->frame_width, c->frame_height);
            ++*ret_all;
        }
    return held;
}

enum { SIDE = 64 }; /* more than the frames have */

/* Of each sample, and of those just around the plane: whether a shape holds some of its points, and
 * whether all. */
struct counted {
    bool some[SIDE + 2][SIDE + 2], all[SIDE + 2][SIDE + 2];
};

static void count(const struct halo_shape *shape, const struct halo_shape_canvas *c,
                  struct counted *ret)
{
    for (int y = -1; y <= c->height; y++)
        for (int x = -1; x <= c->width; x++) {
            int all;
            const int held = count_points(shape, c, x, y, &all);
            ret->some[y + 1][x + 1] = held > 0;
            ret->all[y + 1][x + 1] = held == all;
        }
}

/* What must be hidden: 255; must not, 0; a sample of which so little is hidden that no point met it
 * may be either: 1. */
static int wanted(const struct counted *counted, int shapes, bool invert, int x, int y)
{
    bool some = false, whole = false, near = false;
    for (int i = 0; i < shapes; i++) {
        const struct counted *s = &counted[i];
        bool most = false, least = true;
        for (int j = 0; j <= 2; j++)
            for (int k = 0; k <= 2; k++) {
                most |= s->some[y + j][x + k];
                least &= s->all[y + j][x + k];
            }
        some |= s->some[y + 1][x + 1];
        whole |= s->all[y + 1][x + 1];
        near |= invert ? s->all[y + 1][x + 1] && !least : !s->some[y + 1][x + 1] && most;
    }
    if (invert)
        return !whole ? 255 : near ? 1 : 0;
    return some ? 255 : near ? 1 : 0;
}

static void draw(const struct halo_shapes *shapes, const struct halo_shape_canvas *c,
                 struct halo_drawn_region *region, bool *hidden)
{
    assert_int_equal(halo_shapes_draw(shapes->shape, shapes->count, c, region, hidden), 0);
}

/* Counts samples that may be either and are hidden: few, or else it hides too much. */
static int compare(const char *text, const struct halo_shapes *shapes,
                   const struct halo_shape_canvas *c, const struct halo_drawn_region *region)
{
    static struct counted counted[3];
    uint8_t row[512];
    int either = 0;
    assert_true(shapes->count <= 3 && c->width <= SIDE && c->height <= SIDE);
    for (int i = 0; i < shapes->count; i++)
        count(&shapes->shape[i], c, &counted[i]);
    for (int y = 0; y < c->height; y++) {
        halo_region_row(&region->region, y, c->width, row);
        for (int x = 0; x < c->width; x++) {
            const int w = wanted(counted, shapes->count, c->invert, x, y);
            either += w == 1 && row[x];
            if (w != 1 && row[x] != w)
                fail_msg("%s%s, %d, %d of %dx%d (%d, %d): %d, wanted %d", text,
                         c->invert ? " inverted" : "", x, y, c->width, c->height, c->log2_sub_x,
                         c->log2_sub_y, row[x], w);
        }
    }
    return either;
}

static struct halo_shape_canvas canvas_of(int width, int height, int sub_x, int sub_y, bool invert)
{
    return (struct halo_shape_canvas){.frame_width = width,
                                      .frame_height = height,
                                      .log2_sub_x = sub_x,
                                      .log2_sub_y = sub_y,
                                      .width = (width + (1 << sub_x) - 1) >> sub_x,
                                      .height = (height + (1 << sub_y) - 1) >> sub_y,
                                      .invert = invert};
}

static const int subs[][2] = {{0, 0}, {1, 1}, {1, 0}};

static void drawn(void **state)
{
    static const char *const texts[] = {
        "rect 3 4 10 11",
        "rect 10% 20% 30% 40%",
        "rect 3.25 4.75 0.5 20.1",
        "rect -5 -5 20 9 + rect 30 20 500 500",
        "rect 0 0 100% 100%",
        "ellipse 4 4 30 20",
        "ellipse 0 0 100% 100%",
        "ellipse 3.3 5.1 7.7 0.4",
        "ellipse -20 -10 40 30",
        "ellipse 10 10 1 1 + ellipse 20.5 20.5 0.2 0.2",
        "polygon 3 3 30 3 3 30",
        "polygon 0 0 50% 0 25% 100%",
        "polygon 1.3 2.7 40.2 9.9 20.5 33.3 -7 12",
        "polygon 0 0 40 30 0 30 40 0",
        "polygon 5 5 35 5 35 25 5 25 5 10 30 10 30 20 10 20",
        "rect 5 5 10 10 ellipse 10 10 20 20 polygon 30 0 45 0 40 35",
    };
    struct halo_drawn_region region = {0}; /* one for all: old drawings must not show */
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct halo_shapes *shapes = parse(texts[i]);
        for (int k = 0; k < 6; k++) {
            const struct halo_shape_canvas c =
                canvas_of(47, 35, subs[k / 2][0], subs[k / 2][1], k & 1);
            bool hidden;
            draw(shapes, &c, &region, &hidden);
            assert_int_equal(region.region.number, 0);
            const int either = compare(texts[i], shapes, &c, &region);
            if (either > 40)
                fail_msg("%s: %d samples more than the points hit", texts[i], either);
        }
        halo_shapes_destroy(shapes);
    }
    halo_drawn_region_finish(&region);
}

static struct halo_length random_length(bool size)
{
    const double v = (double)(rand() % 6000) / 100 - (size ? -0.5 : 8);
    return rand() % 3 ? (struct halo_length){rand() % 2 ? floor(v) + size : v, false}
                      : (struct halo_length){v / 60, true};
}

static void random_shapes(void **state)
{
    struct halo_drawn_region region = {0};
    (void)state;
    srand(5);
    for (int i = 0; i < 300; i++) {
        struct halo_length corner[8][2];
        struct halo_shape shape = {.kind = (enum halo_shape_kind)(i % 3),
                                   .x = random_length(false),
                                   .y = random_length(false),
                                   .width = random_length(true),
                                   .height = random_length(true),
                                   .corner = corner,
                                   .corners = 3 + rand() % 6};
        for (int k = 0; k < shape.corners; k++) {
            corner[k][0] = random_length(false);
            corner[k][1] = random_length(false);
        }
        const struct halo_shapes shapes = {.shape = &shape, .count = 1};
        const int *sub = subs[rand() % 3];
        const struct halo_shape_canvas c = canvas_of(41, 37, sub[0], sub[1], rand() & 1);
        bool hidden;
        draw(&shapes, &c, &region, &hidden);
        compare("a random shape", &shapes, &c, &region);
    }
    halo_drawn_region_finish(&region);
}

/* In memory in which others were drawn before: as in memory of its own. */
static void drawn_again(void **state)
{
    static const char *const before = "ellipse 2 2 9 7+polygon 30 20 40 20 35 30+ellipse 20 4 9 9";
    static const char *const after = "ellipse 24 6 6 6";
    (void)state;
    for (int invert = 0; invert < 2; invert++) {
        struct halo_shape_canvas c = canvas_of(50, 40, 1, 1, invert);
        struct halo_shapes *many = parse(before), *one = parse(after);
        struct halo_drawn_region again = {0}, fresh = {0};
        uint8_t row[64], wanted_row[64];
        bool hidden;
        for (int feather = 0; feather < 8; feather += 5) {
            c.feather = feather;
            c.spill_x = c.spill_y = feather;
            draw(many, &c, &again, &hidden);
            draw(one, &c, &again, &hidden);
            draw(one, &c, &fresh, &hidden);
            for (int y = 0; y < c.height; y++) {
                halo_region_row(&again.region, y, c.width, row);
                halo_region_row(&fresh.region, y, c.width, wanted_row);
                assert_memory_equal(row, wanted_row, (size_t)c.width);
            }
        }
        halo_drawn_region_finish(&again);
        halo_drawn_region_finish(&fresh);
        halo_shapes_destroy(many);
        halo_shapes_destroy(one);
    }
}

static void nothing_and_everything(void **state)
{
    struct halo_drawn_region region = {0};
    struct halo_shape_canvas c = canvas_of(20, 10, 0, 0, false);
    const struct halo_shape broken = {.kind = HALO_SHAPE_RECT, .x = {NAN, false}};
    const struct halo_shape far = {
        .kind = HALO_SHAPE_ELLIPSE, .x = {-1e9, false}, .width = {1, false}, .height = {1, false}};
    uint8_t row[20];
    bool hidden;
    (void)state;
    assert_int_equal(halo_shapes_draw(NULL, 0, &c, &region, &hidden), 0);
    assert_false(hidden);
    c.feather = 5;
    assert_int_equal(halo_shapes_draw(NULL, 0, &c, &region, &hidden), 0);
    assert_false(hidden);
    c.invert = true;
    assert_int_equal(halo_shapes_draw(NULL, 0, &c, &region, &hidden), 0);
    assert_true(hidden);
    for (int i = 0; i < 4; i++) {
        c.invert = i & 1;
        assert_int_equal(halo_shapes_draw(i < 2 ? &broken : &far, 1, &c, &region, &hidden), 0);
        assert_true(hidden);
        halo_region_row(&region.region, 9, 20, row);
        for (int x = 0; x < 20; x++)
            assert_int_equal(row[x], 255);
    }
    c = canvas_of(20, 10, 0, 0, true);
    struct halo_shapes *all = parse("rect 0 0 100% 100%");
    draw(all, &c, &region, &hidden);
    assert_false(hidden);
    c = canvas_of(21, 11, 1, 1, true);
    draw(all, &c, &region, &hidden);
    assert_false(hidden);
    c.feather = 3;
    draw(all, &c, &region, &hidden);
    assert_false(hidden);
    halo_shapes_destroy(all);
    halo_drawn_region_finish(&region);
}

/* ---- feathers ---- */

/* Every sample against the distances to all that are hidden. */
/* What the last chroma sample of an odd size has outside of the frame, a rectangle need not hold,
 * even if it holds no other sample. */
static void last_samples(void **state)
{
    (void)state;
    struct halo_shapes *s = parse("rect 12 10 1 1");
    struct halo_shape_canvas c = canvas_of(13, 11, 1, 1, true);
    struct halo_drawn_region region = {0};
    uint8_t row[7];
    bool hidden;
    assert_int_equal(halo_shapes_draw(s->shape, s->count, &c, &region, &hidden), 0);
    for (int y = 0; y < c.height; y++) {
        halo_region_row(&region.region, y, c.width, row);
        for (int x = 0; x < c.width; x++)
            assert_int_equal(row[x], x == 6 && y == 5 ? 0 : 255);
    }
    halo_drawn_region_finish(&region);
    halo_shapes_destroy(s);
}

/* What has no width hides the samples that it goes through, and none along a border. */
static void lines(void **state)
{
    static const struct {
        const char *text;
        struct halo_rect box; /* what is hidden of luma */
    } cases[] = {
        {"polygon 2 5.5 9.5 5.5 4 5.5", {2, 5, 10, 6}},
        {"polygon 7.25 1 7.25 8.5 7.25 3", {7, 1, 8, 9}},
        {"polygon 3.5 4.5 3.5 4.5 3.5 4.5", {3, 4, 4, 5}},
        {"polygon 2 5 9 5 4 5", {0, 0, 0, 0}},
        {"polygon 7 1 7 8 7 3", {0, 0, 0, 0}},
        {"rect 2.5 3 0.0001 4", {2, 3, 3, 7}},
        {"rect 2.5 3 0.0001 4 + polygon 2 5 9 5 4 5", {2, 3, 3, 7}},
        {"ellipse 4 6.5 3 0.0001", {4, 6, 7, 7}},
    };
    struct halo_drawn_region region = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct halo_rect *box = &cases[i].box;
        struct halo_shapes *shapes = parse(cases[i].text);
        const struct halo_shape_canvas c = canvas_of(12, 10, 0, 0, false);
        uint8_t row[12];
        bool hidden;
        draw(shapes, &c, &region, &hidden);
        assert_int_equal(hidden, box->x0 < box->x1);
        for (int y = 0; y < c.height; y++) {
            halo_region_row(&region.region, y, c.width, row);
            for (int x = 0; x < c.width; x++) {
                const bool meant = x >= box->x0 && x < box->x1 && y >= box->y0 && y < box->y1;
                if (row[x] != (meant ? 255 : 0))
                    fail_msg("%s: %d, %d: %d", cases[i].text, x, y, row[x]);
            }
        }
        halo_shapes_destroy(shapes);
    }
    halo_drawn_region_finish(&region);
}

/* Where samples show what lies beside them: each has the largest weight of those around it. */
static void check_spread(const struct halo_shapes *shapes, const struct halo_shape_canvas *c,
                         struct halo_drawn_region *region)
{
    struct halo_shape_canvas plain = *c;
    struct halo_drawn_region own = {0};
    uint8_t from[SIDE][SIDE], row[SIDE];
    bool hidden;
    plain.spill_x = plain.spill_y = false;
    draw(shapes, &plain, &own, &hidden);
    for (int y = 0; y < c->height; y++)
        halo_region_row(&own.region, y, c->width, from[y]);
    draw(shapes, c, region, &hidden);
    for (int y = 0; y < c->height; y++) {
        halo_region_row(&region->region, y, c->width, row);
        for (int x = 0; x < c->width; x++) {
            uint8_t most = 0;
            for (int v = y - c->spill_y; v <= y + c->spill_y; v++)
                for (int u = x - c->spill_x; u <= x + c->spill_x; u++)
                    if (u >= 0 && v >= 0 && u < c->width && v < c->height && from[v][u] > most)
                        most = from[v][u];
            if (row[x] != most)
                fail_msg("%d, %d of %dx%d: %d, wanted %d", x, y, c->width, c->height, row[x], most);
        }
    }
    halo_drawn_region_finish(&own);
}

static void spread(void **state)
{
    static const char *const texts[] = {
        "rect 3 4 10 11",
        "rect 0 0 100% 100%",
        "rect -5 -5 20 9 + rect 30 20 500 500",
        "rect 4 4 10 10 rect 14 4 10 10 rect 4 14 20 6",
        "rect 60 4 10 10",
        "ellipse 4 4 30 20",
        "ellipse -20 -10 40 30",
        "polygon 0 0 40 30 0 30 40 0",
        "ellipse 10 10 1 1 + ellipse 30 20.5 0.2 0.2",
    };
    static const int by[] = {1, 2, 3, 5, 8, 21, 60};
    struct halo_drawn_region region = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct halo_shapes *shapes = parse(texts[i]);
        for (int k = 0; k < 8; k++) {
            struct halo_shape_canvas c = canvas_of(47, 35, 1, 1, k & 1);
            c.spill_x = k & 2 ? by[i % 7] : 0;
            c.spill_y = k & 4 ? by[(i + k) % 7] : 0;
            check_spread(shapes, &c, &region);
        }
        halo_shapes_destroy(shapes);
    }
    halo_drawn_region_finish(&region);
}

static void check_feather(const char *text, const struct halo_shape_canvas *hard, double feather,
                          struct halo_drawn_region *region)
{
    struct halo_shapes *shapes = parse(text);
    struct halo_shape_canvas soft = *hard;
    struct halo_drawn_region first = {0};
    uint8_t from[64][64], row[64];
    bool hidden;
    soft.feather = feather;
    draw(shapes, hard, &first, &hidden);
    for (int y = 0; y < hard->height; y++)
        halo_region_row(&first.region, y, hard->width, from[y]);
    draw(shapes, &soft, region, &hidden);
    for (int y = 0; y < hard->height; y++) {
        halo_region_row(&region->region, y, hard->width, row);
        for (int x = 0; x < hard->width; x++) {
            double nearest = HUGE_VAL;
            for (int v = 0; v < hard->height; v++)
                for (int u = 0; u < hard->width; u++)
                    if (from[v][u])
                        nearest = fmin(nearest, hypot((u - x) * (1 << hard->log2_sub_x),
                                                      (v - y) * (1 << hard->log2_sub_y)));
            const double w = nearest == 0 ? 255 : ceil(255 * fmax(feather - nearest, 0) / feather);
            if (row[x] != (int)w)
                fail_msg("%s, feather %g, %d, %d: %d, wanted %g", text, feather, x, y, row[x], w);
        }
    }
    halo_drawn_region_finish(&first);
    halo_shapes_destroy(shapes);
}

static void feathered(void **state)
{
    static const char *const texts[] = {
        "rect 10 10 12 9",         "ellipse 15 8 14 20",
        "polygon 5 5 50 12 20 40", "rect 0 0 5 5+rect 40 30 30 30",
        "ellipse 30 20 1 1",       "ellipse 2 2 9 9+ellipse 30 5 12 9+rect 8 25 7 7"};
    static const double feathers[] = {0.5, 1, 2.5, 7, 30, 512};
    struct halo_drawn_region region = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t f = 0; f < sizeof feathers / sizeof *feathers; f++)
            for (int k = 0; k < 6; k++) {
                struct halo_shape_canvas c =
                    canvas_of(51, 43, subs[k / 2][0], subs[k / 2][1], k & 1);
                c.spill_x = i & 1;
                c.spill_y = f & 1;
                check_feather(texts[i], &c, feathers[f], &region);
            }
    halo_drawn_region_finish(&region);
}

/* ---- masks ---- */

static struct halo_shapes *mask_of(uint8_t *weights, int width, int height)
{
    static struct halo_mask_image image;
    static struct halo_shape shape;
    static struct halo_shapes shapes;
    image = (struct halo_mask_image){
        .width = width, .height = height, .weight = weights, .inside = {1, 0, 2, 2}};
    shape = (struct halo_shape){.kind = HALO_SHAPE_MASK, .mask = &image};
    shapes = (struct halo_shapes){.shape = &shape, .count = 1};
    return &shapes;
}

/* A mask of 3 by 2, larger and smaller than frames. */
static void masks(void **state)
{
    static const int sizes[][2] = {{3, 2}, {6, 4}, {7, 5}, {2, 1}, {1, 1}, {50, 33}};
    uint8_t weights[] = {0, 255, 0, 10, 200, 100}, row[64];
    struct halo_drawn_region region = {0};
    (void)state;
    for (int k = 0; k < 6 * 6; k++) {
        const int *size = sizes[k / 6], *sub = subs[k / 2 % 3];
        const struct halo_shapes *shapes = mask_of(weights, 3, 2);
        const struct halo_shape_canvas c = canvas_of(size[0], size[1], sub[0], sub[1], k & 1);
        bool hidden;
        draw(shapes, &c, &region, &hidden);
        assert_true(hidden);
        for (int y = 0; y < c.height; y++) {
            halo_region_row(&region.region, y, c.width, row);
            for (int x = 0; x < c.width; x++) {
                int most = 0; /* of all mask pixels that share area with the sample */
                for (int i = 0; i < 6; i++) {
                    const double x0 = fmax((double)(i % 3) * size[0] / 3, x << sub[0]);
                    const double x1 = fmin((double)(i % 3 + 1) * size[0] / 3, (x + 1) << sub[0]);
                    const double y0 = fmax((double)(i / 3) * size[1] / 2, y << sub[1]);
                    const double y1 = fmin((double)(i / 3 + 1) * size[1] / 2, (y + 1) << sub[1]);
                    const int w = k & 1 ? 255 - weights[i] : weights[i];
                    if (x1 - x0 > 1e-9 && y1 - y0 > 1e-9 && w > most)
                        most = w;
                }
                assert_int_equal(row[x], most);
            }
        }
    }
    halo_drawn_region_finish(&region);
}

static int chance(unsigned *seed, int below)
{
    *seed = *seed * 1103515245 + 12345;
    return (int)(*seed >> 16) % below;
}

/* The weight that a feather gives to sample x, y: by the largest of its nearest weights. */
static int feather_of(const uint8_t *from, const struct halo_shape_canvas *c, int x, int y)
{
    int nearest = INT_MAX, most = 0;
    for (int i = 0; i < c->width * c->height; i++) {
        const int u = i % c->width - x, v = i / c->width - y;
        const int d = (u * u << 2 * c->log2_sub_x) + (v * v << 2 * c->log2_sub_y);
        if (!from[i] || d > nearest)
            continue;
        most = d < nearest || from[i] > most ? from[i] : most;
        nearest = d;
    }
    const double left = fmax(c->feather - sqrt(nearest), 0);
    return nearest == 0 ? most : (int)ceil(most * left / c->feather);
}

/* Sparse weights, so that many samples are equally near to several. */
static void masks_feathered(void **state)
{
    enum { WIDTH = 24, HEIGHT = 18, MAX = WIDTH * HEIGHT };
    uint8_t weights[MAX], row[WIDTH];
    struct halo_drawn_region hard = {0}, soft = {0};
    unsigned seed = 1;
    (void)state;
    for (int k = 0; k < 60; k++) {
        for (int i = 0; i < MAX; i++)
            weights[i] = (uint8_t)(chance(&seed, 12) ? 0 : 1 + chance(&seed, 255));
        const struct halo_shapes *shapes = mask_of(weights, WIDTH, HEIGHT);
        shapes->shape->mask->inside = (struct halo_rect){0, 0, WIDTH, HEIGHT};
        struct halo_shape_canvas c =
            canvas_of(WIDTH, HEIGHT, subs[k % 3][0], subs[k % 3][1], false);
        uint8_t from[MAX];
        bool hidden;
        draw(shapes, &c, &hard, &hidden);
        for (int y = 0; y < c.height; y++)
            halo_region_row(&hard.region, y, c.width, from + (ptrdiff_t)y * c.width);
        c.feather = 1 + k % 7;
        draw(shapes, &c, &soft, &hidden);
        for (int y = 0; y < c.height; y++) {
            halo_region_row(&soft.region, y, c.width, row);
            for (int x = 0; x < c.width; x++)
                if (row[x] != feather_of(from, &c, x, y))
                    fail_msg("mask %d, %d, %d: %d, wanted %d", k, x, y, row[x],
                             feather_of(from, &c, x, y));
        }
    }
    halo_drawn_region_finish(&hard);
    halo_drawn_region_finish(&soft);
}

static void sizes(void **state)
{
    uint8_t weights[] = {0, 255, 0, 0, 200, 0};
    double width, height;
    (void)state;
    struct halo_shapes *s = parse("rect 10 20 30 40 + ellipse 50% 0 10% 10");
    halo_shapes_size(s->shape, s->count, 200, 100, &width, &height);
    assert_true(width == 110 && height == 60);
    halo_shapes_destroy(s);
    s = parse("polygon -10 -10 50 50 0 500"); /* what has left the frame counts, up to its size */
    halo_shapes_size(s->shape, s->count, 200, 100, &width, &height);
    assert_true(width == 60 && height == 100);
    halo_shapes_destroy(s);
    s = parse("rect -30 10 40 10 + rect 200 10 500 10");
    halo_shapes_size(s->shape, s->count, 200, 100, &width, &height);
    assert_true(width == 40 && height == 10);
    halo_shapes_destroy(s);
    halo_shapes_size(NULL, 0, 200, 100, &width, &height);
    assert_true(width == 200 && height == 100);
    s = mask_of(weights, 3, 2);
    halo_shapes_size(s->shape, s->count, 300, 100, &width, &height);
    assert_true(width == 100 && height == 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsed),
        cmocka_unit_test(refused),
        cmocka_unit_test(many),
        cmocka_unit_test(drawn),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(drawn_again),
        cmocka_unit_test(nothing_and_everything),
        cmocka_unit_test(spread),
        cmocka_unit_test(feathered),
        cmocka_unit_test(masks),
        cmocka_unit_test(masks_feathered),
        cmocka_unit_test(sizes),
        cmocka_unit_test(last_samples),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
