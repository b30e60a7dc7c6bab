/* SPDX-License-Identifier: BSD-2-Clause
 * Frames for detectors: their colours, place and orientation, and the memory that they are in. */
#include <errno.h>
#include <fcntl.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/base/display.h"
#include "pipeline/detect/detect_frame.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/raw_frame_private.h"
#include "tests/cmocka_all.h"

/* ---- frames whose colours are known ---- */

struct colour {
    double r, g, b; /* 0 to 1 */
};

/* No two corners look alike, so no orientation looks like another. */
static struct colour slope(double x, double y)
{
    return (struct colour){0.15 + 0.7 * x, 0.85 - 0.6 * y, 0.3 + 0.3 * x * y};
}

static struct colour flat(double x, double y)
{
    (void)x, (void)y;
    return (struct colour){0.8, 0.4, 0.2};
}

/* A bright rectangle on dark ground: from 60 to 80 % of the width and 10 to 20 % of the height. */
static struct colour spot(double x, double y)
{
    const bool in = x > 0.6 && x < 0.8 && y > 0.1 && y < 0.2;
    return in ? (struct colour){1, 1, 1} : (struct colour){0, 0, 0};
}

typedef struct colour (*painter)(double x, double y);

/* swscale's fast conversions are up to 4 code values too dark, and slopes have steps. A wrong
 * matrix or range makes a larger difference. */
#define SLIP 7

/* The value of a component, 0 to 1, as written to a format. */
static double component(struct colour c, int index, const struct halo_plane_colours *as)
{
    if (as->rgb)
        return index == 0 ? c.r : index == 1 ? c.g : c.b;
    const double y = as->kr * c.r + (1 - as->kr - as->kb) * c.g + as->kb * c.b;
    const double v = index == 0   ? y
                     : index == 1 ? (c.b - y) / (2 - 2 * as->kb)
                                  : (c.r - y) / (2 - 2 * as->kr);
    if (as->full)
        return index == 0 ? v : v + 0.5;
    return index == 0 ? (16 + 219 * v) / 255 : (128 + 224 * v) / 255;
}

static void write_sample(AVFrame *frame, const AVComponentDescriptor *c, int at[2], double value)
{
    const int depth = c->depth, most = (1 << depth) - 1;
    /* limited range and the middle of chroma are multiples of 256ths, not of 255ths */
    const double scaled = value * 255 * (1 << (depth - 8));
    const int sample = (int)lrint(fmin(scaled, most)) << c->shift;
    uint8_t *to = frame->data[c->plane] + (ptrdiff_t)at[1] * frame->linesize[c->plane] +
                  (ptrdiff_t)at[0] * c->step + c->offset;
    to[0] = (uint8_t)sample;
    if (depth + c->shift > 8)
        to[1] = (uint8_t)(sample >> 8);
}

static struct halo_raw_frame *paint_frame(enum AVPixelFormat format, int width, int height,
                                          const int traits[3], painter paint)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    raw->frame = av_frame_alloc();
    raw->frame->format = raw->format = format;
    raw->frame->width = width;
    raw->frame->height = height;
    raw->frame->colorspace = traits[0];
    raw->frame->color_range = traits[1];
    raw->turn = traits[2];
    assert_int_equal(av_frame_get_buffer(raw->frame, 0), 0);
    const struct halo_plane_colours as = halo_format_colours(format, traits[0], traits[1]);
    for (int c = 0; c < d->nb_components && c < 3; c++) {
        const bool chroma = !as.rgb && c > 0;
        const int sub_x = chroma ? d->log2_chroma_w : 0, sub_y = chroma ? d->log2_chroma_h : 0;
        for (int y = 0; y < AV_CEIL_RSHIFT(height, sub_y); y++)
            for (int x = 0; x < AV_CEIL_RSHIFT(width, sub_x); x++) {
                const double u = fmin((x + 0.5) * (1 << sub_x) / width, 1);
                const double v = fmin((y + 0.5) * (1 << sub_y) / height, 1);
                write_sample(raw->frame, &d->comp[c], (int[]){x, y},
                             component(paint(u, v), c, &as));
            }
    }
    return raw;
}

/* ---- frames as a detector gets them ---- */

static struct halo_detect_frame *frame_;
static struct halo_detect_made made;
static uint8_t sent[HALO_DETECT_MAX_SIDE * HALO_DETECT_MAX_SIDE * 3];

static struct halo_detect_ready ready(int width, int height, enum AVPixelFormat format)
{
    return (struct halo_detect_ready){
        .name = "test", .width = width, .height = height, .format = format};
}

