/* SPDX-License-Identifier: BSD-2-Clause
 * Frozen cells through the gate: they are the means of the frame in which an object appears, move
 * with the object, and nothing that comes later changes a sample of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/gate_cells.h"
#include "pipeline/gate/hidden.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/frame/raw_frame_private.h"
#include "pipeline/region/region_feed.h"
#include "pipeline/region/verdict.h"
#include "tests/cmocka_all.h"

enum { WIDTH = 128, HEIGHT = 96, SECOND = 1000000, SIZE = 48, GRAY = 126 };

/* How a box is cut. */
struct cut {
    struct halo_rect box;
    int n, levels;
};

struct fixture {
    enum AVPixelFormat format;
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate;
    struct halo_region_feed *feed;
    struct halo_hidden hidden;
    struct halo_frozen *frozen; /* NULL: the gate has its own values */
    struct halo_raw_frame raw;
    struct halo_output_frame *out;
    int64_t now; /* us */
    uint32_t state;
};

/* Other samples in every frame. */
static void fill(struct fixture *f)
{
    for (int p = 0; p < halo_format_planes(f->format); p++) {
        const struct halo_plane plane = halo_format_plane(f->raw.frame, p);
        for (int y = 0; y < plane.height; y++)
            for (int x = 0; x < plane.width * plane.channels; x++) {
                f->state = f->state * 1664525 + 1013904223;
                const int v = (int)(f->state >> 16) & halo_sample_max(plane.depth);
                char *row = (char *)plane.data + plane.stride * y;
                if (plane.depth == 8)
                    ((uint8_t *)row)[x] = (uint8_t)v;
                else
                    ((uint16_t *)row)[x] = (uint16_t)(v << plane.shift);
            }
    }
}

