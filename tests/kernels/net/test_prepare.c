/* SPDX-License-Identifier: BSD-2-Clause
 * Inputs of networks: every build computes what the definition says, for frames of every format and
 * size, and the definition is near what scaling in floating-point numbers gives. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/net/prepare.h"
#include "pipeline/base/display.h"
#include "tests/cmocka_all.h"

enum { LEVELS = 3, GUARD = 77, PAD = 5 };

static uint32_t lot = 1;

static uint32_t any(uint32_t below)
{
    lot = lot * 1664525u + 1013904223u;
    return (lot >> 8) % below;
}

static int between(int least, int most)
{
    return least + (int)any((uint32_t)(most - least + 1));
}

/* ---- frames ---- */

/* A frame in memory whose size is exact, so that sanitizers see what is read beyond it. */
struct frame {
    struct halo_prepare_format format;
    struct halo_prepare_component component[3];
    void *memory[3];
};

/* How the components are stored. */
struct storage {
    int channels, shift;      /* channels: of the planes with several components */
    bool upside_down, packed; /* packed: all components in one plane */
};

static int components_of(const struct frame *f)
{
    return f->format.kind == HALO_PREPARE_GRAY ? 1 : 3;
}

static void allocate(struct frame *f, int c, int width, int height, int channels,
                     const struct storage *s)
{
    const int bytes = f->format.depth > 8 ? 2 : 1;
    const ptrdiff_t stride = (ptrdiff_t)width * channels * bytes;
    char *memory = f->memory[c] = malloc((size_t)(stride * height));
    f->component[c].plane = (struct halo_plane){
        .data = s->upside_down ? memory + stride * (height - 1) : memory,
        .stride = s->upside_down ? -stride : stride,
        .width = width,
        .height = height,
        .channels = channels,
        .depth = f->format.depth,
        .shift = s->shift,
    };
}

static struct frame frame_create(const struct halo_prepare_format *format, const struct storage *s)
{
    struct frame f = {.format = *format};
    const int width = (format->width + format->step_x - 1) / format->step_x;
    const int height = (format->height + format->step_y - 1) / format->step_y;
    const bool interleaved = s->channels > 1;
    allocate(&f, 0, format->width, format->height, s->packed ? s->channels : 1, s);
    for (int c = 1; c < components_of(&f); c++) {
        if (s->packed || (c == 2 && interleaved)) {
            f.component[c] = f.component[c - 1];
            f.component[c].channel = c - !s->packed;
        } else {
            allocate(&f, c, width, height, interleaved ? s->channels : 1, s);
        }
    }
    return f;
}

static void frame_destroy(struct frame *f)
{
    for (int c = 0; c < 3; c++)
        free(f->memory[c]);
}

static void *word_at(const struct halo_plane *p, int i, int y)
{
    return (char *)p->data + p->stride * y + i * halo_plane_sample_bytes(p);
}

/* Fills all words of a plane, of which some have stray bits; or, if `value` is not negative, with
 * this sample. */
static void fill_plane(const struct halo_plane *p, int value)
{
    for (int y = 0; y < p->height; y++)
        for (int i = 0; i < p->width * p->channels; i++) {
            const uint32_t word = value < 0 ? any(1 << 16) : (uint32_t)value << p->shift;
            if (p->depth == 8)
                *(uint8_t *)word_at(p, i, y) = (uint8_t)word;
            else
                *(uint16_t *)word_at(p, i, y) = (uint16_t)word;
        }
}

static void fill(const struct frame *f, int value)
{
    for (int c = 0; c < components_of(f); c++)
        if (f->memory[c])
            fill_plane(&f->component[c].plane, value);
}

/* ---- copies ---- */

static struct halo_prepare_small small_create(int width, int height)
{
    struct halo_prepare_small ret = {.width = width, .height = height, .stride = width + PAD};
    const size_t size = (size_t)ret.stride * (size_t)height;
    for (int c = 0; c < 3; c++) {
        ret.plane[c] = malloc(size);
        memset(ret.plane[c], GUARD, size);
    }
    return ret;
}

static void small_destroy(struct halo_prepare_small *s)
{
    for (int c = 0; c < 3; c++)
        free(s->plane[c]);
}

static void compare_copies(const struct halo_prepare_small *got,
                           const struct halo_prepare_small *want)
{
    for (int c = 0; c < 3; c++)
        assert_memory_equal(got->plane[c], want->plane[c],
                            (size_t)want->stride * (size_t)want->height);
}

