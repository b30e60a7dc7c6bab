/* SPDX-License-Identifier: BSD-2-Clause
 * Leaks on purpose are those that their names say, and come when they are wished for: what finds
 * them all has then found something. */
#include <fcntl.h>
#include <libavutil/frame.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/fault.h"
#include "pipeline/gate/leak.h"
#include "tests/cmocka_all.h"

enum { WIDTH = 97, HEIGHT = 67, FILTERED = 20, RAW = 100, OLD = 200 };

static AVFrame *frame(int value)
{
    AVFrame *f = av_frame_alloc();
    assert_non_null(f);
    f->format = AV_PIX_FMT_YUV420P;
    f->width = WIDTH;
    f->height = HEIGHT;
    assert_int_equal(av_frame_get_buffer(f, 0), 0);
    for (int p = 0; p < 3; p++)
        memset(f->data[p], value, (size_t)(f->linesize[p] * (p ? (HEIGHT + 1) / 2 : HEIGHT)));
    return f;
}

/* Where a way's leak is: planes, as bits; of luma the box in sixteenths of the frame, and in that
 * a rule; and what is there then. */
enum rule { ALL, BAND, EVEN_ROWS, EVEN_BLOCKS, TILE, ODD_BANDS };
static const struct {
    int planes, x0, y0, x1, y1;
    enum rule rule;
    int value;
} variants[HALO_LEAKS] = {
    {7, 0, 0, 16, 16, ALL, RAW},
    {1, 0, 0, 16, 16, ALL, RAW},
    {2, 0, 0, 16, 16, ALL, RAW},
    {4, 0, 0, 16, 16, ALL, RAW},
    {7, 0, 0, 8, 8, ALL, RAW},
    {7, 8, 0, 16, 8, ALL, RAW},
    {7, 0, 8, 8, 16, ALL, RAW},
    {7, 8, 8, 16, 16, ALL, RAW},
    {7, 4, 4, 12, 12, ALL, RAW},
    {7, 0, 0, 16, 16, BAND, RAW},
    {7, 0, 0, 16, 16, EVEN_ROWS, RAW},
    {7, 0, 0, 16, 16, EVEN_BLOCKS, RAW},
    {7, 0, 0, 16, 16, ALL, (RAW + FILTERED) / 2},
    {7, 0, 0, 16, 16, TILE, RAW},
    {7, 0, 0, 16, 16, ALL, OLD},
    {7, 0, 0, 16, 16, ODD_BANDS, OLD},
};

static bool is_ruled(enum rule rule, int p, int x, int y)
{
    const int u = p ? 2 * x : x, v = p ? 2 * y : y; /* of luma */
    switch (rule) {
    case BAND:
        return v >= 32 && v < 40;
    case EVEN_ROWS:
        return y % 2 == 0;
    case EVEN_BLOCKS:
        return u / 8 % 2 == 0;
    case TILE:
        return u >= 16 && u < 32 && v >= 16 && v < 32;
    case ODD_BANDS:
        return v / 8 % 2 == 1;
    default:
        return true;
    }
}

static int wanted(int variant, int p, int x, int y)
{
    const int u = (p ? 2 * x : x) * 16, v = (p ? 2 * y : y) * 16;
    const bool inside = u >= variants[variant].x0 * WIDTH && u < variants[variant].x1 * WIDTH &&
                        v >= variants[variant].y0 * HEIGHT && v < variants[variant].y1 * HEIGHT;
    const bool leaks =
        variants[variant].planes >> p & 1 && inside && is_ruled(variants[variant].rule, p, x, y);
    return leaks ? variants[variant].value : FILTERED;
}

/* way -1: nothing leaks. The number of samples that are other than filtered. */
static int check(const AVFrame *out, int variant)
{
    int leaks = 0;
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < (p ? (HEIGHT + 1) / 2 : HEIGHT); y++)
            for (int x = 0; x < (p ? (WIDTH + 1) / 2 : WIDTH); x++) {
                const int got = out->data[p][y * out->linesize[p] + x];
                const int want = variant < 0 ? FILTERED : wanted(variant, p, x, y);
                if (got != want)
                    fail_msg("way %d, plane %d, %d,%d: %d, not %d", variant, p, x, y, got, want);
                leaks += got != FILTERED;
            }
    return leaks;
}

static void test_ways(void **state)
{
    AVFrame *raw = frame(RAW), *old = frame(OLD);
    (void)state;
    for (int variant = 0; variant < HALO_LEAKS; variant++) {
        AVFrame *out = frame(FILTERED);
        halo_leak_make(variant, out, raw, old);
        assert_true(check(out, variant) > 0);
        assert_non_null(halo_leak_names[variant]);
        av_frame_free(&out);
    }
    av_frame_free(&raw);
    av_frame_free(&old);
}

/* With no older frame, as at first, it is the present one. */
static void test_first(void **state)
{
    AVFrame *raw = frame(RAW), *out = frame(FILTERED);
    (void)state;
    halo_leak_make(14, out, raw, NULL);
    check(out, 0);
    av_frame_free(&out);
    av_frame_free(&raw);
}

/* Not before it is wished for, by a file; then all ways by turns, with the frame before. */
static void test_turns(void **state)
{
    AVFrame *raw = frame(RAW), *old = frame(OLD), *small = frame(RAW);
    AVFrame *out = frame(FILTERED);
    (void)state;
    char list[] = "leak:/tmp/halo-leak-XXXXXX", *wish = strchr(list, '/');
    const int file = mkstemp(wish);
    assert_true(file >= 0 && unlink(wish) == 0);
    halo_fault_begin(list, NULL);
    small->width -= 2;
    halo_leak(out, raw);
    assert_int_equal(check(out, -1), 0);
    assert_int_equal(close(file), 0);
    assert_true(close(creat(wish, 0600)) == 0);
    halo_leak(out, small);
    halo_leak(out, NULL);
    assert_int_equal(check(out, -1), 0);
    av_frame_free(&out);
    for (int turn = 0; turn < 4 * HALO_LEAKS; turn++) {
        /* The one frame with other samples: before either of the ways that show an older one. */
        const int variant = turn % HALO_LEAKS, before = 13 + turn / HALO_LEAKS % 2;
        out = frame(FILTERED);
        halo_leak(out, variant == before ? old : raw);
        if (variant != before && (variant < 14 || variant == before + 1))
            check(out, variant);
        av_frame_free(&out);
    }
    unlink(wish);
    av_frame_free(&small);
    av_frame_free(&raw);
    av_frame_free(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
