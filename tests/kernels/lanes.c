/* SPDX-License-Identifier: BSD-2-Clause
 * Frames in flight: chains of steps over several planes, on several lanes at once, against the
 * same steps one by one by the reference; the same samples, or it fails. On a GPU some frames begin
 * or end in its memory, aligned for kernels or not, and some planes are gathered from others. First
 * come frames with as many masks of regions as a chain can have, in every subsampling.
 *
 * With --skip-steps, in builds with faults and of one backend, instead: frames of which a step does
 * not run.
 *
 *     kernels-lanes [--backend NAME] [--seed N] [--frames N] [--skip-steps] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/fault.h"
#include "kernels/frame.h"
#include "kernels/gather.h"
#include "tests/kernels/device_memory.h"
#include "tests/kernels/masks.h"
#include "tests/kernels/picture.h"
#include "tests/kernels/regions.h"

enum {
    LANES = 3,
    MAX_STEPS = 32, /* the filters of a chain (HALO_MAX_FILTERS) */
    FEW_STEPS = 4,
    MAX_COST = 30000000,
    KNOWN = 48, /* regions with a number: more than a lane keeps */
    KNOWN_WIDTH = 208,
    KNOWN_HEIGHT = 80,
};

static const struct format formats[] = {{8, 1, 0}, {8, 2, 0}, {10, 1, 0}, {10, 2, 6}, {12, 1, 0}};

struct plane_test {
    struct picture src, want;
    struct picture spread;            /* gather > 0: what src is gathered from */
    int gather, channel;              /* samples apart, and which of them */
    struct halo_plane at_src, at_dst; /* in the memory that the backend sees */
    char *memory_src, *memory_dst;
    char *device_src, *device_dst; /* NULL: on the host */
    struct halo_conv conv[MAX_STEPS];
    struct halo_step step[MAX_STEPS];
    struct test_region *own[MAX_STEPS];          /* a region that ends with the frame; or NULL */
    const struct test_region *region[MAX_STEPS]; /* NULL: everywhere */
    int steps;
    int skipped; /* the step from 1 on that does not run; 0: none */
};

struct frame_test {
    const struct halo_backend_ops *ops;
    bool locked;   /* page-locked memory */
    bool mapped;   /* so kernels may use it where it is */
    bool measured; /* by a lane that keeps times */
    int64_t begun; /* ns */
    bool src_on_device, dst_on_device;
    void *stream; /* on which a source on the device is written */
    int planes;
    struct plane_test plane[HALO_MAX_PLANES];
};

static uint64_t state;
static struct halo_backend *oracle;
static long passed, failed;
static struct test_region known[KNOWN];

static int draw(int below)
{
    return (int)(next_random(&state) % (unsigned)below);
}

static void expect(bool right, const char *what)
{
    right ? passed++ : failed++;
    if (!right)
        printf("FAIL %s\n", what);
}

static double cost(const struct halo_conv *conv, int samples)
{
    const double taps = conv->kind == HALO_CONV_DENSE
                            ? (2.0 * conv->radius_x + 1) * (2 * conv->radius_y + 1)
                            : 2.0 * (conv->radius_x + conv->radius_y + 1);
    return taps * samples;
}

/* A step in two has a region; one that is known where the plane is as large as those. */
static void draw_region(struct plane_test *t, int s)
{
    const struct halo_plane *p = &t->src.plane;
    t->own[s] = NULL;
    t->region[s] = NULL;
    if (draw(2))
        return;
    if (p->width == KNOWN_WIDTH && p->height == KNOWN_HEIGHT) {
        t->region[s] = &known[draw(KNOWN)];
    } else {
        t->region[s] = t->own[s] = malloc(sizeof *t->own[s]);
        if (!t->own[s])
            exit(1);
        test_region_draw(t->own[s], p->width, p->height, &state);
        t->own[s]->region.number = draw(2) ? halo_region_number() : 0;
    }
    t->step[s].region = &t->region[s]->region;
}

