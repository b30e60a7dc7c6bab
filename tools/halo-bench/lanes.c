/* SPDX-License-Identifier: BSD-2-Clause
 * Frames through lanes (lanes.h). */
#include "tools/halo-bench/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kernels/clock.h"
#include "tools/halo-bench/commands.h"

/* As pipeline/frame/frame_pool.c lays pictures out. */
enum { ROW_ALIGNMENT = 128, PLANE_ALIGNMENT = 256, ROWS = 32, MORE_ROWS = 16 };

double halo_bench_now(void)
{
    return (double)halo_now_ns() / 1e9;
}

double halo_bench_cpu_time(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* ---- what is done ---- */

static int align(int value, int to)
{
    return (value + to - 1) / to * to;
}

static int shifted(int value, int shift)
{
    return (value + (1 << shift) - 1) >> shift;
}

/* Plane p without memory; *room gets the bytes that it takes. */
static struct halo_plane shape(const struct halo_bench_way *way, int p, size_t *room)
{
    const struct halo_bench_pixels *f = way->pixels;
    struct halo_plane ret = {
        .width = p ? shifted(way->width, f->shift_x) : way->width,
        .height = p ? shifted(way->height, f->shift_y) : way->height,
        .channels = p ? f->chroma_channels : 1,
        .depth = f->depth,
        .shift = f->shift,
    };
    ret.stride = align((int)halo_plane_row_bytes(&ret), ROW_ALIGNMENT);
    const int rows = shifted(align(way->height, ROWS) + MORE_ROWS, p ? f->shift_y : 0);
    *room = (size_t)align((int)ret.stride * rows, PLANE_ALIGNMENT);
    return ret;
}

static int make_mask(struct halo_conv *ret, const struct halo_bench_mask *mask, int depth,
                     bool half)
{
    const struct halo_conv_target target = {.depth = depth, .border = HALO_BORDER_REPLICATE};
    if (half && mask->kind == HALO_BENCH_GAUSS) {
        const double sigma = mask->width / 2 / 6.0;
        return halo_conv_gauss(ret, sigma, sigma, &target);
    }
    struct halo_bench_mask own = *mask;
    if (half && mask->kind != HALO_BENCH_GRADIENT)
        own.width = 2 * ((mask->width / 2 + 1) / 2) + 1;
    return halo_bench_mask_make(ret, &own, depth);
}

int halo_bench_way_init(struct halo_bench_way *ret, const struct halo_bench_settings *s,
                        const struct halo_bench_pixels *pixels, int width, int height)
{
    *ret = (struct halo_bench_way){
        .pixels = pixels, .width = width, .height = height, .steps = s->mask_count};
    ret->convs = calloc((size_t)(2 * s->mask_count), sizeof *ret->convs);
    int code = ret->convs ? 0 : -ENOMEM;
    for (int i = 0; i < 2 * s->mask_count && code == 0; i++) {
        struct halo_conv *conv = &ret->convs[i];
        const int chroma = i / s->mask_count, step = i % s->mask_count;
        code = make_mask(conv, &s->masks[step], pixels->depth, chroma && pixels->shift_x);
        ret->step[chroma][step] = (struct halo_step){.conv = conv};
    }
    for (int p = 0; p < pixels->planes && code == 0; p++) {
        size_t room;
        const struct halo_plane plane = shape(ret, p, &room);
        ret->room += room;
        ret->bytes += halo_plane_row_bytes(&plane) * (size_t)plane.height;
    }
    if (code < 0)
        halo_bench_way_finish(ret);
    return code;
}

void halo_bench_way_finish(struct halo_bench_way *way)
{
    free(way->convs);
    way->convs = NULL;
}

/* ---- lanes ---- */

static void make_frame(struct halo_bench_lane *lane, const struct halo_bench_way *way)
{
    struct halo_frame *frame = &lane->frame;
    size_t at = 0, room;
    *frame = (struct halo_frame){.planes = way->pixels->planes};
    for (int p = 0; p < frame->planes; p++, at += room) {
        struct halo_frame_plane *plane = &frame->plane[p];
        plane->src = plane->dst = shape(way, p, &room);
        plane->src.data = lane->src + at;
        plane->dst.data = lane->dst + at;
        plane->steps = way->step[p > 0];
        plane->count = way->steps;
    }
}

static void fill(char *memory, size_t size, uint64_t state)
{
    for (size_t i = 0; i + sizeof state <= size; i += sizeof state) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        memcpy(memory + i, &(uint64_t){state ^ state >> 29}, sizeof state);
    }
}