static void compare_builds(struct frame *f, int width, int height)
{
    struct halo_prepare_copy *copy = NULL;
    struct halo_prepare_small want = small_create(width, height);
    assert_int_equal(halo_prepare_copy_create(&copy, &f->format, width, height), 0);
    assert_int_equal(halo_prepare_copy_plainly(copy, f->component, &want), 0);
    for (int level = -1; level < LEVELS; level++) {
        struct halo_prepare_small got = small_create(width, height);
        const int code = level < 0 ? halo_prepare_copy_run(copy, f->component, &got)
                                   : halo_prepare_copy_as(level, copy, f->component, &got);
        if (code != -ENOTSUP) {
            assert_int_equal(code, 0);
            compare_copies(&got, &want);
        }
        small_destroy(&got);
    }
    small_destroy(&want);
    halo_prepare_copy_destroy(copy);
}

static struct halo_prepare_format any_format(int width, int height)
{
    static const int shares[][2] = {{2126, 722}, {2990, 1140}, {2627, 593}, {0, 0}, {5000, 2500}};
    const int *share = shares[any(5)];
    struct halo_prepare_format ret = {
        .width = width,
        .height = height,
        .depth = any(2) ? 8 : between(9, 16),
        .kind = (enum halo_prepare_kind)any(3),
        .step_x = 1,
        .step_y = 1,
        .full = any(2),
        .kr = share[0],
        .kb = share[1],
        .flip_x = any(2),
        .flip_y = any(2),
        .sideways = any(2),
    };
    if (ret.kind == HALO_PREPARE_YUV) {
        ret.step_x = 1 << any(3);
        ret.step_y = 1 << any(3);
    }
    return ret;
}

static struct storage any_storage(const struct halo_prepare_format *f)
{
    const bool even = f->step_x == 1 && f->step_y == 1;
    struct storage s = {.channels = 1,
                        .shift = f->depth > 8 ? between(0, 16 - f->depth) : 0,
                        .upside_down = any(2)};
    if (f->kind != HALO_PREPARE_GRAY && any(2)) {
        s.packed = even && any(2);
        s.channels = s.packed ? between(3, 4) : between(2, 4);
    }
    return s;
}

static void compare_any(int width, int height, int to_width, int to_height)
{
    const struct halo_prepare_format format = any_format(width, height);
    const struct storage storage = any_storage(&format);
    struct frame f = frame_create(&format, &storage);
    fill(&f, any(8) ? -1 : any(2) ? halo_sample_max(format.depth) : 0);
    compare_builds(&f, to_width, to_height);
    frame_destroy(&f);
}

static void copies(void **state)
{
    (void)state;
    lot = 1;
    for (int i = 0; i < 400; i++)
        compare_any(between(1, 90), between(1, 70), between(1, 60), between(1, 50));
    for (int i = 0; i < 20; i++)
        compare_any(between(300, 700), between(1, 40), between(1, 300), between(1, 8));
    compare_any(1, 1, 1, 1);
    compare_any(1, 1, 33, 17);
    compare_any(HALO_PREPARE_MAX_FRAME, 3, 5, 2);
    compare_any(3, HALO_PREPARE_MAX_FRAME, 2, 5);
    compare_any(HALO_PREPARE_MAX_FRAME, 1, 1, 1);
    compare_any(HALO_PREPARE_MAX_FRAME, 2, HALO_PREPARE_MAX_SIDE, 1);
    compare_any(2, 2, HALO_PREPARE_MAX_SIDE, 2);
    compare_any(2, 2, 2, HALO_PREPARE_MAX_SIDE);
}

static uint32_t hash_of(uint32_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return hash;
}

/* ---- what the numbers mean ---- */

/* The mean of the pixels from begin to end of a row of samples, each `step` pixels wide. */
static double mean_between(const double *sample, int step, double begin, double end)
{
    double sum = 0;
    for (int k = (int)(begin / step); k * step < end; k++)
        sum += sample[k] * (fmin(end, (k + 1) * step) - fmax(begin, k * step));
    return sum / (end - begin);
}

static double linear_at(const double *sample, int samples, double at)
{
    const double from = fmin(fmax(at, 0), samples - 1), below = floor(from);
    const int k = (int)below, next = k + 1 < samples ? k + 1 : k;
    return sample[k] + (sample[next] - sample[k]) * (from - below);
}

