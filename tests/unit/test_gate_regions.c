/* SPDX-License-Identifier: BSD-2-Clause
 * Regions that are told for each picture, through the gate: hidden where they are, everything where
 * nobody knows. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "pipeline/gate.h"
#include "pipeline/raw_picture.h"
#include "pipeline/region_feed.h"
#include "tests/unit/cmocka_all.h"

enum { WIDTH = 70, HEIGHT = 50, SECOND = 1000000 };

struct fixture {
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate;
    struct halo_region_feed *feed;
    struct halo_raw_picture raw;
    int64_t now; /* us */
    bool unsure;
    enum halo_privacy privacy;
};

static void begin(struct fixture *f, const char *chain)
{
    const char *backend = getenv("HALO_TEST_BACKEND"); /* by hand, where there is a GPU */
    const struct halo_ring_settings settings = {
        .backend = backend ? backend : "cpu", .depth = 2, .deadline = 60, .locked = -1};
    const struct halo_gate_input input = {.format = AV_PIX_FMT_YUV420P,
                                          .width = WIDTH,
                                          .height = HEIGHT,
                                          .privacy = f->privacy,
                                          .unsure = f->unsure};
    const struct halo_region_feed_settings feed = {.on = true, .margin = 0, .hold = 0, .limit = 30};
    struct halo_error err = {0};
    assert_int_equal(halo_ring_create(&f->ring, &settings, &err), 0);
    assert_int_equal(halo_chain_parse(&f->chain, chain, &err), 0);
    if (halo_gate_create(&f->gate, f->chain, f->ring, &input, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(halo_region_feed_create(&f->feed, &feed), 0);
    f->now = halo_now_ns() / 1000;
    AVFrame *frame = f->raw.frame = av_frame_alloc();
    f->raw.format = frame->format = AV_PIX_FMT_YUV420P;
    frame->width = WIDTH;
    frame->height = HEIGHT;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < frame->linesize[p] * (p ? HEIGHT / 2 : HEIGHT); i++)
            frame->data[p][i] = (uint8_t)(130 + i * 7 % 90);
}

static void end(struct fixture *f)
{
    av_frame_free(&f->raw.frame);
    halo_gate_destroy(f->gate);
    halo_region_feed_destroy(f->feed);
    halo_chain_destroy(f->chain);
    halo_ring_destroy(f->ring);
}

static struct halo_output_picture *pass(struct fixture *f, int64_t time)
{
    struct halo_pending *pending;
    struct halo_output_picture *picture;
    struct halo_error err = {0};
    f->raw.frame->pts = time + 1000; /* what went has gone */
    if (halo_gate_enter(f->gate, &f->raw, &pending, &err) < 0 ||
        halo_gate_leave(pending, 0, &picture, &err) < 0)
        fail_msg("%s", err.text);
    return picture;
}

static void tell(struct fixture *f, int64_t time, enum halo_shape_kind kind, double x, double y,
                 double size)
{
    const struct halo_region_told told = {
        .id = "",
        .shape = {.kind = kind, .x = {x, 0}, .y = {y, 0}, .width = {size, 0}, .height = {size, 0}}};
    struct halo_error err = {0};
    halo_region_feed_pass(f->feed, time);
    if (halo_region_feed_update(f->feed, time, &told, size > 0, halo_now_ns(), &err) < 0)
        fail_msg("%s", err.text);
}

/* Which samples are other than the raw ones: the box, and how many. */
static struct halo_rect changed(const struct fixture *f, const AVFrame *out, int p, int *ret_count)
{
    const AVFrame *raw = f->raw.frame;
    struct halo_rect r = {WIDTH, HEIGHT, 0, 0};
    *ret_count = 0;
    for (int y = 0; y < (p ? HEIGHT / 2 : HEIGHT); y++)
        for (int x = 0; x < (p ? WIDTH / 2 : WIDTH); x++) {
            if (out->data[p][y * out->linesize[p] + x] == raw->data[p][y * raw->linesize[p] + x])
                continue;
            ++*ret_count;
            r.x0 = x < r.x0 ? x : r.x0;
            r.y0 = y < r.y0 ? y : r.y0;
            r.x1 = x >= r.x1 ? x + 1 : r.x1;
            r.y1 = y >= r.y1 ? y + 1 : r.y1;
        }
    return r;
}

static void check(struct fixture *f, int64_t time, struct halo_rect wanted, bool whole)
{
    struct halo_output_picture *picture = pass(f, time);
    const AVFrame *out = halo_output_picture_frame(picture);
    for (int p = 0; p < 3; p++) {
        int count;
        const struct halo_rect got = changed(f, out, p, &count);
        const int sub = p ? 2 : 1;
        const struct halo_rect r = {wanted.x0 / sub, wanted.y0 / sub, (wanted.x1 + sub - 1) / sub,
                                    (wanted.y1 + sub - 1) / sub};
        const int area = (r.x1 - r.x0) * (r.y1 - r.y0);
        if (area == 0 ? count != 0 : memcmp(&got, &r, sizeof r) != 0)
            fail_msg("plane %d: %d samples in %d,%d %d,%d", p, count, got.x0, got.y0, got.x1,
                     got.y1);
        assert_true(!whole || count == area);
    }
    halo_output_picture_destroy(picture);
}

static const struct halo_rect all = {0, 0, WIDTH, HEIGHT}, none = {0};

static void told(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=feed");
    check(&f, f.now, all, true); /* no feed */
    halo_gate_set_feed(f.gate, f.feed);
    check(&f, f.now, all, true); /* none yet */
    for (int i = 0; i < 5; i++) {
        const int64_t time = f.now + i * SECOND / 10;
        tell(&f, time, HALO_SHAPE_RECT, 10 + i, 4, 12);
        check(&f, time, (struct halo_rect){10 + i, 4, 22 + i, 16}, true);
    }
    tell(&f, f.now + SECOND, HALO_SHAPE_ELLIPSE, 20, 10, 20);
    check(&f, f.now + SECOND, (struct halo_rect){20, 10, 40, 30}, false);
    tell(&f, f.now + 2 * SECOND, HALO_SHAPE_RECT, 0, 0, 0);
    check(&f, f.now + 2 * SECOND, none, true);
    halo_gate_set_feed(f.gate, NULL);
    check(&f, f.now + 2 * SECOND, all, true);
    end(&f);
}

static void several_filters(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=feed,solid=white:region=rect 60 40 10 10");
    halo_gate_set_feed(f.gate, f.feed);
    tell(&f, f.now, HALO_SHAPE_RECT, 50, 30, 12);
    check(&f, f.now, (struct halo_rect){50, 30, 70, 50}, false);
    tell(&f, f.now + SECOND, HALO_SHAPE_RECT, 0, 0, 0);
    check(&f, f.now + SECOND, (struct halo_rect){60, 40, 70, 50}, true);
    end(&f);
    f = (struct fixture){0};
    begin(&f, "solid=white:region=feed,solid=black:region=feed:invert=1");
    halo_gate_set_feed(f.gate, f.feed);
    tell(&f, f.now, HALO_SHAPE_ELLIPSE, 20, 10, 20);
    check(&f, f.now, all, true); /* what one leaves the other hides */
    end(&f);
}

/* A raw picture of twice the size. */
static struct halo_raw_picture enlarge(const struct fixture *f)
{
    struct halo_raw_picture large = f->raw;
    AVFrame *frame = large.frame = av_frame_alloc();
    frame->format = AV_PIX_FMT_YUV420P;
    frame->width = 2 * WIDTH;
    frame->height = 2 * HEIGHT;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int p = 0; p < 3; p++)
        memset(frame->data[p], 100, (size_t)frame->linesize[p] * (size_t)(p ? HEIGHT : 2 * HEIGHT));
    return large;
}

