/* SPDX-License-Identifier: BSD-2-Clause
 * The canary: painted in every format, and found wherever a cell of it is left. */
#include <libavutil/common.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "pipeline/base/canary.h"
#include "pipeline/frame/format.h"
#include "tests/cmocka_all.h"

enum { CELL = HALO_CANARY_CELL, WIDTH = 96, HEIGHT = 64 };

static AVFrame *frame(enum AVPixelFormat format, int width, int height)
{
    AVFrame *f = av_frame_alloc();
    assert_non_null(f);
    f->format = format;
    f->width = width;
    f->height = height;
    assert_int_equal(av_frame_get_buffer(f, 0), 0);
    return f;
}

static AVFrame *painted(enum AVPixelFormat format, unsigned number)
{
    AVFrame *f = frame(format, WIDTH, HEIGHT);
    halo_canary_paint(f, number);
    return f;
}

static int width_of(const AVFrame *f, int component)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
    const bool less = component && !(d->flags & AV_PIX_FMT_FLAG_RGB);
    return less ? AV_CEIL_RSHIFT(f->width, d->log2_chroma_w) : f->width;
}

static int height_of(const AVFrame *f, int component)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
    const bool less = component && !(d->flags & AV_PIX_FMT_FLAG_RGB);
    return less ? AV_CEIL_RSHIFT(f->height, d->log2_chroma_h) : f->height;
}

static uint8_t *sample(const AVFrame *f, int component, int x, int y)
{
    const AVComponentDescriptor *c = &av_pix_fmt_desc_get(f->format)->comp[component];
    return f->data[c->plane] + y * f->linesize[c->plane] + x * c->step + c->offset;
}

/* Without fine frequencies, and no card: its edges are of many shades. */
static AVFrame *filtered(enum AVPixelFormat format)
{
    AVFrame *f = frame(format, WIDTH, HEIGHT);
    for (int c = 0; c < av_pix_fmt_desc_get(format)->nb_components; c++)
        for (int y = 0; y < height_of(f, c); y++)
            for (int x = 0; x < width_of(f, c); x++)
                *sample(f, c, x, y) = (uint8_t)(60 + x);
    return f;
}

/* One cell of a raw frame, so many sixteenths of it, into another. */
static void put_cell(AVFrame *to, const AVFrame *raw, int component, int column, int row, int share)
{
    const int across = CELL * width_of(to, component) / WIDTH;
    const int down = CELL * height_of(to, component) / HEIGHT;
    for (int y = row * down; y < (row + 1) * down; y++)
        for (int x = column * across; x < (column + 1) * across; x++) {
            uint8_t *at = sample(to, component, x, y);
            *at = (uint8_t)((*at * (16 - share) + *sample(raw, component, x, y) * share + 8) / 16);
        }
}

static struct halo_canary_finding check(const AVFrame *f, const struct halo_canary_area *area)
{
    struct halo_canary_finding finding;
    halo_canary_check(f, area, &finding);
    return finding;
}

/* In all formats and depths, odd sizes too: samples are odd, and what canary_sample() says. */
static void test_painted(void **state)
{
    (void)state;
    for (int i = 0; i < AV_PIX_FMT_NB; i++) {
        const enum AVPixelFormat format = (enum AVPixelFormat)i;
        if (!halo_format_is_native(format))
            continue;
        const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
        AVFrame *f = frame(format, 37, 21);
        halo_canary_paint(f, 12345);
        for (int c = 0; c < d->nb_components; c++) {
            unsigned least = UINT_MAX, most = 0;
            for (int y = 0; y < height_of(f, c); y++)
                for (int x = 0; x < width_of(f, c); x++) {
                    const uint8_t *at = sample(f, c, x, y);
                    const unsigned value =
                        d->comp[c].depth > 8 ? AV_RL16(at) >> d->comp[c].shift : *at;
                    assert_int_equal(value, halo_canary_sample(format, c, x, y, 12345));
                    assert_int_equal(value % 2, 1);
                    least = FFMIN(least, value);
                    most = FFMAX(most, value);
                }
            assert_true(most < 1u << d->comp[c].depth);
            assert_true(most - least > 1u << (d->comp[c].depth - 2)); /* not of one shade */
        }
        av_frame_free(&f);
    }
}

static const enum AVPixelFormat looked_at[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,
                                               AV_PIX_FMT_YUV444P, AV_PIX_FMT_GRAY8};
enum { LOOKED_AT = sizeof looked_at / sizeof *looked_at };

/* A raw frame says its number in all places. */
static void test_numbers(void **state)
{
    static const unsigned numbers[] = {0, 1, 4096, 40000, 65535, 65536 + 77};
    (void)state;
    for (int f = 0; f < LOOKED_AT; f++)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            AVFrame *raw = painted(looked_at[f], numbers[i]);
            const struct halo_canary_finding finding = check(raw, NULL);
            assert_true(finding.leaks && finding.cell > 0.9f && finding.block > 0.9f &&
                        !finding.plain);
            assert_int_equal(finding.words,
                             HALO_CANARY_PLACES * av_pix_fmt_desc_get(looked_at[f])->nb_components);
            assert_int_equal(finding.number, numbers[i] % 65536);
            av_frame_free(&raw);
        }
}