static void scale_by_floats(const double *sample, int pixels, int step, double *ret, int count)
{
    const double each = (double)pixels / count;
    for (int i = 0; i < count; i++)
        ret[i] = step * count <= pixels
                     ? mean_between(sample, step, i * each, (i + 1) * each)
                     : linear_at(sample, (pixels + step - 1) / step, (i + 0.5) * each / step - 0.5);
}

/* A gray row and a gray column of bytes have the values of the floating-point computation. */
static void filter(void **state)
{
    (void)state;
    lot = 2;
    for (int i = 0; i < 300; i++) {
        const bool along = any(2);
        const int pixels = between(1, 300), count = between(1, 200);
        const struct halo_prepare_format format = {.width = along ? 1 : pixels,
                                                   .height = along ? pixels : 1,
                                                   .depth = 8,
                                                   .step_x = 1,
                                                   .step_y = 1,
                                                   .full = true};
        struct frame f = frame_create(&format, &(struct storage){.channels = 1});
        struct halo_prepare_copy *copy = NULL;
        struct halo_prepare_small got = small_create(along ? 1 : count, along ? count : 1);
        double sample[300], want[200];
        fill(&f, -1);
        for (int k = 0; k < pixels; k++)
            sample[k] = ((const uint8_t *)f.memory[0])[k];
        scale_by_floats(sample, pixels, 1, want, count);
        assert_int_equal(halo_prepare_copy_create(&copy, &format, got.width, got.height), 0);
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), 0);
        for (int k = 0; k < count; k++)
            assert_true(fabs(got.plane[0][along ? k * got.stride : k] - want[k]) < 0.52);
        halo_prepare_copy_destroy(copy);
        small_destroy(&got);
        frame_destroy(&f);
    }
}

/* Chroma of 4:2:0 covers the pixels to which it belongs, also where a size is odd. */
static void chroma(void **state)
{
    (void)state;
    lot = 3;
    for (int i = 0; i < 200; i++) {
        const int step = 1 << any(3), pixels = between(1, 200), count = between(1, 150);
        const int samples = (pixels + step - 1) / step;
        const struct halo_prepare_format format = {.width = pixels,
                                                   .height = 1,
                                                   .depth = 8,
                                                   .kind = HALO_PREPARE_YUV,
                                                   .step_x = step,
                                                   .step_y = 1,
                                                   .full = true,
                                                   .kr = 2126,
                                                   .kb = 722};
        struct frame f = frame_create(&format, &(struct storage){.channels = 1});
        struct halo_prepare_copy *copy = NULL;
        struct halo_prepare_small got = small_create(count, 1);
        double sample[200], want[150];
        fill_plane(&f.component[0].plane, 128);
        fill_plane(&f.component[1].plane, 128);
        for (int k = 0; k < samples; k++) {
            ((uint8_t *)f.memory[2])[k] = (uint8_t)between(100, 150);
            sample[k] = ((uint8_t *)f.memory[2])[k];
        }
        scale_by_floats(sample, pixels, step, want, count);
        assert_int_equal(halo_prepare_copy_create(&copy, &format, count, 1), 0);
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), 0);
        for (int k = 0; k < count; k++) {
            const double red = 128 + 2 * (1 - 0.2126) * (want[k] - 128);
            assert_true(fabs(got.plane[0][k] - red) < 0.55);
        }
        halo_prepare_copy_destroy(copy);
        small_destroy(&got);
        frame_destroy(&f);
    }
}

