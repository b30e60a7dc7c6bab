/* SPDX-License-Identifier: BSD-2-Clause
 * Regions that are told for each frame, through the gate: hidden where they are, everything where
 * nobody knows. */
#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/frame.h"
#include "pipeline/base/av_version.h"
#include "pipeline/base/display.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/gate_plan.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/memory.h"
#include "pipeline/frame/orient.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/frame/raw_frame_private.h"
#include "pipeline/region/mask_image.h"
#include "pipeline/region/region_feed.h"
#include "pipeline/region/verdict.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/filter/judge.h"

enum { WIDTH = 70, HEIGHT = 50, SMALL = 48, SECOND = 1000000, MAX_MASKS = 500 };

/* ---- what goes to the lanes ---- */

/* Every mask that was sent with a number, which means these samples and no others. */
static struct {
    uint64_t number;
    int width, height;
    uint8_t sample[6 * SMALL * SMALL];
} masks[MAX_MASKS];
static int mask_count;

int __real_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);
int __wrap_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);

static void check_mask(const struct halo_region *region)
{
    const struct halo_plane *mask = &region->mask;
    int i = 0;
    while (i < mask_count && masks[i].number != region->number)
        i++;
    assert_true(i < MAX_MASKS);
    assert_int_equal(mask->stride, mask->width);
    const size_t size = (size_t)mask->width * (size_t)mask->height;
    if (i < mask_count) {
        assert_int_equal(masks[i].width, mask->width);
        assert_int_equal(masks[i].height, mask->height);
        assert_memory_equal(masks[i].sample, mask->data, size);
        return;
    }
    masks[mask_count].number = region->number;
    masks[mask_count].width = mask->width;
    masks[mask_count].height = mask->height;
    memcpy(masks[mask_count++].sample, mask->data, size);
}

int __wrap_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame)
{
    for (int p = 0; p < frame->planes; p++)
        for (int s = 0; s < frame->plane[p].count; s++) {
            const struct halo_region *region = frame->plane[p].steps[s].region;
            if (region && region->mask.data && region->number)
                check_mask(region);
        }
    return __real_halo_frame_submit(b, frame);
}

/* ---- frames ---- */

struct fixture {
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate;
    struct halo_region_feed *feed;
    struct halo_raw_frame raw;
    int64_t now; /* us */
    double margin;
    bool unsure;
    int spill;
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
                                          .unsure = f->unsure,
                                          .spill = f->spill};
    const struct halo_region_feed_settings feed = {
        .on = true, .margin = f->margin, .hold = 0, .limit = 50};
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
    halo_raw_frame_judge(&f->raw, NULL);
    halo_gate_destroy(f->gate);
    halo_region_feed_destroy(f->feed);
    halo_chain_destroy(f->chain);
    halo_ring_destroy(f->ring);
}

static struct halo_output_frame *pass(struct fixture *f, int64_t time)
{
    struct halo_pending *pending;
    struct halo_output_frame *frame = NULL;
    struct halo_error err = {0};
    f->raw.frame->pts = time + 1000; /* what went has gone */
    if (halo_gate_enter(f->gate, &f->raw, &pending, &err) < 0 ||
        halo_gate_leave(pending, 0, &frame, &err) < 0)
        fail_msg("%s", err.text);
    return frame;
}

/* Of no width: nothing is there. */
static void update_box(struct fixture *f, int64_t time, enum halo_shape_kind kind,
                       struct halo_rect box)
{
    const struct halo_region_update updates = {.id = "",
                                               .shape = {.kind = kind,
                                                         .x = {box.x0, 0},
                                                         .y = {box.y0, 0},
                                                         .width = {box.x1 - box.x0, 0},
                                                         .height = {box.y1 - box.y0, 0}}};
    struct halo_error err = {0};
    halo_region_feed_pass(f->feed, time);
    if (halo_region_feed_update(f->feed, time, &updates, box.x1 > box.x0, halo_now_ns(), &err) < 0)
        fail_msg("%s", err.text);
}

static void update_square(struct fixture *f, int64_t time, enum halo_shape_kind kind, int x, int y,
                          int size)
{
    update_box(f, time, kind, (struct halo_rect){x, y, x + size, y + size});
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
    struct halo_output_frame *frame = pass(f, time);
    const AVFrame *out = halo_output_frame_frame(frame);
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
    halo_output_frame_destroy(frame);
}

static const struct halo_rect all = {0, 0, WIDTH, HEIGHT}, none = {0};

static void updates(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=feed");
    check(&f, f.now, all, true); /* no feed */
    halo_gate_set_feed(f.gate, f.feed);
    check(&f, f.now, all, true); /* none yet */
    for (int i = 0; i < 5; i++) {
        const int64_t time = f.now + i * SECOND / 10;
        update_square(&f, time, HALO_SHAPE_RECT, 10 + i, 4, 12);
        check(&f, time, (struct halo_rect){10 + i, 4, 22 + i, 16}, true);
    }
    update_square(&f, f.now + SECOND, HALO_SHAPE_ELLIPSE, 20, 10, 20);
    check(&f, f.now + SECOND, (struct halo_rect){20, 10, 40, 30}, false);
    update_square(&f, f.now + 2 * SECOND, HALO_SHAPE_RECT, 0, 0, 0);
    check(&f, f.now + 2 * SECOND, none, true);
    halo_gate_set_feed(f.gate, NULL);
    check(&f, f.now + 2 * SECOND, all, true);
    end(&f);
}

/* How much of luma is white. */
static int count_white(struct fixture *f)
{
    struct halo_output_frame *frame = pass(f, f->now);
    const AVFrame *out = halo_output_frame_frame(frame);
    int count = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        count += out->data[0][i / WIDTH * out->linesize[0] + i % WIDTH] > 220;
    halo_output_frame_destroy(frame);
    return count;
}