static void draw_steps(struct plane_test *t)
{
    const struct halo_plane *p = &t->src.plane;
    const struct halo_conv_target target = {p->depth, (enum halo_border)draw(HALO_BORDER_COUNT),
                                            draw(1 << p->depth)};
    const int wanted = 1 + draw(FEW_STEPS);
    for (t->steps = 0; t->steps < wanted;) {
        struct halo_conv *conv = &t->conv[t->steps];
        if (mask_make(conv, &masks[draw(mask_count)], &target) != 0 ||
            cost(conv, p->width * p->height * p->channels) > MAX_COST)
            continue;
        t->step[t->steps] = (struct halo_step){.conv = conv};
        draw_region(t, t->steps++);
    }
}

/* What a step that did not run leaves behind. */
static void poison(struct picture *p)
{
    for (int y = 0; y < p->plane.height; y++)
        memset((char *)p->plane.data + y * p->plane.stride, HALO_POISON,
               halo_plane_row_bytes(&p->plane));
}

/* The steps one by one. */
static void make_wanted(struct plane_test *t, struct format f, struct layout layout)
{
    const struct halo_strategy *reference = halo_strategy_find(oracle->ops, "reference");
    struct picture now = t->src;
    for (int s = 0; s < t->steps; s++) {
        struct picture next = picture_create(now.plane.width, now.plane.height, f, layout);
        const struct halo_job job = {
            .conv = &t->conv[s], .strategy = reference, .src = now.plane, .dst = next.plane};
        expect(halo_backend_convolve(oracle, &job, 1) == 0, "a step on the CPU");
        if (s + 1 == t->skipped)
            poison(&next);
        else if (t->region[s])
            test_region_apply(t->region[s], &now, &next);
        if (s > 0)
            picture_destroy(&now);
        now = next;
    }
    t->want = now;
}

/* A copy of the picture's memory that the backend sees. */
static char *place(const struct frame_test *t, const struct picture *p, struct halo_plane *ret)
{
    char *memory = t->locked ? halo_backend_memory(t->ops, p->size) : malloc(p->size);
    if (!memory) {
        printf("out of memory\n");
        exit(1);
    }
    memcpy(memory, p->memory, p->size);
    *ret = p->plane;
    ret->data = memory + ((unsigned char *)p->plane.data - p->memory);
    return memory;
}

static void give_back(const struct frame_test *t, char *memory)
{
    if (t->locked)
        halo_backend_memory_free(t->ops, memory);
    else
        free(memory);
}

/* Half of the planes lie so that kernels can take them where they are. */
static struct layout draw_layout(int row)
{
    if (draw(2))
        return (struct layout){256 * draw(2), (16 - row % 16) % 16 + 16 * draw(3), false};
    return (struct layout){draw(20), draw(3) ? draw(20) : 0, draw(8) == 0};
}

static void *need(void *memory)
{
    if (!memory) {
        printf("FAIL out of device memory\n");
        exit(1);
    }
    return memory;
}

/* The plane moves to device memory; what it holds is junk until it is written. */
static char *move_to_device(const char *host, size_t size, struct halo_plane *plane)
{
    char *device = need(device_alloc(size));
    plane->data = device + ((char *)plane->data - host);
    return device;
}

/* Rows as kernels can take them where they are, in two of three; any others are copied. */
static struct layout draw_device_layout(int width, struct format f)
{
    const int unit = f.depth > 8 ? 8 : 16; /* samples in 16 bytes */
    if (draw(3) == 0)
        return (struct layout){draw(20), draw(20), draw(8) == 0};
    return (struct layout){0, (unit - width * f.channels % unit) % unit + unit * draw(3), false};
}