static void check_memory(int fd, size_t size)
{
    struct stat st;
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    assert_int_equal(fcntl(fd, F_GET_SEALS) & all, all);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, size);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_true(mmap(NULL, size, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void make(const struct halo_raw_frame *raw, const struct halo_detect_ready *as)
{
    struct halo_error err = {0};
    const size_t size = halo_detect_ready_bytes(as);
    const int code = halo_detect_frame_make(frame_, raw, as, &made, &err);
    if (code < 0)
        fail_msg("%s: %s", av_get_pix_fmt_name(raw->format), err.text);
    check_memory(made.memfd, size);
    assert_int_equal(pread(made.memfd, sent, size, 0), size);
    close(made.memfd);
    const int *in = made.inside;
    assert_true(in[0] >= 0 && in[1] >= 0 && in[2] > 0 && in[3] > 0);
    assert_true(in[0] + in[2] <= as->width && in[1] + in[3] <= as->height);
    assert_true(abs(as->width - 2 * in[0] - in[2]) <= 1);
    assert_true(abs(as->height - 2 * in[1] - in[3]) <= 1);
    const int bytes = as->format == AV_PIX_FMT_GRAY8 ? 1 : 3;
    for (int y = 0; y < as->height; y++)
        for (int x = 0; x < as->width; x++) {
            const bool inside = x >= in[0] && x < in[0] + in[2] && y >= in[1] && y < in[1] + in[3];
            for (int c = 0; c < bytes && !inside; c++)
                assert_int_equal(sent[((size_t)y * as->width + x) * bytes + c], 0);
        }
}

/* Where a place of the frame as displayed lies in the frame as stored. */
static void find_stored(int turn, double shown_x, double shown_y, double *x, double *y)
{
    *x = turn & HALO_DISPLAY_SIDEWAYS ? shown_y : shown_x;
    *y = turn & HALO_DISPLAY_SIDEWAYS ? shown_x : shown_y;
    *x = turn & HALO_DISPLAY_X ? 1 - *x : *x;
    *y = turn & HALO_DISPLAY_Y ? 1 - *y : *y;
}

static double luma(struct colour c, const struct halo_plane_colours *as)
{
    return as->kr * c.r + (1 - as->kr - as->kb) * c.g + as->kb * c.b;
}

/* Compares what was sent with what was painted. */
static void check_colours(const struct halo_raw_frame *raw, const struct halo_detect_ready *as,
                          painter paint, double slip)
{
    const AVFrame *f = raw->frame;
    const struct halo_plane_colours colours =
        halo_format_colours(f->format, f->colorspace, f->color_range);
    const bool gray = av_pix_fmt_desc_get(f->format)->nb_components == 1;
    const int *in = made.inside;
    for (int y = 0; y < in[3]; y++)
        for (int x = 0; x < in[2]; x++) {
            double u, v;
            find_stored(raw->turn, (x + 0.5) / in[2], (y + 0.5) / in[3], &u, &v);
            struct colour c = paint(u, v);
            if (gray || as->format == AV_PIX_FMT_GRAY8)
                c.r = c.g = c.b = luma(c, &colours);
            const double wanted[3] = {as->format == AV_PIX_FMT_BGR24 ? c.b : c.r, c.g,
                                      as->format == AV_PIX_FMT_BGR24 ? c.r : c.b};
            const int bytes = as->format == AV_PIX_FMT_GRAY8 ? 1 : 3;
            const uint8_t *is = sent + ((size_t)(in[1] + y) * as->width + in[0] + x) * bytes;
            for (int i = 0; i < bytes; i++)
                if (fabs(is[i] - 255 * wanted[i]) > slip)
                    fail_msg("%s matrix %d range %d turn %d %dx%d: byte %d of %d,%d is %d, not %g",
                             av_get_pix_fmt_name(f->format), f->colorspace, f->color_range,
                             raw->turn, f->width, f->height, i, x, y, is[i], 255 * wanted[i]);
        }
}

static const enum AVPixelFormat formats[] = {
    AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10,    AV_PIX_FMT_GRAY12,    AV_PIX_FMT_YUV420P,
    AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10,
    AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV444P12,
    AV_PIX_FMT_GBRP,      AV_PIX_FMT_GBRP10,    AV_PIX_FMT_GBRP12,    AV_PIX_FMT_NV12,
    AV_PIX_FMT_P010,      AV_PIX_FMT_YUVJ420P,  AV_PIX_FMT_YUVJ422P,  AV_PIX_FMT_YUVJ444P,
    AV_PIX_FMT_RGB24,     AV_PIX_FMT_BGR0,      AV_PIX_FMT_YUYV422,   AV_PIX_FMT_UYVY422,
    AV_PIX_FMT_NV21,      AV_PIX_FMT_YUV411P,   AV_PIX_FMT_YUV440P,
};
enum { FORMATS = sizeof formats / sizeof *formats };

static void test_formats(void **state)
{
    static const int traits[][3] = {
        {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, 0},        {AVCOL_SPC_BT709, AVCOL_RANGE_JPEG, 0},
        {AVCOL_SPC_SMPTE170M, AVCOL_RANGE_MPEG, 0},    {AVCOL_SPC_BT2020_NCL, AVCOL_RANGE_MPEG, 0},
        {AVCOL_SPC_BT709, AVCOL_RANGE_UNSPECIFIED, 0},
    };
    static const enum AVPixelFormat as[] = {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_GRAY8};
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int t = 0; t < 5; t++)
            for (int k = 0; k < 3; k++) {
                struct halo_raw_frame *raw = paint_frame(formats[i], 400, 226, traits[t], slope);
                const struct halo_detect_ready to = ready(96, 64, as[k]);
                make(raw, &to);
                assert_int_equal(made.inside[2], 96);
                assert_int_equal(made.inside[3], 54);
                check_colours(raw, &to, slope, SLIP);
                halo_raw_frame_destroy(raw);
            }
}

/* Makes a copy of a frame for networks, in place of what is sent to a detector. */
static void make_copy(const struct halo_raw_frame *raw, int width, int height)
{
    struct halo_prepare_format format;
    struct halo_prepare_component component[3];
    struct halo_prepare_copy *copy = NULL;
    const size_t pixels = (size_t)width * (size_t)height;
    struct halo_prepare_small small = {.stride = width, .width = width, .height = height};
    for (int c = 0; c < 3; c++)
        small.plane[c] = malloc(pixels);
    assert_int_equal(halo_format_prepare(raw->frame, raw->format, raw->turn, &format, component),
                     0);
    assert_int_equal(halo_prepare_copy_create(&copy, &format, width, height), 0);
    assert_int_equal(halo_prepare_copy_run(copy, component, &small), 0);
    halo_prepare_copy_destroy(copy);
    memcpy(made.inside, (const int[]){0, 0, width, height}, sizeof made.inside);
    for (int c = 0; c < 3; c++) {
        for (size_t i = 0; i < pixels; i++)
            sent[3 * i + (size_t)c] = small.plane[c][i];
        free(small.plane[c]);
    }
}

/* Copies for networks are nearer to what was painted than what swscale makes. */
static void test_copies(void **state)
{
    static const enum AVColorSpace spaces[] = {AVCOL_SPC_BT709, AVCOL_SPC_SMPTE170M,
                                               AVCOL_SPC_BT2020_NCL, AVCOL_SPC_UNSPECIFIED};
    static const enum AVColorRange ranges[] = {AVCOL_RANGE_MPEG, AVCOL_RANGE_JPEG,
                                               AVCOL_RANGE_UNSPECIFIED};
    (void)state;
    for (int i = 0; i < FORMATS; i++)
        for (int k = 0; k < 12 * HALO_DISPLAYS; k++) {
            const int turn = k / 12;
            const int traits[3] = {spaces[k % 4], ranges[k % 3], turn};
            struct halo_raw_frame *raw = paint_frame(formats[i], 100, 58, traits, slope);
            const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
            const struct halo_detect_ready to =
                ready(sideways ? 29 : 50, sideways ? 50 : 29, AV_PIX_FMT_RGB24);
            make_copy(raw, to.width, to.height);
            check_colours(raw, &to, slope, 3);
            halo_raw_frame_destroy(raw);
        }
}

static void test_copies_refused(void **state)
{
    static const enum AVPixelFormat other[] = {
        AV_PIX_FMT_PAL8,        AV_PIX_FMT_MONOWHITE, AV_PIX_FMT_RGB565,
        AV_PIX_FMT_BAYER_RGGB8, AV_PIX_FMT_GBRPF32LE, AV_PIX_FMT_CUDA,
        AV_PIX_FMT_RGB48LE,     AV_PIX_FMT_GRAY16BE,  AV_PIX_FMT_NONE};
    struct halo_prepare_format format;
    struct halo_prepare_component component[3];
    AVFrame *frame = av_frame_alloc();
    (void)state;
    frame->width = frame->height = 16;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const int code = halo_format_prepare(frame, other[i], 0, &format, component);
        assert_int_equal(code, other[i] == AV_PIX_FMT_RGB48LE ? 0 : -ENOTSUP);
    }
    assert_int_equal(component[2].plane.channels, 3);
    assert_int_equal(component[2].channel, 2);
    for (enum AVPixelFormat f = 0; av_pix_fmt_desc_get(f); f++)
        if (halo_format_is_native(f))
            assert_int_equal(halo_format_prepare(frame, f, 0, &format, component), 0);
    av_frame_free(&frame);
}