static void several_filters(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=feed,solid=white:region=rect 60 40 10 10");
    halo_gate_set_feed(f.gate, f.feed);
    update_square(&f, f.now, HALO_SHAPE_RECT, 50, 30, 12);
    check(&f, f.now, (struct halo_rect){50, 30, 70, 50}, false);
    update_square(&f, f.now + SECOND, HALO_SHAPE_RECT, 0, 0, 0);
    check(&f, f.now + SECOND, (struct halo_rect){60, 40, 70, 50}, true);
    end(&f);
    f = (struct fixture){0};
    begin(&f, "solid=white:region=feed,solid=black:region=feed:invert=1");
    halo_gate_set_feed(f.gate, f.feed);
    update_square(&f, f.now, HALO_SHAPE_ELLIPSE, 20, 10, 20);
    check(&f, f.now, all, true); /* what one leaves the other hides */
    end(&f);
    f = (struct fixture){.margin = 0.25}; /* and of what is doubtful, both */
    begin(&f, "solid=white:region=feed,solid=black:region=feed:invert=1");
    halo_gate_set_feed(f.gate, f.feed);
    update_square(&f, f.now, HALO_SHAPE_RECT, 20, 10, 20);
    assert_int_equal(count_white(&f), 10 * 10);
    end(&f);
}

/* A raw frame of twice the size. */
static struct halo_raw_frame enlarge(const struct fixture *f)
{
    struct halo_raw_frame large = f->raw;
    AVFrame *frame = large.frame = av_frame_alloc();
    frame->format = AV_PIX_FMT_YUV420P;
    frame->width = 2 * WIDTH;
    frame->height = 2 * HEIGHT;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int p = 0; p < 3; p++)
        memset(frame->data[p], 100, (size_t)frame->linesize[p] * (size_t)(p ? HEIGHT : 2 * HEIGHT));
    return large;
}