/* Black, gray and white of every depth and range are 0, 128 and 255, and a colour is itself. */
static void levels(void **state)
{
    (void)state;
    for (int depth = 8; depth <= 16; depth++)
        for (int full = 0; full < 2; full++) {
            const int unit = 1 << (depth - 8), most = halo_sample_max(depth);
            const int black = full ? 0 : 16 * unit, white = full ? most : 235 * unit;
            const struct halo_prepare_format format = {.width = 9,
                                                       .height = 7,
                                                       .depth = depth,
                                                       .kind = HALO_PREPARE_YUV,
                                                       .step_x = 2,
                                                       .step_y = 2,
                                                       .full = full,
                                                       .kr = 2990,
                                                       .kb = 1140};
            const double y = 0.299 * 0.8 + 0.587 * 0.4 + 0.114 * 0.2;
            const double range = full ? most : 224 * unit;
            const int samples[][3] = {
                {black, 128 * unit, 128 * unit},
                {white, 128 * unit, 128 * unit},
                {(int)lrint(black + y * (white - black)),
                 (int)lrint(128 * unit + (0.2 - y) / 1.772 * range),
                 (int)lrint(128 * unit + (0.8 - y) / 1.402 * range)},
            };
            static const int want[][3] = {{0, 0, 0}, {255, 255, 255}, {204, 102, 51}};
            struct frame f = frame_create(&format, &(struct storage){.channels = 1});
            struct halo_prepare_copy *copy = NULL;
            struct halo_prepare_small got = small_create(5, 5);
            assert_int_equal(halo_prepare_copy_create(&copy, &format, 5, 5), 0);
            for (int k = 0; k < 3; k++) {
                for (int c = 0; c < 3; c++)
                    fill_plane(&f.component[c].plane, samples[k][c]);
                assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), 0);
                for (int c = 0; c < 3; c++)
                    for (int i = 0; i < 5; i++)
                        assert_true(abs(got.plane[c][i * got.stride + i] - want[k][c]) <=
                                    (k == 2 && depth == 8 ? 1 : 0));
            }
            halo_prepare_copy_destroy(copy);
            small_destroy(&got);
            frame_destroy(&f);
        }
}

/* Pixels are where players display them: as halo_detect_box_store() converts boxes back. */
static void turns(void **state)
{
    enum { WIDTH = 3, HEIGHT = 2 };
    (void)state;
    for (int turn = 0; turn < HALO_DISPLAYS; turn++) {
        const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
        const struct halo_prepare_format format = {.width = WIDTH,
                                                   .height = HEIGHT,
                                                   .depth = 8,
                                                   .step_x = 1,
                                                   .step_y = 1,
                                                   .full = true,
                                                   .flip_x = turn & HALO_DISPLAY_X,
                                                   .flip_y = turn & HALO_DISPLAY_Y,
                                                   .sideways = sideways};
        struct frame f = frame_create(&format, &(struct storage){.channels = 1});
        struct halo_prepare_copy *copy = NULL;
        struct halo_prepare_small got =
            small_create(sideways ? HEIGHT : WIDTH, sideways ? WIDTH : HEIGHT);
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            ((uint8_t *)f.memory[0])[i] = (uint8_t)i;
        assert_int_equal(halo_prepare_copy_create(&copy, &format, got.width, got.height), 0);
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), 0);
        for (int y = 0; y < got.height; y++)
            for (int x = 0; x < got.width; x++) {
                int i = sideways ? y : x, k = sideways ? x : y;
                i = turn & HALO_DISPLAY_X ? WIDTH - 1 - i : i;
                k = turn & HALO_DISPLAY_Y ? HEIGHT - 1 - k : k;
                assert_int_equal(got.plane[0][y * got.stride + x], k * WIDTH + i);
            }
        halo_prepare_copy_destroy(copy);
        small_destroy(&got);
        frame_destroy(&f);
    }
}

/* ---- inputs ---- */

/* One statement for each number: their order must be the same with every compiler. */
static struct halo_prepare_look any_look(void)
{
    struct halo_prepare_look l = {0};
    l.width = between(1, 90);
    l.height = between(1, 70);
    l.part_width = between(1, 90);
    l.part_height = between(1, 60);
    l.mirror = any(2) ? 0 : between(1, 40);
    l.fill = between(0, 255);
    l.bgr = any(2);
    l.inside[2] = between(1, l.width);
    l.inside[3] = between(1, l.height);
    if (any(2) && l.part_width <= l.width && l.part_height <= l.height) {
        l.inside[2] = l.part_width;
        l.inside[3] = l.part_height;
    }
    l.inside[0] = between(0, l.width - l.inside[2]);
    l.inside[1] = between(0, l.height - l.inside[3]);
    for (int c = 0; c < 3; c++) {
        l.scale[c] = any(2) ? 1 / 127.5F : (float)between(-3000, 3000) / 777;
        l.offset[c] = any(2) ? -1 : (float)between(-3000, 3000) / 7;
    }
    return l;
}

static void fill_small(const struct halo_prepare_small *s)
{
    for (int c = 0; c < 3; c++)
        for (ptrdiff_t i = 0; i < s->stride * s->height; i++)
            s->plane[c][i] = (uint8_t)any(256);
}