static void test_turns(void **state)
{
    (void)state;
    for (int turn = 0; turn < HALO_DISPLAYS; turn++)
        for (int tall = 0; tall < 2; tall++) {
            const int traits[3] = {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, turn};
            struct halo_raw_frame *raw =
                paint_frame(AV_PIX_FMT_YUV420P, tall ? 200 : 320, tall ? 320 : 200, traits, slope);
            for (int k = 0; k < 3; k++) {
                const struct halo_detect_ready to = ready(k == 1 ? 160 : 80, k == 2 ? 160 : 80,
                                                          k ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_GRAY8);
                make(raw, &to);
                assert_int_equal(made.turn, turn);
                check_colours(raw, &to, slope, SLIP);
            }
            halo_raw_frame_destroy(raw);
        }
}

/* The bright place of what was sent, relative to the frame without padding. */
static struct halo_detect_box find_bright(const struct halo_detect_ready *as)
{
    const int *in = made.inside;
    int x0 = in[2], y0 = in[3], x1 = 0, y1 = 0;
    for (int y = 0; y < in[3]; y++)
        for (int x = 0; x < in[2]; x++)
            if (sent[(size_t)(in[1] + y) * as->width + in[0] + x] > 127) {
                x0 = x < x0 ? x : x0;
                y0 = y < y0 ? y : y0;
                x1 = x + 1 > x1 ? x + 1 : x1;
                y1 = y + 1 > y1 ? y + 1 : y1;
            }
    assert_true(x0 < x1);
    return (struct halo_detect_box){(float)x0 / in[2], (float)y0 / in[3], (float)(x1 - x0) / in[2],
                                    (float)(y1 - y0) / in[3], 0.5f};
}