/* Pixels of one size say nothing of frames in another: parts do. */
static void scaled(void **state)
{
    static const struct {
        const char *chain;
        int same, other; /* white, of frames of the plan's size and of another one */
    } rows[] = {
        {"solid=white:region=rect 10 4 12 10", 120, WIDTH * HEIGHT},
        {"solid=white:region=polygon 0 0 10 0 10 10 0 10", 100, WIDTH * HEIGHT},
        {"solid=white:region=polygon 0 0 10 0 10 50% 0 50%", 10 * HEIGHT / 2, WIDTH * HEIGHT},
        {"solid=white:region=polygon 0 0 50% 0 50% 10 0 10", WIDTH / 2 * 10, WIDTH * HEIGHT},
        {"solid=white:region=rect 10 4 12 10:invert=1", WIDTH * HEIGHT - 120, WIDTH * HEIGHT},
        {"solid=white:region=rect 0 0 12 50%", 12 * HEIGHT / 2, WIDTH * HEIGHT},
        {"solid=white:region=rect 0 0 50% 10", WIDTH / 2 * 10, WIDTH * HEIGHT},
        {"solid=white:region=rect 35 0 50% 50%", WIDTH * HEIGHT / 4, WIDTH * HEIGHT},
        {"solid=white:region=rect 0 25 50% 50%", WIDTH * HEIGHT / 4, WIDTH * HEIGHT},
        /* and three more on each side, since a sample is computed from those beside it */
        {"solid=white:region=rect 0 0 50% 50%", WIDTH * HEIGHT / 4,
         (WIDTH / 2 + 3) * (HEIGHT / 2 + 3)},
        {"solid=white:region=rect 0 0 50% 50%,solid=white:region=rect 60 40 4 4",
         WIDTH * HEIGHT / 4 + 16, WIDTH * HEIGHT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f = {0};
        begin(&f, rows[i].chain);
        struct halo_raw_frame large = enlarge(&f), small = f.raw;
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

/* A region lies where the frame as it is shown has it. */
static void turned(void **state)
{
    static const struct halo_rect stored[] = {
        [0] = {10, 4, 22, 14},
        [HALO_DISPLAY_X] = {48, 4, 60, 14},
        [HALO_DISPLAY_Y] = {10, 36, 22, 46},
        [HALO_DISPLAY_X | HALO_DISPLAY_Y] = {48, 36, 60, 46},
        [HALO_DISPLAY_SIDEWAYS] = {4, 10, 14, 22},
        [HALO_DISPLAY_SIDEWAYS | HALO_DISPLAY_X] = {56, 10, 66, 22},
        [HALO_DISPLAY_SIDEWAYS | HALO_DISPLAY_Y] = {4, 28, 14, 40},
        [HALO_DISPLAY_SIDEWAYS | HALO_DISPLAY_X | HALO_DISPLAY_Y] = {56, 28, 66, 40},
        [HALO_DISPLAY_UNKNOWN] = {0, 0, WIDTH, HEIGHT},
    };
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=rect 10 4 12 10");
    for (int round = 0; round < 2; round++)
        for (int turn = 0; turn <= HALO_DISPLAY_UNKNOWN; turn++) {
            f.raw.turn = turn;
            check(&f, f.now, stored[turn], true);
        }
    end(&f);
    f = (struct fixture){0};
    begin(&f, "solid=white:region=rect 54 0 10 10"); /* beyond the right edge of what stands */
    for (int round = 0; round < 2; round++) {
        f.raw.turn = HALO_DISPLAY_SIDEWAYS;
        check(&f, f.now, all, true);
        f.raw.turn = 0;
        check(&f, f.now, (struct halo_rect){54, 0, 64, 10}, true);
    }
    end(&f);
}

/* ---- chroma that shows what lies beside it ---- */

/* The row of chroma that a row of luma takes its colour from: of its own field. */
static int row_of(int y, int spill)
{
    const int row = spill & HALO_SPILL_Y ? y / 4 * 2 + y % 2 : y / 2;
    return row < HEIGHT / 2 ? row : row - 2;
}

/* The column: mirrored, in an odd size, the one before it or its own. */
static int column_of(int x, int spill)
{
    const int column = spill & HALO_SPILL_X ? (x + 1) / 2 : x / 2;
    return column < WIDTH / 2 ? column : column - 1;
}

static bool is_white(const AVFrame *frame, int p, int x, int y)
{
    return frame->data[p][y * frame->linesize[p] + x] == (p ? 128 : 235);
}

/* Whether luma is hidden somewhere in what a chroma sample may show. */
static bool has_need(const AVFrame *frame, int x, int y, int spill)
{
    const int by_x = spill & HALO_SPILL_X ? 2 : 0, by_y = spill & HALO_SPILL_Y ? 2 : 0;
    for (int v = 2 * y - by_y; v < 2 * y + 2 + by_y; v++)
        for (int u = 2 * x - by_x; u < 2 * x + 2 + by_x; u++)
            if (u >= 0 && v >= 0 && u < WIDTH && v < HEIGHT && is_white(frame, 0, u, v))
                return true;
    return false;
}

/* Of white regions: luma, which is hidden to the pixel, tells which chroma must be. */
static void check_spill(struct fixture *f, int64_t time, int said, int spill)
{
    int hidden = 0;
    halo_av_frame_set_fields(f->raw.frame, said & HALO_SPILL_Y ? HALO_AV_INTERLACED : 0);
    f->raw.spill = said & HALO_SPILL_X;
    struct halo_output_frame *frame = pass(f, time);
    const AVFrame *out = halo_output_frame_frame(frame);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            hidden += is_white(out, 0, x, y);
            for (int p = 1; p < 3 && is_white(out, 0, x, y); p++)
                if (!is_white(out, p, column_of(x, spill), row_of(y, spill)))
                    fail_msg("spill %d: plane %d shows the colour of %d, %d", spill, p, x, y);
        }
    for (int y = 0; y < HEIGHT / 2; y++)
        for (int x = 0; x < WIDTH / 2; x++)
            if (is_white(out, 1, x, y) && !has_need(out, x, y, spill))
                fail_msg("spill %d: %d, %d of chroma is hidden without need", spill, x, y);
    assert_true(hidden > 0 && hidden < WIDTH * HEIGHT);
    halo_output_frame_destroy(frame);
}

static const int spills[] = {
    0, HALO_SPILL_Y, 0, HALO_SPILL_X, HALO_SPILL_X | HALO_SPILL_Y, HALO_SPILL_Y};
enum { SPILLS = sizeof spills / sizeof *spills };

static void spilt(void **state)
{
    static const char *const regions[] = {
        "rect 10 5 12 9",   "rect 11 6 1 1+rect 31 7 1 1+rect 51 8 1 1+rect 20 17 3 3",
        "rect 0 0 70 49",   "ellipse 10 4 21 17",
        "rect 69 49 50 50", "polygon 5 5 60 12 40 48",
    };
    (void)state;
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        for (int k = 0; k < 4; k++) {
            struct fixture f = {.spill = k & 2 ? HALO_SPILL_Y : 0};
            char chain[120];
            snprintf(chain, sizeof chain, "solid=white:region=%s:invert=%d", regions[i], k & 1);
            begin(&f, chain);
            for (int s = 0; s < SPILLS; s++)
                check_spill(&f, f.now, spills[s], spills[s] | f.spill);
            end(&f);
        }
    struct fixture f = {0};
    begin(&f, "solid=white:region=rect 10 5 12 9");
    for (int turn = 0; turn < HALO_DISPLAYS; turn++)
        for (int s = 0; s < SPILLS; s++) {
            f.raw.turn = turn;
            check_spill(&f, f.now, spills[s], spills[s]);
        }
    end(&f);
}

static void spilt_feeds(void **state)
{
    static const char *const chains[] = {
        "solid=white:region=feed", "solid=white:region=feed:invert=1",
        "solid=white:region=feed,solid=white:region=rect 40 30 11 9"};
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct fixture f = {0};
        begin(&f, chains[i]);
        halo_gate_set_feed(f.gate, f.feed);
        for (int s = 0; s < 2 * SPILLS; s++) {
            const int64_t time = f.now + s * SECOND / 10;
            f.raw.turn = s < SPILLS ? 0 : HALO_DISPLAY_X;
            update_box(&f, time, s & 1 ? HALO_SHAPE_ELLIPSE : HALO_SHAPE_RECT,
                       (struct halo_rect){9 + s, 5 + s, 22 + s, 16 + s});
            check_spill(&f, time, spills[s % SPILLS], spills[s % SPILLS]);
        }
        end(&f);
    }
}

/* What a feed tells holds for frames of which it is not known how they are shown; not for those
 * for which there is no plan. */
static void unplanned_feeds(void **state)
{
    static const struct {
        int turn;
        struct halo_rect chroma;
    } rows[] = {{0, {5, 1, 11, 9}},
                {HALO_DISPLAY_UNKNOWN, {5, 1, 11, 9}},
                {HALO_DISPLAY_SIDEWAYS, {0, 0, WIDTH / 2, HEIGHT / 2}}};
    struct fixture f = {.privacy = HALO_PRIVACY_OFF};
    int count;
    (void)state;
    begin(&f, "solid=white:region=feed,gblur=sigma=3:planes=1:region=rect 54 0 10 10");
    halo_gate_set_feed(f.gate, f.feed);
    halo_av_frame_set_fields(f.raw.frame, HALO_AV_INTERLACED);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t time = f.now + (int64_t)i * SECOND;
        f.raw.turn = rows[i].turn;
        update_box(&f, time, HALO_SHAPE_RECT, (struct halo_rect){10, 5, 22, 15});
        struct halo_output_frame *frame = pass(&f, time);
        const struct halo_rect got = changed(&f, halo_output_frame_frame(frame), 1, &count);
        assert_memory_equal(&got, &rows[i].chroma, sizeof got);
        halo_output_frame_destroy(frame);
    }
    end(&f);
}

/* ---- what is converted before it is filtered ---- */

/* Noise, which is another one (inside) in all samples that have a part of the middle: it begins a
 * quarter from each side. */