/* src becomes one channel of a plane with more of them, its samples further up in their words. */
static void draw_spread(struct plane_test *plane, struct format f)
{
    const struct halo_plane *p = &plane->src.plane;
    const int shift = f.depth > 8 ? draw(17 - f.depth) : 0;
    plane->gather = 1 + draw(HALO_GATHER_MAX);
    plane->channel = draw(plane->gather);
    plane->spread =
        picture_create(p->width, p->height, (struct format){f.depth, plane->gather, shift},
                       (struct layout){draw(20), draw(20), false});
    picture_fill(&plane->spread, RANDOM, &plane->conv[0], &state);
    struct halo_plane from = plane->spread.plane;
    from.data = (char *)from.data + plane->channel * halo_plane_sample_bytes(p);
    halo_gather(p, &from, plane->gather);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            if (picture_word(&plane->src, x, y) !=
                picture_word(&plane->spread, x * plane->gather + plane->channel, y) >> shift) {
                expect(false, "gathered samples");
                return;
            }
    expect(picture_guards_whole(&plane->src), "gathering writes samples only");
}

static void place_src(const struct frame_test *t, struct plane_test *plane)
{
    const struct picture *from = plane->gather ? &plane->spread : &plane->src;
    plane->memory_src = place(t, from, &plane->at_src);
    plane->device_src = NULL;
    if (t->src_on_device) {
        plane->device_src = move_to_device(plane->memory_src, from->size, &plane->at_src);
        expect(device_write_late(plane->device_src, plane->memory_src, from->size, t->stream),
               "a source on the device");
    }
    if (plane->gather) {
        plane->at_src.data =
            (char *)plane->at_src.data + plane->channel * halo_plane_sample_bytes(&from->plane);
        plane->at_src.channels = 1;
    }
}

static void place_dst(const struct frame_test *t, struct plane_test *plane, struct format f,
                      struct layout layout)
{
    const struct halo_plane *p = &plane->src.plane;
    struct picture empty = picture_create(p->width, p->height, f, layout);
    plane->memory_dst = place(t, &empty, &plane->at_dst);
    plane->device_dst = NULL;
    if (t->dst_on_device) {
        plane->device_dst = move_to_device(plane->memory_dst, empty.size, &plane->at_dst);
        expect(device_write(plane->device_dst, plane->memory_dst, empty.size),
               "a destination on the device");
    }
    picture_destroy(&empty);
}

static void draw_places(struct frame_test *t, const struct halo_backend *lane)
{
    t->ops = lane->ops;
    t->src_on_device = lane->ops->submit && draw(2);
    t->dst_on_device = lane->ops->submit && draw(3) == 0;
    t->locked = t->src_on_device || draw(3) > 0;
    t->stream = t->src_on_device ? need(device_stream_create()) : NULL;
}

/* After its steps were drawn: the plane in the backend's memory, and what shall come out. */
static void place_plane(struct frame_test *t, struct halo_frame *frame, struct format f,
                        struct layout dst)
{
    struct plane_test *plane = &t->plane[frame->planes];
    make_wanted(plane, f, dst);
    place_src(t, plane);
    place_dst(t, plane, f, dst);
    frame->plane[frame->planes++] = (struct halo_frame_plane){.src = plane->at_src,
                                                              .dst = plane->at_dst,
                                                              .steps = plane->step,
                                                              .count = plane->steps,
                                                              .gather = plane->gather};
}

static void submit(struct frame_test *t, struct halo_backend *lane, struct halo_frame *frame)
{
    frame->src_on_device = t->src_on_device;
    frame->dst_on_device = t->dst_on_device;
    frame->after = t->stream;
    t->planes = frame->planes;
    t->begun = halo_now_ns();
    const int error = halo_frame_submit(lane, frame);
    expect(error == 0, "submit");
    expect(halo_frame_submit(lane, frame) == -EINVAL, "a busy lane takes no frame");
}