static void compare_inputs(const struct halo_prepare_look *l, uint32_t *hash)
{
    const int x = between(0, 5), y = between(0, 5), at[] = {x, y};
    const int width = l->part_width + x + between(0, 4);
    const int height = l->part_height + y + between(0, 4);
    const int outside[][2] = {
        {-1, 0}, {0, -1}, {width - l->part_width + 1, 0}, {0, height - l->part_height + 1}};
    const size_t stride = (size_t)l->width * (size_t)l->height + any(20);
    const size_t size = 3 * stride * sizeof(float);
    struct halo_prepare_small small = small_create(width, height);
    struct halo_prepare_input *input = NULL;
    float *want = malloc(size), *got = malloc(size);
    fill_small(&small);
    assert_int_equal(halo_prepare_input_create(&input, l), 0);
    memset(want, GUARD, size);
    assert_int_equal(halo_prepare_input_plainly(input, &small, at, want, stride), 0);
    for (int level = -1; level < LEVELS; level++) {
        memset(got, GUARD, size);
        const int code = level < 0 ? halo_prepare_input_run(input, &small, at, got, stride)
                                   : halo_prepare_input_as(level, input, &small, at, got, stride);
        if (code == -ENOTSUP)
            continue;
        assert_int_equal(code, 0);
        assert_memory_equal(got, want, size);
    }
    for (int c = 0; c < 3; c++)
        *hash = hash_of(*hash, want + (size_t)c * stride,
                        (size_t)l->width * (size_t)l->height * sizeof *want);
    for (int i = 0; i < 4; i++)
        assert_int_equal(halo_prepare_input_run(input, &small, outside[i], got, stride), -EINVAL);
    halo_prepare_input_destroy(input);
    small_destroy(&small);
    free(want);
    free(got);
}

static void inputs(void **state)
{
    uint32_t hash = 2166136261u;
    (void)state;
    lot = 4;
    for (int i = 0; i < 500; i++) {
        const struct halo_prepare_look look = any_look();
        compare_inputs(&look, &hash);
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    assert_int_equal(hash, 0x8c9e3354); /* on every machine and with every compiler */
#endif
}

/* What the networks of today read: the bytes themselves, mirrored edges, then black. */
static void margins(void **state)
{
    static const struct halo_prepare_look look = {.width = 12,
                                                  .height = 2,
                                                  .part_width = 4,
                                                  .part_height = 1,
                                                  .inside = {3, 1, 4, 1},
                                                  .mirror = 2,
                                                  .fill = 0,
                                                  .scale = {1, 1, 1 / 255.F},
                                                  .offset = {0, -100, 0}};
    static const float want[24] = {0, 20, 10, 10, 20, 30, 40, 40, 30, 0, 0, 0,
                                   0, 20, 10, 10, 20, 30, 40, 40, 30, 0, 0, 0};
    struct halo_prepare_small small = small_create(4, 1);
    struct halo_prepare_input *input = NULL;
    float got[3 * 24];
    (void)state;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 4; i++)
            small.plane[c][i] = (uint8_t)(10 + 10 * i);
    assert_int_equal(halo_prepare_input_create(&input, &look), 0);
    assert_int_equal(halo_prepare_input_run(input, &small, (const int[]){0, 0}, got, 24), 0);
    for (int i = 0; i < 24; i++) {
        assert_true(got[i] == want[i]);
        assert_true(got[24 + i] == want[i] - 100);
        assert_true(got[48 + i] == want[i] * (1 / 255.F));
    }
    halo_prepare_input_destroy(input);
    small_destroy(&small);
}

/* ---- what is refused ---- */

static int try_size(struct halo_prepare_format format, int width, int height)
{
    struct halo_prepare_copy *copy = NULL;
    const int code = halo_prepare_copy_create(&copy, &format, width, height);
    halo_prepare_copy_destroy(copy);
    return code;
}

static int try_format(struct halo_prepare_format format)
{
    return try_size(format, 5, 5);
}

static int try_look(struct halo_prepare_look look)
{
    struct halo_prepare_input *input = NULL;
    const int code = halo_prepare_input_create(&input, &look);
    halo_prepare_input_destroy(input);
    return code;
}

/* With this value of one member. */
#define REFUSED(try, good, member, value)                                                          \
    do {                                                                                           \
        __typeof__(good) bad_ = good;                                                              \
        bad_.member = value;                                                                       \
        assert_int_equal(try(bad_), -EINVAL);                                                      \
    } while (0)