static AVFrame *noise(enum AVPixelFormat format, int width, int height, unsigned outside,
                      unsigned inside)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const bool bayer = d->flags & AV_PIX_FMT_FLAG_BAYER, real = d->flags & AV_PIX_FMT_FLAG_FLOAT;
    const bool uyyvyy = format == AV_PIX_FMT_UYYVYY411; /* no step describes where its luma is */
    AVFrame *frame = av_frame_alloc();
    frame->format = format;
    frame->width = width;
    frame->height = height;
    frame->color_range = AVCOL_RANGE_JPEG;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        memset(frame->buf[i]->data, 0, frame->buf[i]->size);
    for (int i = 0; i < 256 && d->flags & AV_PIX_FMT_FLAG_PAL; i++)
        ((uint32_t *)frame->data[1])[i] = 0xff000000 | (unsigned)i * 0x030507;
    for (int c = 0; c < (bayer ? 1 : d->nb_components); c++) {
        const bool chroma = (c == 1 || c == 2) && !(d->flags & AV_PIX_FMT_FLAG_RGB);
        const int by_x = chroma ? 1 << d->log2_chroma_w : 1;
        const int by_y = chroma ? 1 << d->log2_chroma_h : 1;
        const int depth = bayer ? (d->comp[0].step > 1 ? 16 : 8) : d->comp[c].depth;
        for (int y = 0; y * by_y < height; y++) {
            uint32_t row[2 * SMALL * 5];
            const int count = (width + by_x - 1) / by_x;
            for (int x = 0; x < count; x++) {
                const bool in = 4 * (x + 1) * by_x > width && 4 * x * by_x < 3 * width &&
                                4 * (y + 1) * by_y > height && 4 * y * by_y < 3 * height;
                unsigned v = (in ? inside : outside) * 7919u + (unsigned)(c * 31 + y) * 6151u +
                             (unsigned)x * 389u;
                v = (v ^ v >> 13) * 2654435761u;
                row[x] = real ? (depth == 16 ? 0x3800u | v >> 22 : 0x3f000000u | v >> 9)
                              : v >> (32 - depth);
                if (uyyvyy)
                    frame->data[0][y * frame->linesize[0] + x * by_x / 4 * 6 +
                                   (chroma ? 3 * (c - 1) : "\1\2\4\5"[x % 4])] = (uint8_t)row[x];
                else if (bayer && depth == 8)
                    frame->data[0][y * frame->linesize[0] + x] = (uint8_t)row[x];
                else if (bayer)
                    ((uint16_t *)(frame->data[0] + y * frame->linesize[0]))[x] = (uint16_t)row[x];
            }
            if (!bayer && !uyyvyy)
                av_write_image_line2(row, frame->data, frame->linesize, d, 0, y, c, count, 4);
        }
    }
    return frame;
}

static bool is_equal(const AVFrame *a, const AVFrame *b, bool *ret_flat)
{
    bool same = true;
    *ret_flat = true;
    for (int p = 0; p < halo_format_planes(a->format); p++) {
        const struct halo_plane plane = halo_format_plane(a, p);
        const size_t bytes = halo_plane_row_bytes(&plane);
        for (int y = 0; y < plane.height; y++) {
            const uint8_t *row = a->data[p] + (ptrdiff_t)y * a->linesize[p];
            same = same && memcmp(row, b->data[p] + (ptrdiff_t)y * b->linesize[p], bytes) == 0;
            *ret_flat = *ret_flat && memcmp(row, a->data[p], bytes) == 0;
        }
    }
    return same;
}

/* Two frames that differ only where a region is come out the same, and are not hidden wholly. */
static void check_conversion(enum AVPixelFormat first, enum AVPixelFormat format, int width,
                             int height, bool invert)
{
    const struct halo_ring_settings settings = {
        .backend = "cpu", .depth = 1, .deadline = 60, .locked = -1};
    const struct halo_gate_input input = {.format = first,
                                          .width = 3 * SMALL,
                                          .height = 2 * SMALL,
                                          .privacy = HALO_PRIVACY_OFF,
                                          .range = AVCOL_RANGE_JPEG};
    struct halo_error err = {0};
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate;
    struct halo_output_frame *out[2];
    bool flat;
    mask_count = 0;
    assert_int_equal(halo_ring_create(&ring, &settings, &err), 0);
    assert_int_equal(halo_chain_parse(&chain,
                                      invert ? "solid=region=rect 25% 0 50% 25%+rect 0 0 25% 100%+"
                                               "rect 75% 0 25% 100%+rect 25% 75% 50% 25%:invert=1"
                                             : "solid=region=rect 25% 25% 50% 50%",
                                      &err),
                     0);
    if (halo_gate_create(&gate, chain, ring, &input, &err) < 0)
        fail_msg("%s", err.text);
    for (unsigned k = 0; k < 2; k++) {
        struct halo_pending *pending;
        struct halo_raw_frame raw = {.frame = noise(format, width, height, 1, 2 + k),
                                     .format = format};
        if (halo_gate_enter(gate, &raw, &pending, &err) < 0 ||
            halo_gate_leave(pending, 0, &out[k], &err) < 0)
            fail_msg("%s of %dx%d: %s", av_get_pix_fmt_name(format), width, height, err.text);
        av_frame_free(&raw.frame);
    }
    if (!is_equal(halo_output_frame_frame(out[0]), halo_output_frame_frame(out[1]), &flat))
        fail_msg("%s of %dx%d, after %s: something of the region is beside it, invert %d",
                 av_get_pix_fmt_name(format), width, height, av_get_pix_fmt_name(first), invert);
    if (flat && width > 2 * SMALL)
        fail_msg("%s of %dx%d, after %s: all is hidden", av_get_pix_fmt_name(format), width, height,
                 av_get_pix_fmt_name(first));
    for (int k = 0; k < 2; k++)
        halo_output_frame_destroy(out[k]);
    halo_gate_destroy(gate);
    halo_chain_destroy(chain);
    halo_ring_destroy(ring);
}

/* Every format that can be read, as the first one and as one that follows another. */
static void converted(void **state)
{
    static const enum AVPixelFormat firsts[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_GBRP,
                                                AV_PIX_FMT_YUV444P10};
    int count = 0;
    (void)state;
    for (int f = 0; f < AV_PIX_FMT_NB; f++) {
        const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)f);
        if (!d || d->flags & AV_PIX_FMT_FLAG_HWACCEL ||
            halo_format_nearest_native((enum AVPixelFormat)f) == AV_PIX_FMT_NONE)
            continue;
        check_conversion((enum AVPixelFormat)f, (enum AVPixelFormat)f, 3 * SMALL, 2 * SMALL, f & 1);
        check_conversion(firsts[count % 3], (enum AVPixelFormat)f, 3 * SMALL, 2 * SMALL, f & 1);
        count++;
    }
    assert_true(count > 150);
}

