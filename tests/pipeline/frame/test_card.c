/* SPDX-License-Identifier: BSD-2-Clause
 * Cards: what is drawn in every native format and many sizes, by what has to be true of it. */
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/frame/card.h"
#include "pipeline/frame/format.h"
#include "tests/cmocka_all.h"

enum { GUARD = 0x5a };

static const struct halo_card words = {.line = {"front-door", "no signal"}};

/* Rows are wider than the frame, and what is beside it is marked. */
static AVFrame *make(enum AVPixelFormat format, int width, int height)
{
    AVFrame *frame = av_frame_alloc();
    frame->format = format;
    frame->width = width;
    frame->height = height;
    frame->color_range = AVCOL_RANGE_MPEG;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        memset(frame->buf[i]->data, GUARD, frame->buf[i]->size);
    return frame;
}

static int sample(const struct halo_plane *plane, int x, int y)
{
    const uint8_t *row = plane->data + y * plane->stride;
    return plane->depth <= 8 ? row[x] : ((const uint16_t *)(const void *)row)[x] >> plane->shift;
}

struct seen {
    int ground, most, ink;        /* of the frame's corner; the brightest; samples that are so */
    int left, right, top, bottom; /* of all but the ground */
    bool two;                     /* there is nothing else */
};

static struct seen measure(const struct halo_plane *plane)
{
    const int width = plane->width * plane->channels;
    struct seen s = {.ground = sample(plane, 0, 0), .left = width, .top = plane->height};
    s.two = true;
    s.right = s.bottom = -1;
    for (int y = 0; y < plane->height; y++)
        for (int x = 0; x < width; x++) {
            const int v = sample(plane, x, y);
            if (v == s.ground)
                continue;
            s.two &= s.ink == 0 || v == s.most;
            s.most = v;
            s.ink++;
            s.left = x < s.left ? x : s.left;
            s.right = x > s.right ? x : s.right;
            s.top = y < s.top ? y : s.top;
            s.bottom = y > s.bottom ? y : s.bottom;
        }
    return s;
}

/* Beside and below the frame nothing was written. */
static void check_guards(const AVFrame *frame)
{
    for (int p = 0; p < halo_format_planes(frame->format); p++) {
        const struct halo_plane plane = halo_format_plane(frame, p);
        const uint8_t *data = plane.data;
        const int bytes = plane.width * plane.channels * (plane.depth > 8 ? 2 : 1);
        for (int y = 0; y < plane.height; y++)
            for (int x = bytes; x < plane.stride; x++)
                assert_int_equal(data[y * plane.stride + x], GUARD);
        for (int x = 0; x < plane.stride && frame->height % 32; x++) /* else the next plane's */
            assert_int_equal(data[plane.height * plane.stride + x], GUARD);
    }
}

static void check_words(const AVFrame *frame, bool black)
{
    const bool rgb = halo_format_is_rgb(frame->format);
    for (int p = 0; p < halo_format_planes(frame->format); p++) {
        const struct halo_plane plane = halo_format_plane(frame, p);
        const struct seen s = measure(&plane);
        const int unit = 1 << (plane.depth - 8);
        if (p > 0 && !rgb) {
            assert_int_equal(s.ground, 128 * unit);
            assert_int_equal(s.ink, 0);
            continue;
        }
        assert_true(black ? s.ground <= 16 * unit : s.ground == 128 * unit);
        assert_true(s.two);
        assert_true(s.most >= 235 * unit && s.most < 256 * unit);
        assert_true(s.ink > 60);
        assert_true(abs(s.left - (plane.width - 1 - s.right)) <= plane.width / 20 + 2);
        assert_true(abs(s.top - (plane.height - 1 - s.bottom)) <= plane.height / 10 + 4);
    }
}

static void test_formats(void **state)
{
    (void)state;
    int count = 0;
    for (int f = 0; f < AV_PIX_FMT_NB; f++) {
        if (!av_pix_fmt_desc_get(f) || !halo_format_is_native(f))
            continue;
        for (int black = 0; black < 2; black++) {
            AVFrame *frame = make(f, 161, 121);
            struct halo_card card = words;
            card.black = black;
            halo_card_draw(frame, &card);
            check_guards(frame);
            check_words(frame, black);
            av_frame_free(&frame);
        }
        count++;
    }
    assert_true(count >= 20);
}