static void begin(struct fixture *f, const char *chain)
{
    const char *backend = getenv("HALO_TEST_BACKEND"); /* set by hand, on a machine with a GPU */
    const struct halo_ring_settings settings = {
        .backend = backend ? backend : "cpu", .depth = 2, .deadline = 60, .locked = -1};
    const struct halo_gate_input input = {.format = f->format,
                                          .width = WIDTH,
                                          .height = HEIGHT,
                                          .hidden = &f->hidden,
                                          .frozen = f->frozen};
    const struct halo_region_feed_settings feed = {.on = true, .hold = 0, .limit = 50};
    struct halo_error err = {0};
    assert_int_equal(halo_ring_create(&f->ring, &settings, &err), 0);
    assert_int_equal(halo_chain_parse(&f->chain, chain, &err), 0);
    if (halo_gate_create(&f->gate, f->chain, f->ring, &input, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(halo_region_feed_create(&f->feed, &feed), 0);
    halo_gate_set_feed(f->gate, f->feed);
    f->now = halo_now_ns() / 1000;
    AVFrame *frame = f->raw.frame = av_frame_alloc();
    f->raw.format = frame->format = f->format;
    frame->width = WIDTH;
    frame->height = HEIGHT;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    fill(f);
}

static void end(struct fixture *f)
{
    halo_output_frame_destroy(f->out);
    av_frame_free(&f->raw.frame);
    halo_gate_destroy(f->gate);
    halo_region_feed_destroy(f->feed);
    halo_chain_destroy(f->chain);
    halo_ring_destroy(f->ring);
}

/* Filters the next frame, which comes a tenth of a second later. */
static void pass(struct fixture *f)
{
    struct halo_pending *pending;
    struct halo_error err = {0};
    halo_output_frame_destroy(f->out);
    f->raw.frame->pts = f->now;
    if (halo_gate_enter(f->gate, &f->raw, &pending, &err) < 0 ||
        halo_gate_leave(pending, 0, &f->out, &err) < 0)
        fail_msg("%s", err.text);
}

/* An object of this id (NULL: nothing is there) in the next frame. */
static void move(struct fixture *f, const char *id, int x, int y, int size)
{
    struct halo_region_update update = {.shape = {.kind = HALO_SHAPE_RECT,
                                                  .x = {x, 0},
                                                  .y = {y, 0},
                                                  .width = {size, 0},
                                                  .height = {size, 0}}};
    struct halo_error err = {0};
    f->now += SECOND / 10;
    strcpy(update.id, id ? id : "");
    halo_region_feed_pass(f->feed, f->now);
    if (halo_region_feed_update(f->feed, f->now, &update, id != NULL, halo_now_ns(), &err) < 0)
        fail_msg("%s", err.text);
}

static int sample(const AVFrame *frame, int p, int channel, int x, int y)
{
    const struct halo_plane plane = halo_format_plane(frame, p);
    const char *row = (const char *)plane.data + plane.stride * y;
    const int i = x * plane.channels + channel;
    return plane.depth == 8
               ? ((const uint8_t *)row)[i]
               : halo_sample_value(((const uint16_t *)row)[i], plane.depth, plane.shift);
}

static int out_at(const struct fixture *f, int p, int channel, int x, int y)
{
    return sample(halo_output_frame_frame(f->out), p, channel, x, y);
}

/* The mean of a cell of the raw frame as the middle of its level, by another way of counting: every
 * sample of the plane asks to which cell it belongs. */
static int wanted(const struct fixture *f, int p, int channel, const struct cut *cut, int cell)
{
    const struct halo_rect box = cut->box;
    const int n = cut->n, levels = cut->levels, column = cell % n, row = cell / n;
    const struct halo_plane plane = halo_format_plane(f->raw.frame, p);
    const struct halo_plane_info info = halo_format_plane_info(f->format, WIDTH, HEIGHT, p);
    double sum = 0;
    int count = 0;
    for (int y = 0; y < plane.height; y++)
        for (int x = 0; x < plane.width; x++) {
            const int px = (x << info.log2_sub_x) - box.x0, py = (y << info.log2_sub_y) - box.y0;
            if (px < 0 || py < 0 || px >= box.x1 - box.x0 || py >= box.y1 - box.y0 ||
                px * n / (box.x1 - box.x0) != column || py * n / (box.y1 - box.y0) != row)
                continue;
            sum += sample(f->raw.frame, p, channel, x, y);
            count++;
        }
    const double all = 1 << plane.depth, level = floor(sum / count * levels / all);
    return (int)floor((level + 0.5) * all / levels);
}

/* Whether the box shows these cells, the same in every sample, and nothing else of the frame is
 * changed. The values are from `values`, which is filled first if fill is true. */
static void check_box(const struct fixture *f, struct halo_rect box, int n, int levels, bool fill,
                      int *values)
{
    const struct cut cut = {box, n, levels};
    for (int p = 0; p < halo_format_planes(f->format); p++) {
        const struct halo_plane plane = halo_format_plane(f->raw.frame, p);
        const struct halo_plane_info info = halo_format_plane_info(f->format, WIDTH, HEIGHT, p);
        for (int ch = 0; ch < plane.channels; ch++) {
            for (int i = 0; fill && i < n * n; i++)
                values[i] = wanted(f, p, ch, &cut, i);
            for (int y = 0; y < plane.height; y++)
                for (int x = 0; x < plane.width; x++) {
                    const int px = (x << info.log2_sub_x) - box.x0;
                    const int py = (y << info.log2_sub_y) - box.y0;
                    const bool in =
                        px >= 0 && py >= 0 && px < box.x1 - box.x0 && py < box.y1 - box.y0;
                    const int cell =
                        in ? py * n / (box.y1 - box.y0) * n + px * n / (box.x1 - box.x0) : 0;
                    const int want = in ? values[cell] : sample(f->raw.frame, p, ch, x, y);
                    if (out_at(f, p, ch, x, y) != want)
                        fail_msg("plane %d, channel %d: %d at %d, %d, not %d", p, ch,
                                 out_at(f, p, ch, x, y), x, y, want);
                }
            values += n * n;
        }
    }
}

static void freezes(void **state)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12,
                                                 AV_PIX_FMT_P010,    AV_PIX_FMT_YUV444P12,
                                                 AV_PIX_FMT_GRAY8,   AV_PIX_FMT_GBRP};
    static const int at[][3] = {/* also where the box does not divide evenly */
                                {20, 10, 48},
                                {22, 14, 48},
                                {40, 20, 61},
                                {0, 0, 33},
                                {80, 40, 47}};
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct fixture f = {.format = formats[i]};
        int values[3 * 36];
        begin(&f, "hide=cells:n=6:levels=8:least=32:region=feed");
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            const int x = at[k][0] & ~1, y = at[k][1] & ~1, size = at[k][2] & ~1;
            move(&f, "7", x, y, size);
            if (k > 0) /* cells follow the box from where it was: let it rest */
                move(&f, "7", x, y, size);
            fill(&f);
            pass(&f);
            check_box(&f, (struct halo_rect){x, y, x + size, y + size}, 6, 8, k == 0, values);
        }
        assert_int_equal(f.hidden.objects, 1);
        assert_int_equal((int)halo_hidden_read(&f.hidden).bits,
                         36 * 3 * (formats[i] == AV_PIX_FMT_GRAY8 ? 1 : 3));
        end(&f);
    }
}