/* Sizes from a tenth to twice the first one. */
static void resized(void **state)
{
    static const int sizes[][2] = {{15, 10}, {16, 12}, {37, 95}, {143, 97}, {240, 31}, {290, 200}};
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV411P,
                                                 AV_PIX_FMT_RGB24, AV_PIX_FMT_YUV440P};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int f = 0; f < 4; f++)
            for (int g = 0; g < 4; g += 2)
                check_conversion(formats[g], formats[f], sizes[i][0], sizes[i][1], f & 1);
}

/* Turned frames say it of themselves. */
static void oriented(void **state)
{
    static const struct {
        int quarters, width, height;
        bool fields;
        int spill;
    } rows[] = {
        {2, 8, 6, false, 0},
        {2, 9, 6, false, HALO_SPILL_X},
        {2, 8, 7, false, HALO_SPILL_Y},
        {1, 9, 6, false, HALO_SPILL_Y},
        {3, 8, 7, false, HALO_SPILL_X},
        {2, 8, 8, true, HALO_SPILL_Y},
        {1, 8, 8, true, HALO_SPILL_X},
        {3, 9, 8, true, HALO_SPILL_X | HALO_SPILL_Y},
    };
    struct halo_memory *memory = halo_memory_create(halo_backend_find("cpu"), 0);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct halo_error err = {0};
        struct halo_orient *orient;
        struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
        AVFrame *frame = raw->frame = av_frame_alloc();
        raw->format = frame->format = AV_PIX_FMT_YUV420P;
        frame->width = rows[i].width;
        frame->height = rows[i].height;
        halo_av_frame_set_fields(frame, rows[i].fields ? HALO_AV_INTERLACED : 0);
        assert_int_equal(av_frame_get_buffer(frame, 0), 0);
        assert_int_equal(
            halo_orient_create(&orient, memory, rows[i].quarters, HALO_MIRROR_NONE, &err), 0);
        assert_int_equal(halo_orient_pass(orient, &raw, &err), 0);
        assert_int_equal(raw->spill, rows[i].spill);
        halo_raw_frame_destroy(raw);
        halo_orient_destroy(orient);
    }
    halo_memory_destroy(memory);
}

/* The sample of the source that is to be at x, y; w and h are of the source's plane. */
static int turned_from(int quarters, int mirror, int x, int y, int w, int h)
{
    const int at[4][2] = {{x, y}, {y, h - 1 - x}, {w - 1 - x, h - 1 - y}, {w - 1 - y, x}};
    const int column = mirror == HALO_MIRROR_HORIZONTAL ? w - 1 - at[quarters][0] : at[quarters][0];
    const int row = mirror == HALO_MIRROR_VERTICAL ? h - 1 - at[quarters][1] : at[quarters][1];
    return row * w + column;
}

static void check_turned(const AVFrame *out, int quarters, int mirror, int width, int height)
{
    for (int p = 0; p < halo_format_planes(out->format); p++) {
        const int channels = halo_format_channels(out->format, p);
        const struct halo_plane_info from = halo_format_plane_info(out->format, width, height, p),
                                     to = halo_format_plane_info(out->format, out->width,
                                                                 out->height, p);
        for (int i = 0; i < to.width * to.height * channels; i++) {
            const int x = i / channels % to.width, y = i / channels / to.width;
            const int at = turned_from(quarters, mirror, x, y, from.width, from.height);
            assert_int_equal(out->data[p][y * out->linesize[p] + x * channels + i % channels],
                             100 * p + at * channels + i % channels);
        }
    }
}

/* All planes, and both channels of one. */
static void turned_samples(void **state)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12};
    enum { W = 8, H = 6 };
    struct halo_memory *memory = halo_memory_create(halo_backend_find("cpu"), 0);
    (void)state;
    for (int i = 2; i < 2 * 4 * 3; i++) { /* not those that stay as they are */
        const int quarters = i / 2 % 4, mirror = i / 8;
        struct halo_error err = {0};
        struct halo_orient *orient;
        struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
        AVFrame *frame = raw->frame = av_frame_alloc();
        raw->format = frame->format = formats[i % 2];
        frame->width = W;
        frame->height = H;
        assert_int_equal(av_frame_get_buffer(frame, 0), 0);
        for (int p = 0; p < halo_format_planes(frame->format); p++) {
            const int row = p && i % 2 == 0 ? W / 2 : W;
            for (int k = 0; k < row * (p ? H / 2 : H); k++)
                frame->data[p][k / row * frame->linesize[p] + k % row] = (uint8_t)(100 * p + k);
        }
        assert_int_equal(halo_orient_create(&orient, memory, quarters, mirror, &err), 0);
        assert_int_equal(halo_orient_pass(orient, &raw, &err), 0);
        assert_int_equal(raw->frame->format, formats[i % 2]);
        check_turned(raw->frame, quarters, mirror, W, H);
        halo_raw_frame_destroy(raw);
        halo_orient_destroy(orient);
    }
    halo_memory_destroy(memory);
}