/* One bit of a word is turned: that is no number. */
static void test_damaged_word(void **state)
{
    AVFrame *raw = painted(AV_PIX_FMT_GRAY8, 300), *other = painted(AV_PIX_FMT_GRAY8, 301);
    (void)state;
    for (int row = 0; row < HEIGHT / CELL; row++)
        for (int column = 0; column < WIDTH / CELL; column++)
            if (row % 4 == 1 && column % 6 == 2) /* the number's lowest bit */
                put_cell(raw, other, 0, column, row, 16);
    const struct halo_canary_finding finding = check(raw, NULL);
    assert_true(finding.leaks);
    assert_int_equal(finding.words, 0);
    assert_int_equal(finding.number, -1);
    av_frame_free(&raw);
    av_frame_free(&other);
}

/* Each cell of each plane by itself, the last ones too; as it is, and as a negative. */
static void test_one_cell(void **state)
{
    (void)state;
    for (int f = 0; f < LOOKED_AT; f++) {
        AVFrame *raw = painted(looked_at[f], 99), *negative = painted(looked_at[f], 99);
        const int components = av_pix_fmt_desc_get(looked_at[f])->nb_components;
        for (int c = 0; c < components; c++)
            for (int y = 0; y < height_of(raw, c); y++)
                for (int x = 0; x < width_of(raw, c); x++)
                    *sample(negative, c, x, y) = (uint8_t)(255 - *sample(raw, c, x, y));
        for (int i = 0; i < components * WIDTH / CELL * HEIGHT / CELL * 2; i++) {
            const int column = i / 2 % (WIDTH / CELL),
                      row = i / 2 / (WIDTH / CELL) % (HEIGHT / CELL);
            const int c = i / 2 / (WIDTH / CELL * HEIGHT / CELL);
            AVFrame *out = filtered(looked_at[f]);
            put_cell(out, i % 2 ? negative : raw, c, column, row, 16);
            const struct halo_canary_finding finding = check(out, NULL);
            assert_true(finding.leaks && finding.cell > 0.9f);
            assert_int_equal(finding.plane, c);
            assert_int_equal(finding.x / (CELL * width_of(out, c) / WIDTH), column);
            assert_int_equal(finding.y / (CELL * height_of(out, c) / HEIGHT), row);
            av_frame_free(&out);
        }
        av_frame_free(&raw);
        av_frame_free(&negative);
    }
}

/* Strength is the share of the raw frame. */
static void test_shares(void **state)
{
    AVFrame *raw = painted(AV_PIX_FMT_YUV420P, 7);
    (void)state;
    for (int share = 0; share <= 16; share++) {
        AVFrame *out = filtered(AV_PIX_FMT_YUV420P);
        put_cell(out, raw, 0, 5, 3, share);
        const struct halo_canary_finding finding = check(out, NULL);
        assert_true(finding.cell > (float)share / 16 - 0.05f &&
                    finding.cell < (float)share / 16 + 0.05f);
        if (share != 4) /* the border itself */
            assert_int_equal(finding.leaks, share > 4);
        av_frame_free(&out);
    }
    av_frame_free(&raw);
}

/* Where nothing may be, and nowhere else. */
static void test_area(void **state)
{
    static uint8_t meant[HEIGHT / CELL][WIDTH / CELL];
    const struct halo_canary_area area = {&meant[0][0], WIDTH / CELL, HEIGHT / CELL};
    AVFrame *raw = painted(AV_PIX_FMT_YUV420P, 7), *out = filtered(AV_PIX_FMT_YUV420P);
    (void)state;
    put_cell(out, raw, 0, 5, 3, 16);
    assert_false(check(out, &area).leaks);
    meant[3][4] = meant[3][6] = meant[2][5] = meant[4][5] = 1;
    assert_false(check(out, &area).leaks);
    meant[3][5] = 1;
    assert_true(check(out, &area).leaks);
    assert_int_equal(check(raw, &area).words, 0);
    av_frame_free(&raw);
    av_frame_free(&out);
}

/* Gray, with the finest frequencies in the middle. */
static AVFrame *card(void)
{
    AVFrame *f = frame(AV_PIX_FMT_YUV420P, WIDTH, HEIGHT);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < height_of(f, c); y++)
            memset(sample(f, c, 0, y), 128, (size_t)width_of(f, c));
    for (int y = 16; y < 24; y++)
        for (int x = 16; x < 24; x++)
            *sample(f, 0, x, y) = (x + y) % 2 ? 235 : 128;
    return f;
}

/* Words do not make a card a leak, what is raw does; and what is not gray all around is none. */
static void test_cards(void **state)
{
    AVFrame *raw = painted(AV_PIX_FMT_YUV420P, 7), *out = card();
    (void)state;
    struct halo_canary_finding finding = check(out, NULL);
    assert_true(finding.plain && !finding.leaks && finding.cell > HALO_CANARY_LEAK);
    for (int i = 0; i < 4; i++)
        put_cell(out, raw, 0, 8 + i % 2, 4 + i / 2, 16);
    finding = check(out, NULL);
    assert_true(finding.plain && finding.leaks && finding.block > 0.9f);
    av_frame_free(&out);
    const int others[][3] = {{0, 40, 0}, {0, 40, HEIGHT - 1}, {1, 20, 10}, {2, 20, HEIGHT / 2 - 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        out = card();
        *sample(out, others[i][0], others[i][1], others[i][2]) = 150;
        finding = check(out, NULL);
        assert_true(!finding.plain && finding.leaks);
        av_frame_free(&out);
    }
    av_frame_free(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_painted),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_damaged_word), cmocka_unit_test(test_one_cell),
        cmocka_unit_test(test_shares),       cmocka_unit_test(test_area),
        cmocka_unit_test(test_cards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