/* A shape in the chain's text is a track as long as the chain is in effect. */
static void written(void **state)
{
    struct fixture f = {0};
    int values[3 * 9];
    (void)state;
    begin(&f, "hide=cells:n=3:levels=4:region=rect 20 10 48 48");
    for (int i = 0; i < 100; i++) {
        fill(&f);
        pass(&f);
        check_box(&f, (struct halo_rect){20, 10, 68, 58}, 3, 4, i == 0, values);
    }
    end(&f);
}

static void is_gray(const struct fixture *f, int x0, int y0, int x1, int y1)
{
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            if (out_at(f, 0, 0, x, y) != GRAY)
                fail_msg("%d at %d, %d", out_at(f, 0, 0, x, y), x, y);
}

/* Without an id, or while it is small, or if nothing is known: one colour. */
static void solid(void **state)
{
    struct fixture f = {0};
    int values[3 * 36];
    (void)state;
    begin(&f, "hide=cells:region=feed");
    pass(&f); /* no update yet */
    is_gray(&f, 0, 0, WIDTH, HEIGHT);
    move(&f, "", 20, 10, 48);
    pass(&f);
    is_gray(&f, 20, 10, 68, 58);
    move(&f, NULL, 0, 0, 0);
    move(&f, "a", 20, 10, 30);
    pass(&f);
    is_gray(&f, 20, 10, 50, 40);
    assert_int_equal(f.hidden.objects, 0);
    move(&f, "a", 20, 10, 48); /* it grew */
    move(&f, "a", 20, 10, 48);
    fill(&f);
    pass(&f);
    check_box(&f, (struct halo_rect){20, 10, 68, 58}, 6, 8, true, values);
    end(&f);
}

/* What is lost and found is another track. */
static void lost_and_found(void **state)
{
    struct fixture f = {0};
    int values[3 * 36];
    (void)state;
    begin(&f, "hide=cells:region=feed");
    for (int i = 0; i < 3; i++) {
        move(&f, "a", 20, 10, 48);
        fill(&f);
        pass(&f);
        check_box(&f, (struct halo_rect){20, 10, 68, 58}, 6, 8, true, values);
        move(&f, NULL, 0, 0, 0);
        move(&f, NULL, 0, 0, 0);
        move(&f, NULL, 0, 0, 0);
    }
    assert_int_equal(f.hidden.objects, 3);
    assert_int_equal((int)halo_hidden_read(&f.hidden).bits, 3 * 36 * 3 * 3);
    end(&f);
}

/* Tracks of detectors have numbers of their own. */
static void verdicts(void **state)
{
    struct fixture f = {0};
    int values[3 * 36];
    (void)state;
    begin(&f, "hide=cells:region=faces");
    for (int i = 0; i < 4; i++) {
        const uint64_t track = halo_region_number();
        for (int k = 0; k < 5; k++) {
            struct halo_shape shape = {.kind = HALO_SHAPE_RECT,
                                       .x = {20 + 2 * k, 0},
                                       .y = {10 + 4 * i, 0},
                                       .width = {48, 0},
                                       .height = {48, 0},
                                       .track = track};
            const struct halo_verdict_shapes shapes = {&shape, 1};
            f.raw.verdict = halo_verdict_create();
            assert_int_equal(halo_verdict_set(f.raw.verdict, HALO_FIND_FACES, &shapes, NULL), 0);
            fill(&f);
            pass(&f);
            const int x = 20 + 2 * k, y = 10 + 4 * i;
            check_box(&f, (struct halo_rect){x, y, x + 48, y + 48}, 6, 8, k == 0, values);
            halo_verdict_destroy(f.raw.verdict);
            f.raw.verdict = NULL;
        }
    }
    end(&f);
}

