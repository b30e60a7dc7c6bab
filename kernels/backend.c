/* SPDX-License-Identifier: BSD-2-Clause
 * The backend table and the front door: every rule of backend.h is checked here and nowhere
 * below. */
#include "backends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Keeps every index that border.h sees, with the largest radius added, far below its 2^29. */
enum { MAX_SIDE = 1 << 24, MAX_THREADS = 1024 };

const struct halo_backend_ops *const halo_backends[] = {
    &halo_backend_cpu,
    &halo_backend_cuda,
    NULL,
};

const struct halo_backend_ops *halo_backend_find(const char *name)
{
    for (const struct halo_backend_ops *const *ops = halo_backends; *ops; ops++) {
        if (!strcmp((*ops)->name, name))
            return *ops;
    }
    return NULL;
}

const struct halo_strategy *halo_strategy_find(const struct halo_backend_ops *ops, const char *name)
{
    for (const struct halo_strategy *const *s = ops->strategies; *s; s++) {
        if (!strcmp((*s)->name, name))
            return *s;
    }
    return NULL;
}

int halo_backend_open(const struct halo_backend_ops *ops,
                      const struct halo_backend_settings *settings, struct halo_backend **ret)
{
    if (settings->threads < 0 || settings->threads > MAX_THREADS || settings->device < 0)
        return -EINVAL;
    return ops->open(ret, settings);
}

void halo_backend_close(struct halo_backend *b)
{
    if (b)
        b->ops->close(b);
}

static bool plane_ok(const struct halo_plane *p)
{
    if (!p->data || p->width < 1 || p->height < 1 || p->width > MAX_SIDE || p->height > MAX_SIDE)
        return false;
    if (p->channels != 1 && p->channels != 2)
        return false;
    if (p->depth < 8 || p->depth > 16 || p->shift < 0 ||
        p->depth + p->shift > 8 * halo_plane_sample_bytes(p))
        return false;

    const ptrdiff_t bytes = halo_plane_sample_bytes(p);
    const ptrdiff_t row = bytes * p->channels * p->width;
    if (p->height > 1 && p->stride < row && -p->stride < row)
        return false; /* rows that overlap */
    return (uintptr_t)p->data % (size_t)bytes == 0 && p->stride % bytes == 0;
}

static bool same_shape(const struct halo_plane *a, const struct halo_plane *b)
{
    return a->width == b->width && a->height == b->height && a->channels == b->channels &&
           a->depth == b->depth && a->shift == b->shift;
}

/* First byte and one past the last, whichever way up the plane is stored. */
static void extent(const struct halo_plane *p, uintptr_t *first, uintptr_t *end)
{
    const uintptr_t row = (uintptr_t)(halo_plane_sample_bytes(p) * p->channels) * (size_t)p->width;
    const uintptr_t data = (uintptr_t)p->data;
    const ptrdiff_t down = p->stride * (p->height - 1);
    *first = down < 0 ? data - (uintptr_t)-down : data;
    *end = (down < 0 ? data : data + (uintptr_t)down) + row;
}

static bool overlap(const struct halo_plane *a, const struct halo_plane *b)
{
    uintptr_t first_a, end_a, first_b, end_b;
    extent(a, &first_a, &end_a);
    extent(b, &first_b, &end_b);
    return first_a < end_b && first_b < end_a;
}

/* dst is NULL where its place is not yet known. */
static bool region_ok(const struct halo_region *r, const struct halo_plane *like,
                      const struct halo_plane *dst)
{
    if (!r || !r->mask.data)
        return !r || (r->rect_count >= 0 && (r->rects || r->rect_count == 0));
    const struct halo_plane *mask = &r->mask;
    return r->rect_count == 0 && plane_ok(mask) && mask->channels == 1 && mask->depth == 8 &&
           mask->width == like->width && mask->height == like->height && dst && !overlap(mask, dst);
}

static bool owns(const struct halo_backend_ops *ops, const struct halo_strategy *strategy)
{
    for (const struct halo_strategy *const *s = ops->strategies; *s; s++) {
        if (*s == strategy)
            return true;
    }
    return false;
}

bool halo_backend_can(const struct halo_backend *b, const struct halo_strategy *strategy,
                      const struct halo_conv *conv, int channels)
{
    return owns(b->ops, strategy) && (!b->ops->has || b->ops->has(b, strategy)) &&
           (!strategy->can || strategy->can(conv, channels));
}

static bool job_ok(const struct halo_backend *b, const struct halo_job *job)
{
    if (!job->conv || !plane_ok(&job->src) || !plane_ok(&job->dst))
        return false;
    if (!same_shape(&job->src, &job->dst) || overlap(&job->src, &job->dst) ||
        job->conv->depth != job->src.depth || !region_ok(job->region, &job->src, &job->dst))
        return false;
    return !job->strategy || halo_backend_can(b, job->strategy, job->conv, job->src.channels);
}

int halo_backend_convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    if (count < 0)
        return -EINVAL;
    for (int i = 0; i < count; i++) {
        if (!job_ok(b, &jobs[i]))
            return -EINVAL;
    }
    return count ? b->ops->convolve(b, jobs, count) : 0;
}

/* Planes of random samples in host memory, rows on cache lines. */
static int make_planes(struct halo_plane *planes, int count, const struct halo_plane *like)
{
    const size_t row =
        (size_t)(like->width * like->channels) * (size_t)halo_plane_sample_bytes(like);
    const size_t stride = (row + 63) / 64 * 64;
    uint64_t state = 1;
    for (int i = 0; i < count; i++) {
        planes[i] = *like;
        planes[i].stride = (ptrdiff_t)stride;
        uint8_t *bytes = planes[i].data = aligned_alloc(64, stride * (size_t)like->height);
        if (!bytes)
            return -ENOMEM;
        for (size_t at = 0; at < stride * (size_t)like->height; at++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[at] = (uint8_t)(state >> 56);
        }
    }
    return 0;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* By convolve and the clock. */
static int time_plainly(struct halo_backend *b, const struct halo_trial *trial, double *ret_us)
{
    struct halo_plane *planes = calloc((size_t)trial->planes * 2, sizeof(*planes));
    if (!planes)
        return -ENOMEM;
    int ret = make_planes(planes, 2 * trial->planes, &trial->like);
    for (int round = -2; round < trial->rounds && ret == 0; round++) {
        const double start = now_us();
        for (int i = 0; i < trial->planes && ret == 0; i++) {
            const struct halo_job job = {trial->conv, trial->strategy, planes[2 * i],
                                         planes[2 * i + 1], trial->region};
            ret = halo_backend_convolve(b, &job, 1);
        }
        if (round >= 0)
            ret_us[round] = (now_us() - start) / trial->planes;
    }
    for (int i = 0; i < 2 * trial->planes; i++)
        free(planes[i].data);
    free(planes);
    return ret;
}

int halo_backend_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us)
{
    static uint16_t cell; /* aligned for both sample sizes */
    struct halo_plane one = trial->like;
    one.data = &cell;
    one.stride = (ptrdiff_t)one.width * one.channels * halo_plane_sample_bytes(&one);
    if (!plane_ok(&one) || trial->planes < 1 || trial->rounds < 1 ||
        trial->conv->depth != one.depth || !region_ok(trial->region, &one, NULL) ||
        (trial->strategy &&
         !halo_backend_can(b, trial->strategy, trial->conv, trial->like.channels)))
        return -EINVAL;
    return b->ops->time ? b->ops->time(b, trial, ret_us) : time_plainly(b, trial, ret_us);
}