static void unsure(void **state)
{
    struct fixture f = {.unsure = true};
    (void)state;
    begin(&f, "solid=white:region=rect 10 4 12 10");
    check(&f, f.now, all, true);
    end(&f);
    f = (struct fixture){.unsure = true}; /* in frames of the other size it has pixels */
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
    static const int sizes[] = {49, 40, 20, 17, 6, 1};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture f = {0}, plain = {.privacy = HALO_PRIVACY_OFF};
        char chain[60];
        begin(&f, "pixelize=w=0.5*w:h=0.5*w:region=feed");
        halo_gate_set_feed(f.gate, f.feed);
        update_square(&f, f.now, HALO_SHAPE_RECT, 10, 0, sizes[i]);
        struct halo_output_frame *frame = pass(&f, f.now);
        const struct halo_rect r = {10, 0, 10 + sizes[i], sizes[i]};
        bool found = false;
        for (int block = sizes[i] > 2 ? (sizes[i] + 1) / 2 : 2; block < 40 && !found; block++) {
            snprintf(chain, sizeof chain, "pixelize=w=%d:h=%d", block, block);
            begin(&plain, chain);
            struct halo_output_frame *other = pass(&plain, 0);
            found = is_same(halo_output_frame_frame(frame), halo_output_frame_frame(other), r);
            halo_output_frame_destroy(other);
            end(&plain);
            plain = (struct fixture){.privacy = HALO_PRIVACY_OFF};
            if (found &&
                block > sizes[i] / 2.0 * 1.5 + 4) /* a level more, that does something to chroma */
                fail_msg("size %d: blocks of %d", sizes[i], block);
        }
        assert_true(found);
        halo_output_frame_destroy(frame);
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
    update_square(&f, f.now, HALO_SHAPE_RECT, 8, 8, 8);
    struct halo_output_frame *picture = pass(&f, f.now);
    const AVFrame *frame = halo_output_frame_frame(picture);
    const uint8_t *row = frame->data[1] + (ptrdiff_t)5 * frame->linesize[1];
    int sum = 0;
    for (int x = 4; x < 7; x++)
        sum += abs(row[x] - row[x + 1]);
    halo_output_frame_destroy(picture);
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

/* In luma it is what the other chain makes of the whole frame. */
static void check_like(struct fixture *f, int64_t time, struct halo_rect r, const char *chain)
{
    struct fixture plain = {.privacy = HALO_PRIVACY_OFF};
    begin(&plain, chain);
    struct halo_output_frame *frame = pass(f, time), *other = pass(&plain, 0);
    assert_true(is_same(halo_output_frame_frame(frame), halo_output_frame_frame(other), r));
    halo_output_frame_destroy(frame);
    halo_output_frame_destroy(other);
    end(&plain);
}

/* As strong as for the whole frame: where one of two directions asks for it, where nothing is
 * known any more, and around what is small. */
static void full_strength(void **state)
{
    static const char both[] = "pixelize=w=0.5*w:h=0.5*h:region=feed",
                      whole[] = "pixelize=w=35:h=25";
    static const struct halo_rect high = {0, 0, 6, 49}, wide = {0, 0, 69, 6},
                                  small = {10, 10, 14, 14};
    static const struct halo_rect beside = {20, 0, WIDTH, HEIGHT};
    struct fixture f = {0};
    (void)state;
    begin(&f, both);
    halo_gate_set_feed(f.gate, f.feed);
    update_box(&f, f.now, HALO_SHAPE_RECT, high);
    check_like(&f, f.now, high, whole);
    update_box(&f, f.now + SECOND, HALO_SHAPE_RECT, wide);
    check_like(&f, f.now + SECOND, wide, whole);
    update_box(&f, f.now + 2 * SECOND, HALO_SHAPE_RECT, small);
    check(&f, f.now + 2 * SECOND, small, false);
    check_like(&f, f.now + 52 * SECOND, all, whole);
    update_box(&f, f.now + 53 * SECOND, HALO_SHAPE_RECT, small);
    check(&f, f.now + 53 * SECOND, small, false);
    halo_gate_set_feed(f.gate, NULL);
    check_like(&f, f.now + 53 * SECOND, all, whole);
    end(&f);

    f = (struct fixture){0};
    begin(&f, "solid=white:region=feed,pixelize=w=0.5*w:h=0.5*h:region=feed:invert=1");
    halo_gate_set_feed(f.gate, f.feed);
    update_box(&f, f.now, HALO_SHAPE_RECT, small);
    check_like(&f, f.now, (struct halo_rect){35, 25, WIDTH, HEIGHT}, whole);
    end(&f);

    f = (struct fixture){0};
    begin(&f, "pixelize=w=0.5*w:h=0.5*h:region=feed:invert=1");
    halo_gate_set_feed(f.gate, f.feed);
    update_box(&f, f.now, HALO_SHAPE_RECT, small);
    check_like(&f, f.now, beside, whole);
    end(&f);

    f = (struct fixture){0};
    begin(&f, "pixelize=w=0.5*w:h=0.5*h:region=rect 10 10 4 4:invert=1");
    check_like(&f, f.now, beside, whole);
    end(&f);
}

/* Half of next to nothing is nothing: then the last size that filters every plane is taken. */
static void least_strength(void **state)
{
    (void)state;
    for (int size = 1; size <= 3; size++) {
        struct fixture f = {.privacy = HALO_PRIVACY_CHANGED};
        begin(&f, "pixelize=w=0.5*w:h=0.5*w:region=feed");
        halo_gate_set_feed(f.gate, f.feed);
        update_square(&f, f.now, HALO_SHAPE_RECT, 10, 10, size);
        struct halo_output_frame *frame = pass(&f, f.now);
        for (int p = 0; p < 3; p++) {
            int count;
            changed(&f, halo_output_frame_frame(frame), p, &count);
            assert_true(count > 0);
        }
        halo_output_frame_destroy(frame);
        end(&f);
    }
}

/* Two passes are two filters. */
static void passes(void **state)
{
    struct fixture f = {.privacy = HALO_PRIVACY_OFF};
    (void)state;
    begin(&f, "boxblur=lr=3:lp=2");
    check_like(&f, f.now, all, "boxblur=lr=3:lp=1,boxblur=lr=3:lp=1");
    end(&f);
}

/* Regions that look alike and are not the same, and some that are. */
static void neighbours(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=rect 10 4 12 10,solid=black:region=rect 10 4 12 10:invert=1");
    check(&f, f.now, all, true);
    end(&f);
    f = (struct fixture){0};
    begin(&f, "solid=white:region=rect 20 20 8 8,solid=black:region=rect 20 20 8 8:feather=6");
    int count;
    struct halo_output_frame *frame = pass(&f, f.now);
    const struct halo_rect soft = changed(&f, halo_output_frame_frame(frame), 0, &count);
    assert_true(soft.x0 < 18 && soft.y0 < 18 && soft.x1 > 30 && soft.y1 > 30);
    halo_output_frame_destroy(frame);
    end(&f);
    f = (struct fixture){0};
    begin(&f, "pixelize=w=2:h=2:region=feed,solid=white:region=feed");
    halo_gate_set_feed(f.gate, f.feed);
    update_square(&f, f.now, HALO_SHAPE_RECT, 10, 4, 12);
    check(&f, f.now, (struct halo_rect){10, 4, 22, 16}, true);
    end(&f);
}

/* A mask has a number for as long as it is the same. */
static void numbers(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=feed,solid=black:region=ellipse 40 20 20 20,"
              "solid=black:region=ellipse 10 20 20 20");
    halo_gate_set_feed(f.gate, f.feed);
    for (int i = 0; i < 5; i++) {
        const int before = mask_count;
        update_square(&f, f.now + i * SECOND, HALO_SHAPE_ELLIPSE, 10 + 3 * i, 4, 12);
        halo_output_frame_destroy(pass(&f, f.now + i * SECOND));
        assert_int_equal(mask_count - before, i ? 2 : 6);
    }
    end(&f);
}