static void begin(struct frame_test *t, struct halo_backend *lane)
{
    const struct format f = formats[draw(sizeof formats / sizeof *formats)];
    draw_places(t, lane);
    struct halo_frame frame = {0};
    for (int planes = 1 + draw(HALO_MAX_PLANES); frame.planes < planes;) {
        struct plane_test *plane = &t->plane[frame.planes];
        const bool as_known = draw(3) == 0;
        const int drawn = draw(2) ? 1 + draw(300) : 16 + 16 * draw(18);
        const int width = as_known ? KNOWN_WIDTH : drawn;
        const int height = as_known ? KNOWN_HEIGHT : 1 + draw(200);
        const struct layout src =
            t->src_on_device ? draw_device_layout(width, f) : draw_layout(width * f.channels);
        const struct layout dst =
            t->dst_on_device ? draw_device_layout(width, f) : draw_layout(width * f.channels);
        plane->src = picture_create(width, height, f, src);
        draw_steps(plane);
        picture_fill(&plane->src, RANDOM, &plane->conv[0], &state);
        plane->gather = 0;
        if (f.channels == 1 && f.shift == 0 && draw(2) && (t->src_on_device || !lane->ops->submit))
            draw_spread(plane, f);
        if (!t->src_on_device) /* the host's half of it was the test */
            plane->gather = 0;
        place_plane(t, &frame, f, dst);
    }
    submit(t, lane, &frame);
}

/* Frames that a lane must not take; what it would read is on the host, if it read it. */
static void refuse(struct halo_backend *lane)
{
    struct halo_conv copy;
    const struct halo_step step = {.conv = &copy};
    struct picture src = picture_create(32, 4, formats[0], (struct layout){0});
    struct picture dst = picture_create(16, 4, formats[0], (struct layout){0});
    struct halo_frame frame = {.planes = 1, .src_on_device = true};
    frame.plane[0] = (struct halo_frame_plane){dst.plane, src.plane, &step, 1};
    halo_conv_copy(&copy, &(struct halo_conv_target){.depth = 8});
    expect(halo_frame_submit(lane, &frame) == -EINVAL, "planes of two shapes");
    src.plane.width = 16;
    frame.plane[0] = (struct halo_frame_plane){src.plane, dst.plane, &step, 1, .gather = 3};
    expect(halo_frame_submit(lane, &frame) == -EINVAL, "gathered rows that overlap");
    frame.plane[0].gather = 2;
    frame.plane[0].src.shift = 1;
    expect(halo_frame_submit(lane, &frame) == -EINVAL, "a shift out of the byte");
    frame.plane[0].src.shift = 0;
    frame.src_on_device = false;
    expect(halo_frame_submit(lane, &frame) == -EINVAL, "gathering from the host");
    frame.plane[0].gather = 0;
    frame.src_on_device = frame.dst_on_device = true;
    if (!lane->ops->submit)
        expect(halo_frame_submit(lane, &frame) == -EINVAL, "device memory on the CPU");
    picture_destroy(&src);
    picture_destroy(&dst);
}

/* All samples, and the bytes in front of the first row and behind the last one, where kernels that
 * write to the caller's memory may fill up sixteen. */
static bool same_picture(const struct plane_test *t)
{
    const struct halo_plane *p = &t->want.plane;
    const size_t row = halo_plane_row_bytes(p);
    const ptrdiff_t last = p->stride * (p->height - 1);
    const char *want = (const char *)t->want.memory, *got = t->memory_dst;
    const size_t first = (size_t)((const char *)p->data - want);
    const size_t begin = last < 0 ? first - (size_t)-last : first;
    const size_t over = t->device_dst ? (16 - row % 16) % 16 : 0;
    const size_t end_row = (last < 0 ? first : first + (size_t)last) + row;
    const size_t end = end_row + over < t->want.size ? end_row + over : t->want.size;
    bool same = !memcmp(got, want, begin) && !memcmp(got + end, want + end, t->want.size - end);
    for (int y = 0; y < p->height && same; y++) {
        const ptrdiff_t at = (ptrdiff_t)first + y * p->stride;
        same = !memcmp(got + at, want + at, row);
    }
    return same;
}