/* The letters are as large as the frame asks for. */
static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        int width, height, least;
    } sizes[] = {{160, 120, 14}, {176, 144, 14},    {320, 240, 28},
                 {640, 480, 56}, {1920, 1080, 160}, {3840, 2160, 320}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        AVFrame *frame = make(AV_PIX_FMT_YUV420P, sizes[i].width, sizes[i].height);
        halo_card_draw(frame, &words);
        check_guards(frame);
        check_words(frame, false);
        const struct halo_plane plane = halo_format_plane(frame, 0);
        const struct seen s = measure(&plane);
        assert_true(s.bottom - s.top >= sizes[i].least);
        assert_true(s.right - s.left < sizes[i].width * 95 / 100);
        av_frame_free(&frame);
    }
}

/* Any size at all, with more words than it has room for: every sample is written, and none beside
 * the frame. */
static void test_small(void **state)
{
    (void)state;
    static const int sides[] = {1, 2, 3, 5, 7, 8, 16, 17, 33, 65};
    const struct halo_card card = {
        .line = {"a-very-long-name-of-a-stream-that-has-64-letters-in-all",
                 "the words are many and they are long", "and more",
                 "and still more of them, up to the end"}};
    for (size_t w = 0; w < sizeof sides / sizeof *sides; w++)
        for (size_t h = 0; h < sizeof sides / sizeof *sides; h++) {
            AVFrame *frame = make(AV_PIX_FMT_YUV422P10, sides[w], sides[h]);
            halo_card_draw(frame, &card);
            check_guards(frame);
            for (int p = 0; p < 3; p++) {
                const struct halo_plane plane = halo_format_plane(frame, p);
                for (int y = 0; y < plane.height; y++)
                    for (int x = 0; x < plane.width; x++)
                        assert_true(sample(&plane, x, y) == 512 || sample(&plane, x, y) == 940);
            }
            av_frame_free(&frame);
        }
}

static bool is_same(const char *a, const char *b)
{
    AVFrame *x = make(AV_PIX_FMT_GRAY8, 320, 240), *y = make(AV_PIX_FMT_GRAY8, 320, 240);
    halo_card_draw(x, &(struct halo_card){.line = {a}});
    halo_card_draw(y, &(struct halo_card){.line = {NULL, "", b}});
    bool same = true;
    for (int row = 0; row < 240 && same; row++)
        same = !memcmp(x->data[0] + row * x->linesize[0], y->data[0] + row * y->linesize[0], 320);
    av_frame_free(&x);
    av_frame_free(&y);
    return same;
}

static void test_letters(void **state)
{
    (void)state;
    assert_true(is_same("T\xc3\xbcr", "T?r"));
    assert_true(is_same("a\tb\nc", "a?b?c"));
    assert_true(is_same("\xff\x80\x80\x01", "??"));
    assert_false(is_same("camera in use", "camera in usa"));
    for (char c = '!'; c <= '~'; c++)
        for (char d = (char)(c + 1); d <= '~'; d++) {
            const char one[] = {c, 0}, other[] = {d, 0};
            if (is_same(one, other))
                fail_msg("%c and %c look the same", c, d);
        }
}

/* A long name does not make all letters tiny. */
static void test_long(void **state)
{
    (void)state;
    AVFrame *frame = make(AV_PIX_FMT_GRAY8, 1280, 720);
    halo_card_draw(frame,
                   &(struct halo_card){
                       .line = {"0123456789012345678901234567890123456789012345678901234567890123",
                                "no signal"}});
    const struct halo_plane plane = halo_format_plane(frame, 0);
    const struct seen s = measure(&plane);
    assert_true(s.bottom - s.top > 250);
    assert_true(s.right - s.left > 800);
    av_frame_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats), cmocka_unit_test(test_sizes), cmocka_unit_test(test_small),
        cmocka_unit_test(test_letters), cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