/* How much of luma is white. */
static int count_white(struct fixture *f)
{
    struct halo_output_picture *picture = pass(f, f->now);
    const AVFrame *out = halo_output_picture_frame(picture);
    int count = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        count += out->data[0][i / WIDTH * out->linesize[0] + i % WIDTH] > 200;
    halo_output_picture_destroy(picture);
    return count;
}

/* Pixels of one size say nothing of pictures in another: parts do. */
static void scaled(void **state)
{
    static const struct {
        const char *chain;
        int same, other; /* white, of pictures of the plan's size and of another one */
    } rows[] = {
        {"solid=white:region=rect 10 4 12 10", 120, WIDTH * HEIGHT},
        {"solid=white:region=polygon 0 0 10 0 10 10 0 10", 100, WIDTH * HEIGHT},
        {"solid=white:region=rect 10 4 12 10:invert=1", WIDTH * HEIGHT - 120, WIDTH * HEIGHT},
        {"solid=white:region=rect 0 0 50% 50%", WIDTH * HEIGHT / 4, WIDTH * HEIGHT / 4},
        {"solid=white:region=rect 0 0 50% 50%,solid=white:region=rect 60 40 4 4",
         WIDTH * HEIGHT / 4 + 16, WIDTH * HEIGHT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f = {0};
        begin(&f, rows[i].chain);
        struct halo_raw_picture large = enlarge(&f), small = f.raw;
        for (int p = 0; p < 3; p++)
            memset(small.frame->data[p], 100,
                   (size_t)small.frame->linesize[p] * (size_t)(p ? HEIGHT / 2 : HEIGHT));
        assert_int_equal(count_white(&f), rows[i].same);
        f.raw = large;
        assert_int_equal(count_white(&f), rows[i].other);
        f.raw = small;
        assert_int_equal(count_white(&f), rows[i].same);
        av_frame_free(&large.frame);
        end(&f);
    }
}

static void unsure(void **state)
{
    struct fixture f = {.unsure = true};
    (void)state;
    begin(&f, "solid=white:region=rect 10 4 12 10");
    check(&f, f.now, all, true);
    end(&f);
    f = (struct fixture){.unsure = true}; /* in pictures of the other size it has pixels */
    begin(&f, "solid=white:region=rect 210 104 12 10");
    check(&f, f.now, all, true);
    end(&f);
    f = (struct fixture){.unsure = true};
    begin(&f, "solid=white:region=rect 0 0 50% 50%");
    check(&f, f.now, (struct halo_rect){0, 0, WIDTH / 2, HEIGHT / 2}, true);
    end(&f);
}

static bool is_same(const AVFrame *a, const AVFrame *b, struct halo_rect r)
{
    for (int y = r.y0; y < r.y1; y++)
        if (memcmp(a->data[0] + y * a->linesize[0] + r.x0, b->data[0] + y * b->linesize[0] + r.x0,
                   (size_t)(r.x1 - r.x0)) != 0)
            return false;
    return true;
}

/* Blocks not smaller than half of the region, and not much larger: 35 / 2^(k / 2). */
static void strength(void **state)
{
    static const double sizes[] = {49, 40, 20, 17, 6, 1};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture f = {0}, plain = {.privacy = HALO_PRIVACY_OFF};
        char chain[60];
        begin(&f, "pixelize=w=0.5*w:h=0.5*w:region=feed");
        halo_gate_set_feed(f.gate, f.feed);
        tell(&f, f.now, HALO_SHAPE_RECT, 10, 0, sizes[i]);
        struct halo_output_picture *picture = pass(&f, f.now);
        const struct halo_rect r = {10, 0, 10 + (int)sizes[i], (int)sizes[i]};
        bool found = false;
        for (int block = sizes[i] > 2 ? (int)ceil(sizes[i] / 2) : 2; block < 40 && !found;
             block++) {
            snprintf(chain, sizeof chain, "pixelize=w=%d:h=%d", block, block);
            begin(&plain, chain);
            struct halo_output_picture *other = pass(&plain, 0);
            found =
                is_same(halo_output_picture_frame(picture), halo_output_picture_frame(other), r);
            halo_output_picture_destroy(other);
            end(&plain);
            plain = (struct fixture){.privacy = HALO_PRIVACY_OFF};
            if (found &&
                block > sizes[i] / 2 * 1.5 + 4) /* a level more, that does something to chroma */
                fail_msg("size %g: blocks of %d", sizes[i], block);
        }
        assert_true(found);
        halo_output_picture_destroy(picture);
        end(&f);
    }
}