int halo_bench_lanes_open(struct halo_bench_lanes *ret, const struct halo_bench_settings *s,
                          const struct halo_bench_way *way, int count)
{
    *ret = (struct halo_bench_lanes){.way = way};
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) {
        struct halo_bench_lane *lane = &ret->lane[i];
        char text[256];
        code = halo_bench_open(&lane->backend, s, text, sizeof text);
        if (code)
            break;
        ret->count++;
        lane->src = halo_backend_memory(s->backend, way->room);
        lane->dst = halo_backend_memory(s->backend, way->room);
        if (!lane->src || !lane->dst) {
            halo_bench_say("out of memory for frames of %dx%d", way->width, way->height);
            code = HALO_EXIT_FAILED;
            break;
        }
        fill(lane->src, way->room, (uint64_t)i + 1);
        memset(lane->dst, 0, way->room);
        make_frame(lane, way);
    }
    if (code)
        halo_bench_lanes_close(ret);
    return code;
}

void halo_bench_lanes_close(struct halo_bench_lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        const struct halo_backend_ops *ops = lanes->lane[i].backend->ops;
        halo_backend_close(lanes->lane[i].backend);
        halo_backend_memory_free(ops, lanes->lane[i].src);
        halo_backend_memory_free(ops, lanes->lane[i].dst);
    }
    lanes->count = 0;
}

/* ---- runs ---- */

static int submit(struct halo_bench_lane *lane, double *sum)
{
    const double begin = halo_bench_now();
    const int code = halo_frame_submit(lane->backend, &lane->frame);
    *sum += halo_bench_now() - begin;
    return code;
}

int halo_bench_lanes_run(struct halo_bench_lanes *lanes, int depth, int frames,
                         struct halo_bench_pass *ret)
{
    const double begin = halo_bench_now();
    double sum = 0;
    int code = 0;
    for (int i = 0; i < frames + depth; i++) {
        struct halo_bench_lane *lane = &lanes->lane[i % depth];
        if (i >= depth && i - depth < frames && lane->backend->busy) {
            const int finished = halo_frame_finish(lane->backend);
            code = code < 0 ? code : finished;
        }
        if (i < frames && code == 0)
            code = submit(lane, &sum);
    }
    ret->frames = frames;
    ret->seconds = halo_bench_now() - begin;
    ret->submit_us = sum / frames * 1e6;
    ret->kernels_us = 0;
    ret->late = 0;
    return code;
}

/* Of the kernels of the frame that was finished last, in us; 0: the lane keeps no times. */
static double kernels_time(struct halo_bench_lane *lane)
{
    struct halo_frame_times t;
    if (halo_frame_times(lane->backend, &t) < 0)
        return 0;
    return (double)(t.kernels.end - t.kernels.begin) / 1e3;
}

int halo_bench_lanes_pace(struct halo_bench_lanes *lanes, double fps, double offset, int frames,
                          struct halo_bench_pass *ret)
{
    struct halo_bench_lane *lane = &lanes->lane[0];
    const double begin = halo_bench_now() + offset;
    double sum = 0, kernels = 0;
    int code = 0, late = 0;
    for (int i = 0; i < frames && code == 0; i++) {
        halo_sleep(begin + i / fps - halo_bench_now());
        const double submitted = halo_bench_now();
        code = submit(lane, &sum);
        if (code == 0)
            code = halo_frame_finish(lane->backend);
        const double done = halo_bench_now();
        late += done > begin + (i + 1) / fps;
        kernels += code == 0 ? kernels_time(lane) : 0;
        if (ret->us)
            ret->us[i] = (done - submitted) * 1e6;
    }
    ret->frames = frames;
    const double took = halo_bench_now() - begin, planned = frames / fps;
    ret->seconds = took > planned ? took : planned; /* the last one has its interval too */
    ret->submit_us = sum / frames * 1e6;
    ret->kernels_us = kernels / frames;
    ret->late = late;
    return code;
}