static void check_stored_mask(int width, int height, int turn)
{
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    uint8_t *stored = malloc((size_t)width * height);
    halo_detect_mask_store(stored, sent, width, height, turn);
    const int across = sideways ? height : width, down = sideways ? width : height;
    for (int y = 0; y < down; y++)
        for (int x = 0; x < across; x++) {
            const double u = (x + 0.5) / across, v = (y + 0.5) / down;
            if (fabs(u - 0.7) < 0.08 && fabs(v - 0.15) < 0.03)
                assert_in_range(stored[y * across + x], 200, 255);
            if (fabs(u - 0.7) > 0.12 || fabs(v - 0.15) > 0.07)
                assert_in_range(stored[y * across + x], 0, 50);
        }
    free(stored);
}

/* What a detector finds in the frame as displayed lies there in the frame as stored. */
static void test_answers(void **state)
{
    (void)state;
    for (int turn = 0; turn < HALO_DISPLAYS; turn++) {
        const int traits[3] = {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, turn};
        struct halo_raw_frame *raw = paint_frame(AV_PIX_FMT_YUV420P, 800, 400, traits, spot);
        const struct halo_detect_ready square = ready(200, 200, AV_PIX_FMT_GRAY8);
        make(raw, &square);
        const struct halo_detect_box box = halo_detect_box_store(find_bright(&square), turn);
        assert_true(fabs(box.x - 0.6) < 0.02 && fabs(box.width - 0.2) < 0.02);
        assert_true(fabs(box.y - 0.1) < 0.02 && fabs(box.height - 0.1) < 0.02);
        assert_true(box.score == 0.5f);
        const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
        const struct halo_detect_ready same =
            ready(sideways ? 100 : 200, sideways ? 200 : 100, AV_PIX_FMT_GRAY8);
        make(raw, &same);
        assert_int_equal(made.inside[2], same.width);
        assert_int_equal(made.inside[3], same.height);
        check_stored_mask(same.width, same.height, turn);
        halo_raw_frame_destroy(raw);
    }
}