/* ---- values that are kept outside of gates ---- */

/* Frame n of a file: one object grows, another appears later. */
static struct halo_verdict *verdict_of(int n)
{
    struct halo_shape shape[2] = {{.kind = HALO_SHAPE_RECT,
                                   .x = {4 + 2 * n, 0},
                                   .y = {10, 0},
                                   .width = {n < 2 ? 30 : 48, 0},
                                   .height = {n < 2 ? 30 : 48, 0},
                                   .track = 7},
                                  {.kind = HALO_SHAPE_RECT,
                                   .x = {76, 0},
                                   .y = {20 + 2 * n, 0},
                                   .width = {40, 0},
                                   .height = {40, 0},
                                   .track = 9}};
    const struct halo_verdict_shapes shapes = {shape, n < 4 ? 1 : 2};
    struct halo_verdict *ret = halo_verdict_create();
    assert_int_equal(halo_verdict_set(ret, HALO_FIND_FACES, &shapes, NULL), 0);
    return ret;
}

static void plan(struct halo_frozen *frozen, const char *text, int frames)
{
    struct halo_gate_cells *cells;
    struct halo_chain *chain;
    struct halo_error err = {0};
    assert_int_equal(halo_chain_parse(&chain, text, &err), 0);
    frozen->mode = HALO_FROZEN_PLAN;
    assert_int_equal(halo_gate_cells_create(&cells, chain, NULL, frozen), 0);
    for (int n = 0; n < frames; n++) {
        struct halo_verdict *verdict = verdict_of(n);
        frozen->frame = n;
        assert_int_equal(halo_gate_cells_plan(cells, WIDTH, HEIGHT, verdict), 0);
        halo_verdict_destroy(verdict);
    }
    halo_gate_cells_destroy(cells);
    halo_chain_destroy(chain);
}

static void pass_kept(struct fixture *f, int n)
{
    f->raw.verdict = verdict_of(n);
    f->frozen->frame = n;
    f->frozen->missing = false;
    fill(f);
    pass(f);
    halo_verdict_destroy(f->raw.verdict);
    f->raw.verdict = NULL;
}

/* One gate takes the values in the frames that were planned, and another shows them in all. */
static void kept(void **state)
{
    static const char chain[] = "hide=cells:region=faces";
    struct halo_frozen frozen = {.object = NULL};
    struct fixture take = {.frozen = &frozen}, show = {.frozen = &frozen, .state = 77};
    int values[3 * 36];
    (void)state;
    plan(&frozen, chain, 8);
    assert_int_equal(frozen.objects, 2);
    assert_int_equal(frozen.object[0].frame, 2);
    assert_int_equal(frozen.object[1].frame, 4);
    assert_int_equal(halo_frozen_count(&frozen, 0, 2), 0);
    assert_int_equal(halo_frozen_count(&frozen, 2, 4), 1);
    assert_false(halo_frozen_is_complete(&frozen));

    frozen.mode = HALO_FROZEN_TAKE;
    begin(&take, chain);
    pass_kept(&take, 2);
    check_box(&take, (struct halo_rect){8, 10, 56, 58}, 6, 8, true, values);
    assert_false(halo_frozen_is_complete(&frozen));
    pass_kept(&take, 4);
    assert_true(halo_frozen_is_complete(&frozen));
    assert_int_equal(frozen.shown, 2);
    end(&take);

    frozen.mode = HALO_FROZEN_SHOW;
    begin(&show, chain);
    pass_kept(&show, 3);
    check_box(&show, (struct halo_rect){10, 10, 58, 58}, 6, 8, false, values);
    pass_kept(&show, 1); /* too small */
    is_gray(&show, 6, 10, 36, 40);
    assert_false(frozen.missing);
    pass_kept(&show, 7);
    assert_false(frozen.missing);
    frozen.object[1].taken = 0; /* it is hidden all the same, and known to be missing */
    pass_kept(&show, 6);
    is_gray(&show, 76, 32, 116, 72);
    assert_true(frozen.missing);
    frozen.object[1].taken = 1;
    frozen.object[1].count--;
    pass_kept(&show, 6);
    assert_true(frozen.missing);
    assert_int_equal(frozen.shown, 2);
    end(&show);
    halo_frozen_finish(&frozen);
}