static void refused_formats(void **state)
{
    struct halo_prepare_format good = {.width = 8,
                                       .height = 8,
                                       .depth = 8,
                                       .kind = HALO_PREPARE_YUV,
                                       .step_x = 2,
                                       .step_y = 2,
                                       .kr = 2126,
                                       .kb = 722};
    (void)state;
    assert_int_equal(try_format(good), 0);
    REFUSED(try_format, good, width, 0);
    REFUSED(try_format, good, width, HALO_PREPARE_MAX_FRAME + 1);
    REFUSED(try_format, good, height, -1);
    REFUSED(try_format, good, height, HALO_PREPARE_MAX_FRAME + 1);
    REFUSED(try_format, good, depth, 7);
    REFUSED(try_format, good, depth, 17);
    REFUSED(try_format, good, kind, (enum halo_prepare_kind)3);
    REFUSED(try_format, good, step_x, 0);
    REFUSED(try_format, good, step_x, 3);
    REFUSED(try_format, good, step_y, 8);
    REFUSED(try_format, good, kr, 5001);
    REFUSED(try_format, good, kb, -1);
    good.kr = 5000;
    REFUSED(try_format, good, kb, 2501);
    good.kind = HALO_PREPARE_RGB; /* has no subsampling */
    assert_int_equal(try_format(good), -EINVAL);
    good.step_x = good.step_y = 1;
    assert_int_equal(try_format(good), 0);
    assert_int_equal(try_size(good, 0, 5), -EINVAL);
    assert_int_equal(try_size(good, 5, HALO_PREPARE_MAX_SIDE + 1), -EINVAL);
}

static void refused_looks(void **state)
{
    struct halo_prepare_look good = {.width = 8,
                                     .height = 8,
                                     .part_width = 4,
                                     .part_height = 4,
                                     .inside = {2, 2, 6, 6},
                                     .scale = {1, 1, 1}};
    (void)state;
    assert_int_equal(try_look(good), 0);
    REFUSED(try_look, good, width, 0);
    REFUSED(try_look, good, height, HALO_PREPARE_MAX_SIDE + 1);
    REFUSED(try_look, good, part_width, 0);
    REFUSED(try_look, good, part_height, HALO_PREPARE_MAX_SIDE + 1);
    REFUSED(try_look, good, inside[0], -1);
    REFUSED(try_look, good, inside[1], 3);
    REFUSED(try_look, good, inside[1], INT32_MAX);
    REFUSED(try_look, good, inside[2], 7);
    REFUSED(try_look, good, inside[3], 0);
    REFUSED(try_look, good, mirror, -1);
    REFUSED(try_look, good, mirror, HALO_PREPARE_MAX_SIDE + 1);
    REFUSED(try_look, good, fill, 256);
    REFUSED(try_look, good, scale[1], NAN);
    REFUSED(try_look, good, offset[2], INFINITY);
}

/* A frame that is not what was planned. */
static void refused_frames(void **state)
{
    const struct halo_prepare_format format = {.width = 9,
                                               .height = 7,
                                               .depth = 8,
                                               .kind = HALO_PREPARE_YUV,
                                               .step_x = 2,
                                               .step_y = 2,
                                               .kr = 2126,
                                               .kb = 722};
    struct frame f = frame_create(&format, &(struct storage){.channels = 2});
    struct halo_prepare_copy *copy = NULL;
    struct halo_prepare_small got = small_create(4, 4), other = small_create(4, 5);
    (void)state;
    fill(&f, 0);
    assert_int_equal(halo_prepare_copy_create(&copy, &format, 4, 4), 0);
    assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), 0);
    assert_int_equal(halo_prepare_copy_run(copy, f.component, &other), -EINVAL);
    for (int c = 0; c < 3; c++) {
        const struct halo_prepare_component good = f.component[c];
        f.component[c].plane.width--;
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), -EINVAL);
        f.component[c] = good;
        f.component[c].plane.height--;
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), -EINVAL);
        f.component[c] = good;
        f.component[c].plane.depth = 10;
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), -EINVAL);
        f.component[c] = good;
        f.component[c].channel = good.plane.channels;
        assert_int_equal(halo_prepare_copy_run(copy, f.component, &got), -EINVAL);
        f.component[c] = good;
    }
    halo_prepare_copy_destroy(copy);
    small_destroy(&got);
    small_destroy(&other);
    frame_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),        cmocka_unit_test(filter),
        cmocka_unit_test(chroma),        cmocka_unit_test(levels),
        cmocka_unit_test(turns),         cmocka_unit_test(inputs),
        cmocka_unit_test(margins),       cmocka_unit_test(refused_formats),
        cmocka_unit_test(refused_looks), cmocka_unit_test(refused_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