static void print_steps(const struct plane_test *t)
{
    const struct halo_plane *p = &t->src.plane;
    printf("     %dx%d, %d channels, depth %d, shift %d, gather %d, device %d %d:", p->width,
           p->height, p->channels, p->depth, p->shift, t->gather, t->device_src != NULL,
           t->device_dst != NULL);
    for (int s = 0; s < t->steps; s++)
        printf(" kind %d radius %d, %d, %s", t->conv[s].kind, t->conv[s].radius_x,
               t->conv[s].radius_y, t->region[s] ? t->region[s]->name : "everywhere");
    printf("\n");
}

/* Adds a plane of the host's to what has to be copied; kernels write in steps of 16 bytes. */
static void count_copy(const struct frame_test *t, const struct halo_plane *p, bool written,
                       struct halo_copies *ret)
{
    const bool in_place = t->mapped && t->locked && (uintptr_t)p->data % 256 == 0 &&
                          p->stride > 0 && p->stride % 16 == 0 &&
                          (!written || halo_plane_row_bytes(p) % 16 == 0);
    ret->count += !in_place;
    ret->pageable += !in_place && !t->locked;
    ret->bytes += in_place ? 0 : (int64_t)halo_plane_row_bytes(p) * p->height;
}

static void expect_copies(const struct halo_copies *got, const struct halo_copies *want)
{
    expect(got->count == want->count, "copies of planes");
    expect(got->bytes >= want->bytes && !got->bytes == !want->bytes, "bytes of copies");
    expect(got->pageable == want->pageable, "copies from or to pageable memory");
}

/* Between submit and now, one after the other; every sample that was on the host went up, and what
 * was to be there down, but for those that kernels take where they are. */
static void check_times(const struct frame_test *t, struct halo_backend *lane)
{
    struct halo_frame_times times;
    const int error = halo_frame_times(lane, &times);
    if (!t->measured) {
        expect(error == -ENOTSUP, "times that nobody asked for");
        return;
    }
    expect(error == 0, "times");
    if (error)
        return;
    const int64_t at[] = {
        t->begun,          times.upload.begin,   times.upload.end,   times.kernels.begin,
        times.kernels.end, times.download.begin, times.download.end, halo_now_ns()};
    for (size_t i = 1; i < sizeof at / sizeof *at; i++)
        expect(at[i - 1] <= at[i], "times in order");
    struct halo_copies up = {0}, down = {0};
    for (int p = 0; p < t->planes; p++) {
        if (!t->src_on_device)
            count_copy(t, &t->plane[p].at_src, false, &up);
        if (!t->dst_on_device)
            count_copy(t, &t->plane[p].at_dst, true, &down);
    }
    expect_copies(&times.up, &up);
    expect_copies(&times.down, &down);
    const int on_device = (t->src_on_device + t->dst_on_device) * t->planes;
    expect(times.inside.count <= on_device, "copies on the device");
}

static void end_plane(const struct frame_test *t, struct plane_test *plane)
{
    give_back(t, plane->memory_src);
    give_back(t, plane->memory_dst);
    if (plane->device_src)
        device_free(plane->device_src);
    if (plane->device_dst)
        device_free(plane->device_dst);
    picture_destroy(&plane->src);
    picture_destroy(&plane->want);
    for (int s = 0; s < plane->steps; s++)
        if (plane->own[s]) {
            test_region_finish(plane->own[s]);
            free(plane->own[s]);
        }
    if (plane->spread.memory)
        picture_destroy(&plane->spread);
    plane->spread.memory = NULL;
}

static void end(struct frame_test *t, struct halo_backend *lane)
{
    expect(halo_frame_finish(lane) == 0, "finish");
    check_times(t, lane);
    expect(halo_frame_finish(lane) == -EINVAL, "an idle lane has nothing to finish");
    for (int p = 0; p < t->planes; p++) {
        struct plane_test *plane = &t->plane[p];
        const struct picture *src = plane->gather ? &plane->spread : &plane->src;
        if (plane->device_src)
            expect(device_read(plane->memory_src, plane->device_src, src->size), "source back");
        if (plane->device_dst)
            expect(device_read(plane->memory_dst, plane->device_dst, plane->want.size), "back");
        const bool same = same_picture(plane);
        expect(same, "same bytes");
        if (!same)
            print_steps(plane);
        expect(!memcmp(plane->memory_src, src->memory, src->size), "source untouched");
        end_plane(t, plane);
    }
    if (t->stream)
        device_stream_destroy(t->stream);
}