/* One drawing is for planes of one size alone. */
static void canvases(void **state)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,
                                                 AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUV444P,
                                                 AV_PIX_FMT_NV12,    AV_PIX_FMT_GRAY8};
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct halo_gate_plan plan = {.format = formats[i],
                                            .input = {.width = WIDTH, .height = HEIGHT}};
        for (int p = 0; p < halo_format_planes(formats[i]); p++) {
            const int canvas = halo_gate_plan_canvas(&plan, p);
            const struct halo_plane_info own = halo_format_plane_info(formats[i], WIDTH, HEIGHT, p),
                                         other = halo_format_plane_info(formats[i], WIDTH, HEIGHT,
                                                                        canvas);
            assert_true(canvas <= p);
            assert_int_equal(own.width, other.width);
            assert_int_equal(own.height, other.height);
        }
    }
}

/* A region that hides nothing is no region, and a size of a small one may be none. */
static void refused(void **state)
{
    static const char *const chains[] = {
        "solid=white:region=rect 80 4 12 10",
        "solid=white:region=rect 0 0 100% 100%:invert=1",
        "pixelize=w=0.1*w:h=0.1*w:region=rect 10 10 4 4",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct halo_gate_input input = {.format = AV_PIX_FMT_YUV420P,
                                              .width = WIDTH,
                                              .height = HEIGHT,
                                              .privacy = HALO_PRIVACY_OFF};
        struct halo_error err = {0};
        assert_int_equal(judge(chains[i], &input, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.text, "its region"));
    }
    /* A number of 31 digits has its place, and no longer one. */
    for (int digits = 31; digits <= 32; digits++) {
        char chain[80];
        struct halo_chain *parsed = NULL;
        snprintf(chain, sizeof chain, "gblur=sigma=0.1%0*d*w:region=feed", digits - 3, 0);
        assert_int_equal(halo_chain_parse(&parsed, chain, NULL), digits < 32 ? 0 : -EINVAL);
        halo_chain_destroy(parsed);
    }
}

/* ---- verdicts ---- */

static struct halo_shape box_of(struct halo_rect r)
{
    return (struct halo_shape){.kind = HALO_SHAPE_RECT,
                               .x = {(double)r.x0 / WIDTH, true},
                               .y = {(double)r.y0 / HEIGHT, true},
                               .width = {(double)(r.x1 - r.x0) / WIDTH, true},
                               .height = {(double)(r.y1 - r.y0) / HEIGHT, true}};
}

/* A mask of the frame's size, with this weight in r. */
static struct halo_shape gray_mask(struct halo_rect r, int weight)
{
    struct halo_mask_image *image = calloc(1, sizeof *image);
    image->width = WIDTH;
    image->height = HEIGHT;
    image->inside = r;
    image->weight = calloc(WIDTH, HEIGHT);
    for (int y = r.y0; y < r.y1; y++)
        memset(image->weight + y * WIDTH + r.x0, weight, (size_t)(r.x1 - r.x0));
    return (struct halo_shape){.kind = HALO_SHAPE_MASK, .mask = image};
}

static struct halo_shape mask_of(struct halo_rect r)
{
    return gray_mask(r, 255);
}

/* The frame's verdict about one find from now on; no other find is known. */
static void judge_as(struct fixture *f, enum halo_find find, struct halo_shape hidden,
                     const struct halo_shape *shown)
{
    struct halo_verdict *verdict = halo_verdict_create();
    struct halo_shape copy = shown ? *shown : hidden;
    const struct halo_verdict_shapes a = {&hidden, 1}, b = {&copy, 1};
    assert_int_equal(halo_verdict_set(verdict, find, &a, shown ? &b : NULL), 0);
    halo_raw_frame_judge(&f->raw, verdict);
}

static void judge_none(struct fixture *f, enum halo_find find)
{
    struct halo_verdict *verdict = halo_verdict_create();
    const struct halo_verdict_shapes nothing = {NULL, 0};
    assert_int_equal(halo_verdict_set(verdict, find, &nothing, NULL), 0);
    halo_raw_frame_judge(&f->raw, verdict);
}

/* What its own verdict says is hidden; without one, and without the one that is asked for, all. */
static void verdicts(void **state)
{
    static const struct {
        const char *chain;
        enum halo_find find;
    } rows[] = {
        {"solid=white:region=faces", HALO_FIND_FACES},
        {"solid=white:region=people", HALO_FIND_PEOPLE},
        {"solid=white:region=background:invert=1", HALO_FIND_PEOPLE},
    };
    const struct halo_rect at = {10, 4, 22, 16};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f = {0};
        begin(&f, rows[i].chain);
        check(&f, f.now, all, true);
        halo_gate_set_feed(f.gate, f.feed); /* a feed's word is none about faces */
        update_square(&f, f.now, HALO_SHAPE_RECT, 0, 0, 0);
        check(&f, f.now, all, true);
        judge_as(&f, rows[i].find, box_of(at), NULL);
        check(&f, f.now, at, true);
        judge_as(&f, rows[i].find, mask_of(at), NULL);
        check(&f, f.now, at, true);
        judge_none(&f, rows[i].find);
        check(&f, f.now, none, true);
        judge_none(&f, rows[i].find == HALO_FIND_FACES ? HALO_FIND_PEOPLE : HALO_FIND_FACES);
        check(&f, f.now, all, true);
        halo_raw_frame_judge(&f.raw, NULL);
        check(&f, f.now, all, true);
        end(&f);
    }
}