/* Each object has cells of its own, and pieces of one object share a box. */
static void several(void **state)
{
    struct fixture f = {0};
    int left[3], right[3];
    (void)state;
    begin(&f, "hide=cells:n=1:levels=256:region=faces");
    const uint64_t track[2] = {halo_region_number(), halo_region_number()};
    for (int k = 0; k < 3; k++) {
        struct halo_shape shape[3] = {
            {.track = track[0]}, {.track = track[1]}, {.track = track[0]}};
        const int x[] = {2, 70, 22}, width[] = {20, 40, 20};
        for (int i = 0; i < 3; i++) {
            shape[i].x.value = x[i];
            shape[i].y.value = 10;
            shape[i].width.value = width[i];
            shape[i].height.value = 40;
        }
        const struct halo_verdict_shapes shapes = {shape, 3};
        f.raw.verdict = halo_verdict_create();
        assert_int_equal(halo_verdict_set(f.raw.verdict, HALO_FIND_FACES, &shapes, NULL), 0);
        fill(&f);
        pass(&f);
        for (int p = 0; p < 3 && k == 0; p++) {
            left[p] = wanted(&f, p, 0, &(struct cut){{2, 10, 42, 50}, 1, 256}, 0);
            right[p] = wanted(&f, p, 0, &(struct cut){{70, 10, 110, 50}, 1, 256}, 0);
        }
        for (int p = 0; p < 3; p++)
            for (int y = p ? 5 : 10; y < (p ? 25 : 50); y++)
                for (int i = 0; i < (p ? 20 : 40); i++) {
                    assert_int_equal(out_at(&f, p, 0, (p ? 1 : 2) + i, y), left[p]);
                    assert_int_equal(out_at(&f, p, 0, (p ? 35 : 70) + i, y), right[p]);
                }
        halo_verdict_destroy(f.raw.verdict);
        f.raw.verdict = NULL;
    }
    assert_int_not_equal(memcmp(left, right, sizeof left), 0);
    end(&f);
}

/* Values are those of the frame in which an object appears, which has other memory than those
 * before it, and those of the object, wherever it stands in a verdict. */
static void own_frame_and_object(void **state)
{
    enum { OBJECTS = 3, FRAMES = 6, N = 2 };
    struct fixture f = {0};
    AVFrame *before[FRAMES] = {NULL};
    uint64_t track[OBJECTS];
    int values[OBJECTS][3][N * N];
    (void)state;
    begin(&f, "hide=cells:n=2:levels=256:region=faces");
    for (int i = 0; i < OBJECTS; i++)
        track[i] = halo_region_number();
    for (int k = 0; k < FRAMES; k++) {
        struct halo_shape shape[OBJECTS];
        const int count = k / 2 + 1;
        before[k] = f.raw.frame;
        f.raw.frame = av_frame_alloc();
        f.raw.frame->format = f.format;
        f.raw.frame->width = WIDTH;
        f.raw.frame->height = HEIGHT;
        assert_int_equal(av_frame_get_buffer(f.raw.frame, 0), 0);
        fill(&f);
        for (int i = 0; i < count; i++)
            shape[k % 2 ? count - 1 - i : i] = (struct halo_shape){.kind = HALO_SHAPE_RECT,
                                                                   .x = {2 + 42 * i, 0},
                                                                   .y = {10, 0},
                                                                   .width = {40, 0},
                                                                   .height = {40, 0},
                                                                   .track = track[i]};
        const struct halo_verdict_shapes shapes = {shape, count};
        f.raw.verdict = halo_verdict_create();
        assert_int_equal(halo_verdict_set(f.raw.verdict, HALO_FIND_FACES, &shapes, NULL), 0);
        pass(&f);
        for (int i = 0; i < count; i++)
            for (int p = 0; p < 3; p++)
                for (int cell = 0; cell < N * N; cell++) {
                    const int size = p ? 10 : 20, x = (2 + 42 * i) / (p ? 2 : 1), y = p ? 5 : 10;
                    if (k == 2 * i)
                        values[i][p][cell] =
                            wanted(&f, p, 0,
                                   &(struct cut){{2 + 42 * i, 10, 42 + 42 * i, 50}, N, 256}, cell);
                    assert_int_equal(
                        out_at(&f, p, 0, x + cell % N * size + 3, y + cell / N * size + 3),
                        values[i][p][cell]);
                }
        halo_verdict_destroy(f.raw.verdict);
        f.raw.verdict = NULL;
    }
    for (int k = 0; k < FRAMES; k++)
        av_frame_free(&before[k]);
    end(&f);
}