/* ---- as many masks as a chain can have ---- */

/* The planes of a picture, and in which directions those of chroma are half as large. */
struct subsampling {
    const char *name;
    int planes, chroma_channels, half_x, half_y;
    int luma; /* which plane that is */
};

/* In the first, places that were for chroma have to grow for luma, while they are read. */
static const struct subsampling subsamplings[] = {
    {"4:2:0, luma last", 3, 1, 1, 1, 2},
    {"4:2:0", 3, 1, 1, 1},
    {"4:2:2", 3, 1, 1, 0},
    {"4:4:4", 3, 1, 0, 0},
    {"gray", 1, 0, 0, 0},
    {"nv12", 2, 2, 1, 1},
};

enum { MASKED_WIDTH = 80, MASKED_HEIGHT = 46, MASKED_FRAMES = 2, MASK_SETS = 2 };

/* Of all steps of all planes: one set is for several frames, then comes the next. */
static struct test_region masked[HALO_MAX_PLANES][MAX_STEPS];

static struct format plane_format(const struct subsampling *s, int p)
{
    return (struct format){8, p != s->luma ? s->chroma_channels : 1, 0};
}

static int plane_width(const struct subsampling *s, int p)
{
    return p != s->luma ? MASKED_WIDTH >> s->half_x : MASKED_WIDTH;
}

static int plane_height(const struct subsampling *s, int p)
{
    return p != s->luma ? MASKED_HEIGHT >> s->half_y : MASKED_HEIGHT;
}

/* Most have a number, so that a lane may keep them. */
static void draw_masks(const struct subsampling *s)
{
    for (int p = 0; p < s->planes; p++)
        for (int i = 0; i < MAX_STEPS; i++) {
            do
                test_region_draw(&masked[p][i], plane_width(s, p), plane_height(s, p), &state);
            while (!masked[p][i].region.mask.data);
            masked[p][i].region.number = draw(4) ? halo_region_number() : 0;
        }
}

static void finish_masks(const struct subsampling *s)
{
    for (int p = 0; p < s->planes; p++)
        for (int i = 0; i < MAX_STEPS; i++)
            test_region_finish(&masked[p][i]);
}

/* Each step shifts the picture, around its edges: nothing evens out what a wrong mask did. */
static void masked_steps(struct plane_test *t, const struct test_region *regions)
{
    static const double right[] = {1, 0, 0}, down[] = {1, 0, 0};
    const struct halo_conv_target target = {t->src.plane.depth, HALO_BORDER_WRAP, 0};
    for (t->steps = 0; t->steps < MAX_STEPS; t->steps++) {
        struct halo_conv *conv = &t->conv[t->steps];
        expect((t->steps % 2 ? halo_conv_dense(conv, down, 1, 3, 0, &target)
                             : halo_conv_dense(conv, right, 3, 1, 0, &target)) == 0,
               "a mask that shifts");
        t->step[t->steps] = (struct halo_step){.conv = conv, .region = &regions[t->steps].region};
        t->region[t->steps] = &regions[t->steps];
        t->own[t->steps] = NULL;
    }
}

static void begin_masked(struct frame_test *t, struct halo_backend *lane,
                         const struct subsampling *s)
{
    struct halo_frame frame = {0};
    draw_places(t, lane);
    while (frame.planes < s->planes) {
        const int p = frame.planes, width = plane_width(s, p);
        const struct format f = plane_format(s, p);
        struct plane_test *plane = &t->plane[p];
        plane->src = picture_create(width, plane_height(s, p), f, draw_layout(width * f.channels));
        masked_steps(plane, masked[p]);
        picture_fill(&plane->src, RANDOM, &plane->conv[0], &state);
        plane->gather = 0;
        place_plane(t, &frame, f, draw_layout(width * f.channels));
    }
    submit(t, lane, &frame);
}