/* What has any weight is hidden wholly: by hide and solid, also beside a filter that lets the rest
 * through; and by all filters of a chain that must not leave much. */
static void weights(void **state)
{
    static const struct {
        const char *chain;
        enum halo_privacy privacy;
        bool whole;
    } rows[] = {
        {"solid=white:region=people", HALO_PRIVACY_OFF, true},
        {"hide=solid:color=white:region=people", HALO_PRIVACY_OFF, true},
        {"avgblur=sizeX=2:region=people,solid=white:region=people", HALO_PRIVACY_OFF, true},
        {"solid=white:region=background:invert=1", HALO_PRIVACY_CHANGED, true},
        {"pixelize=w=16:region=people", HALO_PRIVACY_STRICT, true},
        {"avgblur=sizeX=20:region=people", HALO_PRIVACY_STRICT, true},
        {"pixelize=w=16:region=people", HALO_PRIVACY_CHANGED, false},
    };
    static const int grays[] = {1, 112, 254};
    const struct halo_rect at = {10, 4, 22, 16};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f = {.privacy = rows[i].privacy};
        begin(&f, rows[i].chain);
        judge_as(&f, HALO_FIND_PEOPLE, mask_of(at), NULL);
        struct halo_output_frame *full = pass(&f, f.now);
        for (int g = 0; g < (rows[i].whole ? 3 : 2); g++) { /* 254 rounds to 255 */
            judge_as(&f, HALO_FIND_PEOPLE, gray_mask(at, grays[g]), NULL);
            struct halo_output_frame *gray = pass(&f, f.now);
            const bool same =
                is_same(halo_output_frame_frame(full), halo_output_frame_frame(gray), all);
            if (same != rows[i].whole)
                fail_msg("%s: a weight of %d", rows[i].chain, grays[g]);
            halo_output_frame_destroy(gray);
        }
        halo_output_frame_destroy(full);
        end(&f);
    }
    struct fixture f = {0};
    begin(&f, "solid=white:region=background");
    const struct halo_shape shown = gray_mask(at, 254);
    judge_as(&f, HALO_FIND_PEOPLE, mask_of(all), &shown);
    assert_int_equal(count_white(&f), WIDTH * HEIGHT);
    end(&f);
}

/* Outside of the people: only what surely belongs to one is shown, and nothing where nobody is. */
static void backgrounds(void **state)
{
    static const char *const chains[] = {"solid=white:region=background",
                                         "solid=white:region=people:invert=1"};
    const struct halo_rect wide = {10, 4, 30, 24}, sure = {14, 8, 26, 20};
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct fixture f = {0};
        begin(&f, chains[i]);
        const struct halo_shape shown[] = {box_of(sure), mask_of(sure)};
        for (int m = 0; m < 2; m++) {
            judge_as(&f, HALO_FIND_PEOPLE, m ? mask_of(wide) : box_of(wide), &shown[m]);
            assert_int_equal(count_white(&f), WIDTH * HEIGHT - 12 * 12);
        }
        judge_none(&f, HALO_FIND_PEOPLE);
        check(&f, f.now, all, true);
        halo_raw_frame_judge(&f.raw, NULL);
        check(&f, f.now, all, true);
        end(&f);
    }
}

/* Filters of one chain with several sources, and strengths that follow the shapes. */
static void mixed_verdicts(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "solid=white:region=faces,solid=white:region=faces,solid=white:region=feed");
    halo_gate_set_feed(f.gate, f.feed);
    update_square(&f, f.now, HALO_SHAPE_RECT, 40, 30, 10);
    judge_as(&f, HALO_FIND_FACES, box_of((struct halo_rect){10, 10, 20, 20}), NULL);
    assert_int_equal(count_white(&f), 2 * 10 * 10);
    halo_raw_frame_judge(&f.raw, NULL);
    check(&f, f.now, all, true);
    end(&f);
    f = (struct fixture){0};
    begin(&f, "pixelize=w=0.5*w:h=0.5*w:region=faces");
    const struct halo_rect at = {10, 4, 26, 20};
    judge_as(&f, HALO_FIND_FACES, box_of(at), NULL);
    struct halo_output_frame *frame = pass(&f, f.now);
    const AVFrame *out = halo_output_frame_frame(frame);
    int count;
    const struct halo_rect got = changed(&f, out, 0, &count);
    assert_true(count > 0 && got.x0 >= at.x0 && got.y0 >= at.y0 && got.x1 <= at.x1 &&
                got.y1 <= at.y1);
    halo_output_frame_destroy(frame);
    halo_raw_frame_judge(&f.raw, NULL);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates),         cmocka_unit_test(several_filters),
        cmocka_unit_test(scaled),          cmocka_unit_test(unsure),
        cmocka_unit_test(turned),          cmocka_unit_test(spilt),
        cmocka_unit_test(spilt_feeds),     cmocka_unit_test(unplanned_feeds),
        cmocka_unit_test(oriented),        cmocka_unit_test(strength),
        cmocka_unit_test(converted),       cmocka_unit_test(resized),
        cmocka_unit_test(strict_strength), cmocka_unit_test(full_strength),
        cmocka_unit_test(least_strength),  cmocka_unit_test(passes),
        cmocka_unit_test(neighbours),      cmocka_unit_test(numbers),
        cmocka_unit_test(canvases),        cmocka_unit_test(refused),
        cmocka_unit_test(verdicts),        cmocka_unit_test(backgrounds),
        cmocka_unit_test(mixed_verdicts),  cmocka_unit_test(weights),
        cmocka_unit_test(turned_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