/* All samples of the raw frame. */
static void fill_with(struct fixture *f, int value)
{
    for (int p = 0; p < halo_format_planes(f->format); p++) {
        const struct halo_plane plane = halo_format_plane(f->raw.frame, p);
        for (int y = 0; y < plane.height; y++)
            memset((char *)plane.data + plane.stride * y, value,
                   (size_t)(plane.width * plane.channels));
    }
}

/* The four values of a plane in the box at 20, 10 of 48 by 48, of 2 by 2 cells; each is the same
 * all over its cell. */
static void read_cells(const struct fixture *f, int p, int ret[4])
{
    const int half = p ? 12 : 24, x0 = p ? 10 : 20, y0 = p ? 5 : 10;
    for (int i = 0; i < 4; i++) {
        ret[i] = out_at(f, p, 0, x0 + half * (i % 2), y0 + half * (i / 2));
        for (int y = 0; y < half; y++)
            for (int x = 0; x < half; x++)
                assert_int_equal(out_at(f, p, 0, x0 + half * (i % 2) + x, y0 + half * (i / 2) + y),
                                 ret[i]);
    }
}

/* The noise is drawn once for each object, with a scale for all values of an object together:
 * 2 * 2 * 3 * 255 / 100. */
static void noise(void **state)
{
    enum { OBJECTS = 60, MEAN = 128 };
    struct fixture f = {0};
    const double scale = 2 * 2 * 3 * 255 / 100.0;
    double sizes = 0, sum = 0;
    (void)state;
    begin(&f, "hide=noise:cells=2:epsilon=100:region=feed");
    for (int i = 0; i < OBJECTS; i++) {
        int first[3][4], now[3][4];
        char id[12];
        snprintf(id, sizeof id, "%d", i);
        for (int k = 0; k < 3; k++) {
            move(&f, id, 20, 10, 48);
            move(&f, id, 20, 10, 48);
            fill_with(&f, k == 0 ? MEAN : 40 * k);
            pass(&f);
            for (int p = 0; p < 3; p++)
                read_cells(&f, p, k == 0 ? first[p] : now[p]);
            if (k > 0)
                assert_memory_equal(first, now, sizeof now);
        }
        for (int v = 0; v < 12; v++) {
            sum += first[v / 4][v % 4] - MEAN;
            sizes += abs(first[v / 4][v % 4] - MEAN);
        }
    }
    const double draws = OBJECTS * 12;
    /* some are cut off at 0 and 255, which is 4 scales away */
    assert_true(fabs(sizes / draws / scale - 1) < 0.03 + 4.5 / sqrt(draws));
    assert_true(fabs(sum / draws / scale) < 0.03 + 4.5 * sqrt(2 / draws));
    assert_int_equal(f.hidden.objects, OBJECTS);
    assert_int_equal((int)halo_hidden_read(&f.hidden).epsilons, 100 * OBJECTS);
    assert_int_equal((int)halo_hidden_read(&f.hidden).bits, (int)(100 * OBJECTS * log2(exp(1))));
    end(&f);
}

/* Sets the samples of a box, which is in luma pixels, to other values in every frame. */
static void scribble(struct fixture *f, int x0, int y0, int x1, int y1)
{
    for (int p = 0; p < halo_format_planes(f->format); p++) {
        const struct halo_plane plane = halo_format_plane(f->raw.frame, p);
        const struct halo_plane_info info = halo_format_plane_info(f->format, WIDTH, HEIGHT, p);
        for (int y = y0 >> info.log2_sub_y; y < y1 >> info.log2_sub_y; y++)
            for (int x = x0 >> info.log2_sub_x; x < x1 >> info.log2_sub_x; x++)
                for (int ch = 0; ch < plane.channels; ch++) {
                    f->state = f->state * 1664525 + 1013904223;
                    uint8_t *row = (uint8_t *)plane.data + plane.stride * y;
                    row[x * plane.channels + ch] = (uint8_t)(f->state >> 24);
                }
    }
}