/* Frames whose chains have as many steps as can be, each with a mask of its own. */
static void run_masked(const struct halo_backend_ops *ops)
{
    static struct frame_test test;
    struct halo_backend *lane;
    const struct halo_backend_settings settings = {.threads = 2};
    if (halo_backend_open(ops, &settings, &lane)) {
        printf("FAIL %s does not open\n", ops->name);
        exit(1);
    }
    for (size_t i = 0; i < sizeof subsamplings / sizeof *subsamplings; i++) {
        const struct subsampling *s = &subsamplings[i];
        const long before = failed;
        for (int frame = 0; frame < MASKED_FRAMES * MASK_SETS; frame++) {
            if (frame % MASKED_FRAMES == 0)
                draw_masks(s);
            begin_masked(&test, lane, s);
            end(&test, lane);
            if (frame % MASKED_FRAMES == MASKED_FRAMES - 1)
                finish_masks(s);
        }
        if (failed > before)
            printf("FAIL %s: %d masked steps of %s\n", ops->name, MAX_STEPS, s->name);
    }
    halo_backend_close(lane);
}

#ifdef HALO_FAULTS
/* ---- steps that do not run ---- */

enum { CHAIN = 5 }; /* steps of the longest plane, so that scratch is used again and again */

static const int chain_steps[] = {CHAIN, 3, 1}; /* of its planes */

/* Shifts, so that no sample is lost, and the picture of a step is not that of another. */
static void begin_chain(struct frame_test *t, struct halo_backend *lane, int depth, int skipped)
{
    static const double weights[] = {1, 0, 0};
    const struct format f = {depth, 1, 0};
    struct halo_frame frame = {0};
    draw_places(t, lane);
    t->dst_on_device = false;
    while (frame.planes < (int)(sizeof chain_steps / sizeof *chain_steps)) {
        struct plane_test *plane = &t->plane[frame.planes];
        const struct halo_conv_target target = {depth, HALO_BORDER_WRAP, 0};
        plane->src = picture_create(64, 20, f, draw_layout(64));
        plane->steps = chain_steps[frame.planes];
        plane->skipped = skipped > plane->steps ? 0 : skipped;
        plane->gather = 0;
        for (int s = 0; s < plane->steps; s++) {
            expect(halo_conv_dense(&plane->conv[s], weights, 3, 1, 0, &target) == 0, "a shift");
            plane->step[s] = (struct halo_step){.conv = &plane->conv[s]};
            plane->region[s] = plane->own[s] = NULL;
        }
        picture_fill(&plane->src, RANDOM, &plane->conv[0], &state);
        place_plane(t, &frame, f, draw_layout(64));
        if (!lane->ops->submit) { /* there dst is poisoned by who asks for the frame */
            struct picture dst = {.plane = plane->at_dst};
            poison(&dst);
        }
    }
    submit(t, lane, &frame);
}

enum { ROUNDS = 4 * CHAIN };

/* Which calls of a step meet the fault: each step of every second frame in turn. A wish does not
 * count the calls that one before it has met. Before the first backend opens. */
static void wish_for_skips(void)
{
    static char list[ROUNDS * 12];
    size_t at = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const int call = 2 * CHAIN * i + CHAIN + i % CHAIN + 1;
        at += (size_t)snprintf(list + at, sizeof list - at, "%sstep:%d", i ? "," : "", call - i);
    }
    halo_fault_begin(list, NULL);
}