static void test_sizes(void **state)
{
    static const int sizes[][2] = {{1, 1},   {2, 2},       {1, 64},    {3, 1},    {7, 5},
                                   {17, 13}, {16384, 2},   {2, 8192},  {33, 31},  {65, 49},
                                   {96, 54}, {1921, 1081}, {4096, 16}, {639, 477}};
    static const int targets[][2] = {{16, 16}, {2048, 16}, {16, 2048}, {97, 55}, {101, 203}};
    static const int traits[3] = {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, 0};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct halo_raw_frame *raw =
            paint_frame(AV_PIX_FMT_YUV420P, sizes[i][0], sizes[i][1], traits, flat);
        for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
            for (int turn = 0; turn < HALO_DISPLAYS; turn += 5) {
                const struct halo_detect_ready to =
                    ready(targets[k][0], targets[k][1], AV_PIX_FMT_RGB24);
                raw->turn = turn;
                make(raw, &to);
                /* its filters for thousands of pixels are less precise */
                check_colours(raw, &to, flat, sizes[i][0] + sizes[i][1] > 4000 ? 14 : SLIP);
            }
        halo_raw_frame_destroy(raw);
    }
}

/* Pixels that are not square become square. */
static void test_pixel_ratio(void **state)
{
    static const int traits[3] = {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, 0};
    static const struct {
        AVRational pixel;
        int turn, width, height;
    } cases[] = {
        {{0, 1}, 0, 100, 80},         {{1, 1}, 0, 100, 80},
        {{64, 45}, 0, 100, 56},       {{1, 2}, 0, 63, 100},
        {{64, 45}, 5, 56, 100},       {{1, 1000}, 0, 100, 80},
        {{INT32_MAX, 1}, 0, 100, 80}, {{-4, 3}, 0, 100, 80},
        {{4, 0}, 0, 100, 80},         {{2000000000, 1000000000}, 0, 100, 40},
    };
    const struct halo_detect_ready to = ready(100, 100, AV_PIX_FMT_GRAY8);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct halo_raw_frame *raw = paint_frame(AV_PIX_FMT_YUV420P, 720, 576, traits, slope);
        raw->frame->sample_aspect_ratio = cases[i].pixel;
        raw->turn = cases[i].turn;
        make(raw, &to);
        assert_int_equal(made.inside[2], cases[i].width);
        assert_int_equal(made.inside[3], cases[i].height);
        check_colours(raw, &to, slope, SLIP);
        halo_raw_frame_destroy(raw);
    }
}

static void test_thumbnail(void **state)
{
    static const int sizes[][2] = {{16, 16}, {64, 36}, {200, 200}, {640, 360}};
    (void)state;
    for (int turn = 0; turn < HALO_DISPLAYS; turn += 3)
        for (int i = 0; i < 12; i++) {
            const int traits[3] = {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, turn};
            static const enum AVPixelFormat as[] = {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24,
                                                    AV_PIX_FMT_GRAY8};
            struct halo_raw_frame *raw = paint_frame(AV_PIX_FMT_YUV420P, 640, 360, traits, slope);
            const struct halo_detect_ready to = ready(sizes[i / 3][0], sizes[i / 3][1], as[i % 3]);
            const struct halo_plane_colours colours =
                halo_format_colours(AV_PIX_FMT_YUV420P, traits[0], traits[1]);
            make(raw, &to);
            for (int y = 0; y < HALO_CUT_HEIGHT; y++)
                for (int x = 0; x < HALO_CUT_WIDTH; x++) {
                    double u, v;
                    find_stored(turn, (x + 0.5) / HALO_CUT_WIDTH, (y + 0.5) / HALO_CUT_HEIGHT, &u,
                                &v);
                    const double wanted = 255 * luma(slope(u, v), &colours);
                    /* 16 pixels have large steps */
                    const double slip = i < 3 ? 14 : SLIP;
                    assert_true(fabs(made.thumbnail[y * HALO_CUT_WIDTH + x] - wanted) <= slip);
                }
            halo_raw_frame_destroy(raw);
        }
}

static void test_ambiguous(void **state)
{
    static const int traits[3] = {AVCOL_SPC_BT709, AVCOL_RANGE_MPEG, HALO_DISPLAY_UNKNOWN};
    struct halo_raw_frame *raw = paint_frame(AV_PIX_FMT_YUV420P, 64, 64, traits, slope);
    const struct halo_detect_ready to = ready(64, 64, AV_PIX_FMT_GRAY8);
    struct halo_error err = {0};
    (void)state;
    made.memfd = -7;
    assert_int_equal(halo_detect_frame_make(frame_, raw, &to, &made, &err), -ENOTSUP);
    assert_int_equal(made.memfd, -7);
    assert_non_null(strstr(err.text, "ambiguous"));
    halo_raw_frame_destroy(raw);
}

static int set_up(void **state)
{
    (void)state;
    return halo_detect_frame_create(&frame_, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    halo_detect_frame_destroy(frame_);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_refused), cmocka_unit_test(test_turns),
        cmocka_unit_test(test_answers),        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_pixel_ratio),    cmocka_unit_test(test_thumbnail),
        cmocka_unit_test(test_ambiguous),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