static void is_all(const struct fixture *f, int x0, int y0, int x1, int y1, int value)
{
    for (int p = 0; p < halo_format_planes(f->format); p++) {
        const struct halo_plane_info info = halo_format_plane_info(f->format, WIDTH, HEIGHT, p);
        const int channels = halo_format_plane(f->raw.frame, p).channels;
        for (int y = y0 >> info.log2_sub_y; y < y1 >> info.log2_sub_y; y++)
            for (int x = x0 >> info.log2_sub_x; x < x1 >> info.log2_sub_x; x++)
                for (int ch = 0; ch < channels; ch++)
                    assert_int_equal(out_at(f, p, ch, x, y), value);
    }
}

/* The mean of what no filter changes, which what is hidden does not move; gray if all is hidden. */
static void mean(void **state)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12};
    static const char *const chains[] = {
        "hide=color=mean:region=rect 20 10 48 48,gblur=sigma=9:region=rect 90 0 30 96",
        ("hide=cells:color=mean:least=40:region=rect 20 10 48 20,solid=region=rect 20 30 48 28,"
         "hide=color=mean:region=rect 20 30 48 28,gblur=sigma=9:region=rect 90 0 30 96"),
        "hide=color=mean:region=rect 20 10 48 48,gblur=sigma=9"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct fixture f = {.format = formats[i % 2]};
        begin(&f, chains[i / 2]);
        for (int k = 0; k < 4; k++) {
            const int value = k < 2 ? 200 : 90;
            fill_with(&f, value);
            scribble(&f, 20, 10, 68, 58);
            scribble(&f, 90, 0, 120, 96);
            pass(&f);
            if (i / 2 == 2)
                assert_int_not_equal(out_at(&f, 0, 0, 40, 30), value);
            else
                is_all(&f, 20, 10, 68, 58, value);
        }
        end(&f);
    }
}

/* With a detector: of each frame, with its shapes. */
static void mean_of_verdicts(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "hide=color=mean:region=faces");
    for (int k = 0; k < 5; k++) {
        struct halo_shape shape = {.kind = HALO_SHAPE_RECT,
                                   .x = {20 + 10 * k, 0},
                                   .y = {10, 0},
                                   .width = {48, 0},
                                   .height = {48, 0},
                                   .track = 0};
        const struct halo_verdict_shapes shapes = {&shape, 1};
        f.raw.verdict = halo_verdict_create();
        assert_int_equal(halo_verdict_set(f.raw.verdict, HALO_FIND_FACES, &shapes, NULL), 0);
        fill_with(&f, 50 + 20 * k);
        scribble(&f, 20 + 10 * k, 10, 68 + 10 * k, 58);
        pass(&f);
        is_all(&f, 0, 0, WIDTH, HEIGHT, 50 + 20 * k);
        halo_verdict_destroy(f.raw.verdict);
        f.raw.verdict = NULL;
    }
    end(&f);
}

static void refused(void **state)
{
    static const char *const chains[] = {
        "hide=cells",
        "hide=cells:region=background",
        "hide=cells:region=faces:invert=1",
        "hide=cells:region=rect 0 0 50% 50%:invert=1",
        "hide=cells:n=9:least=32:region=faces",
        "hide=cells:n=17:region=faces",
        "hide=cells:levels=1:region=faces",
        "hide=noise",
        "hide=noise:region=faces:invert=1",
        "hide=noise:epsilon=0:region=faces",
        "hide=noise:epsilon=0.0005:region=faces",
        "hide=noise:epsilon=1.0001:region=faces",
        "hide=noise:cells=16:least=32:region=faces",
        "hide=solid:color=random",
        "hide=solid:color=mean",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct halo_chain *chain;
        struct halo_error err = {0};
        if (halo_chain_parse(&chain, chains[i], &err) != -EINVAL)
            fail_msg("%s is accepted", chains[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freezes),  cmocka_unit_test(written),
        cmocka_unit_test(solid),    cmocka_unit_test(lost_and_found),
        cmocka_unit_test(verdicts), cmocka_unit_test(kept),
        cmocka_unit_test(several),  cmocka_unit_test(noise),
        cmocka_unit_test(mean),     cmocka_unit_test(mean_of_verdicts),
        cmocka_unit_test(refused),  cmocka_unit_test(own_frame_and_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
