/* SPDX-License-Identifier: BSD-2-Clause
 * Whole frames: what the planes of one launch share may not show in any of them. */
#include "tests/kernels/frames.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/masks.h"

enum { PLANES = 5, WIDTH = 403, HEIGHT = 131, BETWEEN = 6 /* samples, after each row */ };

/* Luma and two planes of chroma, then a large and a small plane of two channels: more than one
 * launch takes. */
static const struct {
    int width, height, channels;
} shapes[PLANES] = {
    {WIDTH, HEIGHT, 1},
    {(WIDTH + 1) / 2, (HEIGHT + 1) / 2, 1},
    {(WIDTH + 1) / 2, (HEIGHT + 1) / 2, 1},
    {WIDTH, HEIGHT / 3, 2},
    {1, 7, 2},
};

struct frame {
    struct halo_conv convs[PLANES];
    struct halo_plane src[PLANES], got[PLANES], want[PLANES];
};

static size_t plane_bytes(const struct halo_plane *p)
{
    return (size_t)p->stride * (size_t)p->height;
}

static struct halo_plane make_plane(int p, int depth, unsigned seed)
{
    struct halo_plane plane = {.width = shapes[p].width,
                               .height = shapes[p].height,
                               .channels = shapes[p].channels,
                               .depth = depth};
    plane.stride =
        (ptrdiff_t)(plane.width * plane.channels + BETWEEN) * halo_plane_sample_bytes(&plane);
    uint8_t *bytes = plane.data = malloc(plane_bytes(&plane));
    if (!bytes)
        exit(1);
    for (size_t i = 0; i < plane_bytes(&plane); i++)
        bytes[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
    return plane;
}

static int make_gauss(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    const double sigma = p == 0 ? 5 : 2.5 + p; /* another mask for each plane */
    return halo_conv_gauss(ret, sigma, sigma / 2, target);
}

static int make_dense(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    double weights[81];
    const int width = p % 2 ? 9 : 3, height = p > 1 ? 9 : 5;
    for (int i = 0; i < width * height; i++)
        weights[i] = (i * 37 + p * 11) % 29 / 100.0 - 0.1;
    return halo_conv_dense(ret, weights, width, height, 3 * p, target);
}

static int make_box(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    return halo_conv_box(ret, 3 + p, 1 + 5 * p, target);
}

static int make_gradient(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    static const int across[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
    static const int down[9] = {-3, -10, -3, 0, 0, 0, 3, 10, 3};
    return halo_conv_gradient(ret, p % 2 ? across : down, p > 1 ? across : down, 0.5, p, target);
}

static int make_pixelize(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    return halo_conv_pixelize(ret, 5 + 40 * p, 7, p == 2 ? HALO_PIXELIZE_MIN : HALO_PIXELIZE_MEAN,
                              target);
}

static int make_solid(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    return halo_conv_solid(ret, (const int[2]){10 * p, halo_sample_max(target->depth) - p}, target);
}

static int make_cells(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    uint64_t draw = 0x9e3779b97f4a7c15 + (uint64_t)p;
    return random_cells(ret, 5 + p, 3 * p, target, &draw);
}

/* A kind for each plane, and one that leaves it as it is: as planes= makes them. */
static int make_mixed(struct halo_conv *ret, int p, const struct halo_conv_target *target)
{
    if (p == 1)
        return halo_conv_copy(ret, target);
    return p == 3 ? make_dense(ret, p, target) : make_gauss(ret, p, target);
}

typedef int make_function(struct halo_conv *ret, int p, const struct halo_conv_target *target);
static make_function *const makes[] = {make_gauss,    make_dense, make_box,   make_gradient,
                                       make_pixelize, make_solid, make_cells, make_mixed};

static struct frame *make_frame(make_function *make, int depth)
{
    struct frame *f = calloc(1, sizeof *f);
    if (!f)
        exit(1);
    for (int p = 0; p < PLANES; p++) {
        const struct halo_conv_target target = {
            depth, (enum halo_border)((p + depth) % HALO_BORDER_COUNT), 77};
        if (make(&f->convs[p], p, &target) < 0)
            exit(1);
        f->src[p] = make_plane(p, depth, 1 + (unsigned)p);
        f->got[p] = make_plane(p, depth, 99);
        f->want[p] = make_plane(p, depth, 99);
    }
    return f;
}

static void free_frame(struct frame *f)
{
    for (int p = 0; p < PLANES; p++) {
        free(f->src[p].data);
        free(f->got[p].data);
        free(f->want[p].data);
    }
    free(f);
}

static void check_frame(struct halo_backend *oracle, struct halo_backend *b,
                        const struct halo_strategy *strategy, struct frame *f, long *passed,
                        long *failed)
{
    const struct halo_strategy *reference = halo_strategy_find(oracle->ops, "reference");
    struct halo_job jobs[PLANES];
    int rc = 0;
    for (int p = 0; p < PLANES; p++) {
        if (strategy && !halo_backend_can(b, strategy, &f->convs[p], f->src[p].channels))
            return;
        jobs[p] = (struct halo_job){
            .conv = &f->convs[p], .strategy = reference, .src = f->src[p], .dst = f->want[p]};
        rc = rc ? rc : halo_backend_convolve(oracle, &jobs[p], 1);
        jobs[p].strategy = strategy;
        jobs[p].dst = f->got[p];
    }
    rc = rc ? rc : halo_backend_convolve(b, jobs, PLANES);
    for (int p = 0; p < PLANES; p++) {
        if (!rc && !memcmp(f->got[p].data, f->want[p].data, plane_bytes(&f->got[p]))) {
            ++*passed;
            continue;
        }
        ++*failed;
        printf("FAIL %s/%s: a frame of %d planes in one call: plane %d, kind %d, depth %d: %s\n",
               b->ops->name, strategy ? strategy->name : "auto", PLANES, p, f->convs[p].kind,
               f->convs[p].depth, rc ? strerror(-rc) : "other samples");
    }
}

void check_frames(struct halo_backend *oracle, struct halo_backend *b,
                  const struct halo_strategy *strategy, long *passed, long *failed)
{
    static const int depths[] = {8, 10, 16};
    for (size_t m = 0; m < sizeof makes / sizeof *makes; m++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            struct frame *f = make_frame(makes[m], depths[d]);
            check_frame(oracle, b, strategy, f, passed, failed);
            free_frame(f);
        }
}