/* A frame in which one step does nothing shows poison there, and nothing of the frame before. */
static void run_skipped(const struct halo_backend_ops *ops)
{
    static struct frame_test test;
    static const int depths[] = {8, 10};
    for (int i = 0, mapped = 0; mapped < 2; mapped++) {
        struct halo_backend *lane;
        const struct halo_backend_settings settings = {
            .threads = 2, .mapped = mapped ? HALO_MAPPED_ON : HALO_MAPPED_OFF};
        if (halo_backend_open(ops, &settings, &lane)) {
            printf("FAIL %s does not open\n", ops->name);
            exit(1);
        }
        test.mapped = mapped;
        for (int round = 0; round < ROUNDS / 2; round++, i++) {
            begin_chain(&test, lane, depths[round % 2], 0);
            end(&test, lane);
            begin_chain(&test, lane, depths[round % 2], i % CHAIN + 1);
            end(&test, lane);
        }
        halo_backend_close(lane);
    }
}
#else
static void wish_for_skips(void)
{
}

static void run_skipped(const struct halo_backend_ops *ops)
{
    printf("skip %s: built without -Dfaults=true\n", ops->name);
}
#endif

/* One of the lanes is live; mapped: kernels take the host's planes where they are. */
static void run(const struct halo_backend_ops *ops, bool mapped, int frames)
{
    static struct frame_test tests[LANES];
    struct halo_backend *lanes[LANES];
    struct halo_backend_settings settings = {.threads = 2,
                                             .mapped = mapped ? HALO_MAPPED_ON : HALO_MAPPED_OFF};
    for (int i = 0; i < LANES; i++) {
        settings.live = i == 1;
        if (halo_backend_open(ops, &settings, &lanes[i])) {
            printf("FAIL %s does not open\n", ops->name);
            exit(1);
        }
    }
    refuse(lanes[0]);
    for (int i = 1; i < LANES; i++) {
        halo_frame_measure(lanes[i]);
        tests[i].measured = ops->submit;
    }
    for (int i = 0; i < LANES; i++)
        tests[i].mapped = mapped;
    for (int i = 0; i < frames + LANES; i++) {
        struct halo_backend *lane = lanes[i % LANES];
        if (i >= LANES)
            end(&tests[i % LANES], lane);
        if (i < frames)
            begin(&tests[i % LANES], lane);
    }
    for (int i = 0; i < LANES; i++)
        halo_backend_close(lanes[i]);
}

static void run_all(const struct halo_backend_ops *ops, int frames)
{
    run_masked(ops);
    run(ops, false, frames);
    if (ops->submit) /* the CPU knows no other memory */
        run(ops, true, frames);
}

int main(int argc, char **argv)
{
    const char *backend = NULL;
    bool steps = false;
    int frames = 60, skipped = 0;
    state = 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--skip-steps"))
            steps = true;
        else if (!strcmp(argv[i], "--backend"))
            backend = value;
        else if (!strcmp(argv[i], "--seed"))
            state = strtoull(value, NULL, 0) | 1;
        else if (!strcmp(argv[i], "--frames"))
            frames = atoi(value);
    }
    if (steps)
        wish_for_skips();
    for (int i = 0; i < KNOWN; i++) {
        test_region_draw(&known[i], KNOWN_WIDTH, KNOWN_HEIGHT, &state);
        known[i].region.number = halo_region_number();
    }
    const struct halo_backend_settings settings = {.threads = 1};
    if (halo_backend_open(halo_backends[0], &settings, &oracle))
        return 1;
    for (int i = 0; halo_backends[i]; i++) {
        char text[200];
        if (backend && strcmp(backend, halo_backends[i]->name) != 0)
            continue;
        if (halo_backends[i]->describe(text, sizeof text) > 0) {
            if (steps)
                run_skipped(halo_backends[i]);
            else
                run_all(halo_backends[i], frames);
        } else {
            printf("skip %s: %s\n", halo_backends[i]->name, text);
            skipped++;
        }
    }
    halo_backend_close(oracle);
    for (int i = 0; i < KNOWN; i++)
        test_region_finish(&known[i]);
    printf("%ld passed, %ld failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : passed ? 0 : 77;
}