/* The differences between neighbours of a row of chroma, a chequer, in a small region. */
static int roughness(enum halo_privacy privacy)
{
    struct fixture f = {.privacy = privacy};
    begin(&f, "gblur=sigma=0.08*w:region=feed");
    AVFrame *raw = f.raw.frame;
    for (int i = 0; i < raw->linesize[1] * HEIGHT / 2; i++)
        raw->data[1][i] = (i + i / raw->linesize[1]) % 2 ? 50 : 200;
    halo_gate_set_feed(f.gate, f.feed);
    tell(&f, f.now, HALO_SHAPE_RECT, 8, 8, 8);
    struct halo_output_picture *picture = pass(&f, f.now);
    const AVFrame *frame = halo_output_picture_frame(picture);
    const uint8_t *row = frame->data[1] + (ptrdiff_t)5 * frame->linesize[1];
    int sum = 0;
    for (int x = 4; x < 7; x++)
        sum += abs(row[x] - row[x + 1]);
    halo_output_picture_destroy(picture);
    end(&f);
    return sum;
}

/* However small a region is: strict asks for a sigma of more than 0.64 / 2 on chroma, too. */
static void strict_strength(void **state)
{
    (void)state;
    const int strict = roughness(HALO_PRIVACY_STRICT), changed = roughness(HALO_PRIVACY_CHANGED);
    if (strict * 4 > changed * 3)
        fail_msg("strict leaves %d, and without it %d are left", strict, changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told),     cmocka_unit_test(several_filters),
        cmocka_unit_test(scaled),   cmocka_unit_test(unsure),
        cmocka_unit_test(strength), cmocka_unit_test(strict_strength)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
