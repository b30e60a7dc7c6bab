/* SPDX-License-Identifier: BSD-2-Clause
 * The table of backends. Every rule of backend.h is checked here, and only here. */
#include "kernels/backends.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/fault.h"
#include "kernels/frame.h"
#include "kernels/tuning.h"

/* Keeps every index in border.h, including the largest radius, far below its limit of 2^29. */
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
    if (!ops->submit && halo_fault(ops->name, "open"))
        return -EIO;
    return ops->open(ret, settings);
}

static atomic_bool left;

void halo_backend_leave(void)
{
    atomic_store(&left, true);
}

bool halo_backend_is_left(void)
{
    return atomic_load(&left);
}

void halo_backend_close(struct halo_backend *b)
{
    if (!b)
        return;
    if (b->busy)
        (void)halo_frame_finish(b); /* nothing may write into the caller's memory after this */
    free(b->scratch);
    halo_tuning_destroy(b->tuning);
    if (!b->ops->submit || !halo_backend_is_left())
        b->ops->close(b);
}

const char *halo_backend_error(const struct halo_backend_ops *ops, const struct halo_backend *b,
                               char *text, size_t size)
{
    const char *words = ops->error_text ? ops->error_text(b) : "";
    snprintf(text, size, "%s", *words ? words : "unknown reason");
    return text;
}

bool halo_backend_is_lost(const struct halo_backend_ops *ops)
{
    return ops->is_lost && ops->is_lost();
}

int halo_backend_least_loaded(const struct halo_backend_ops *ops)
{
    return ops->least_loaded ? ops->least_loaded() : 0;
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
    const ptrdiff_t row = (ptrdiff_t)halo_plane_row_bytes(p);
    if (p->height > 1 && p->stride < row && -p->stride < row)
        return false; /* rows overlap */
    return (uintptr_t)p->data % (size_t)bytes == 0 && p->stride % bytes == 0;
}

static bool same_shape(const struct halo_plane *a, const struct halo_plane *b)
{
    return a->width == b->width && a->height == b->height && a->channels == b->channels &&
           a->depth == b->depth && a->shift == b->shift;
}

/* The first byte and the end of a plane, even if it is stored upside down. */
static void extent(const struct halo_plane *p, uintptr_t *first, uintptr_t *end)
{
    const uintptr_t row = halo_plane_row_bytes(p);
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

/* dst is NULL if its memory is not known yet. */
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
           strategy->can(conv, channels);
}

int halo_backend_tune(struct halo_backend *b, const char *path, char *text, size_t size)
{
    char device[256];
    struct halo_tuning *tuning;
    b->ops->identify(b, device, sizeof device);
    const int code = halo_tuning_read(&tuning, path, b->ops, device, text, size);
    if (code < 0)
        return code;
    halo_tuning_destroy(b->tuning);
    b->tuning = tuning;
    return 0;
}

const struct halo_strategy *halo_backend_choose(const struct halo_backend *b,
                                                const struct halo_job *job)
{
    if (job->strategy)
        return job->strategy;
    if (b->tuning) {
        const struct halo_tuning_key key = halo_tuning_key_of(job->conv, &job->src);
        const struct halo_strategy *s = halo_tuning_find(b->tuning, &key);
        if (s && halo_backend_can(b, s, job->conv, job->src.channels))
            return s;
    }
    const struct halo_strategy *const *s = b->ops->strategies;
    while (*s && !halo_backend_can(b, *s, job->conv, job->src.channels))
        s++;
    return *s;
}

bool halo_job_ok(const struct halo_backend *b, const struct halo_job *job)
{
    if (!job->conv || !plane_ok(&job->src) || !plane_ok(&job->dst))
        return false;
    if (!same_shape(&job->src, &job->dst) || overlap(&job->src, &job->dst) ||
        job->conv->depth != job->src.depth || !region_ok(job->region, &job->src, &job->dst))
        return false;
    return job->strategy ? halo_backend_can(b, job->strategy, job->conv, job->src.channels)
                         : halo_backend_choose(b, job) != NULL;
}

int halo_backend_convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    if (count < 0)
        return -EINVAL;
    for (int i = 0; i < count; i++) {
        if (!halo_job_ok(b, &jobs[i]))
            return -EINVAL;
    }
    return count ? b->ops->convolve(b, jobs, count) : 0;
}

struct halo_plane halo_trial_plane(const struct halo_trial *trial, int p)
{
    struct halo_plane plane = trial->like;
    if (p > 0) {
        plane.width = (plane.width + 1) / 2;
        plane.height = (plane.height + 1) / 2;
    }
    return plane;
}

/* Makes a plane of random samples in host memory, with rows aligned to cache lines. */
static int make_plane(struct halo_plane *ret, uint64_t state)
{
    const size_t stride = (halo_plane_row_bytes(ret) + 63) / 64 * 64;
    uint8_t *bytes = ret->data = aligned_alloc(64, stride * (size_t)ret->height);
    if (!bytes)
        return -ENOMEM;
    ret->stride = (ptrdiff_t)stride;
    for (size_t at = 0; at < stride * (size_t)ret->height; at++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[at] = (uint8_t)(state >> 56);
    }
    return 0;
}

static int make_jobs(struct halo_job *jobs, int count, const struct halo_trial *trial)
{
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) {
        const struct halo_plane like = halo_trial_plane(trial, trial->yuv420 ? i % 3 : 0);
        jobs[i] = (struct halo_job){trial->conv, trial->strategy, like, like, trial->region};
        jobs[i].src.data = jobs[i].dst.data = NULL;
        code = make_plane(&jobs[i].src, 2 * (uint64_t)i);
        if (code == 0)
            code = make_plane(&jobs[i].dst, 2 * (uint64_t)i + 1);
    }
    return code;
}

/* Times convolve by the host's clock. */
static int time_plainly(struct halo_backend *b, const struct halo_trial *trial, double *ret_us)
{
    const int count = trial->planes * (trial->yuv420 ? 3 : 1);
    const int step = trial->yuv420 && trial->calls == HALO_TOGETHER ? 3 : 1;
    struct halo_job *jobs = calloc((size_t)count, sizeof *jobs);
    if (!jobs)
        return -ENOMEM;
    int code = make_jobs(jobs, count, trial);
    for (int round = -2; round < trial->rounds && code == 0; round++) {
        const int64_t start = halo_now_ns();
        for (int i = 0; i < count && code == 0; i += step)
            code = halo_backend_convolve(b, &jobs[i], step);
        if (round >= 0)
            ret_us[round] = (double)(halo_now_ns() - start) / 1e3 / trial->planes;
    }
    for (int i = 0; i < count; i++) {
        free(jobs[i].src.data);
        free(jobs[i].dst.data);
    }
    free(jobs);
    return code;
}

int halo_backend_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us)
{
    static uint16_t cell; /* aligned for both sample sizes */
    struct halo_plane one = trial->like;
    one.data = &cell;
    one.stride = (ptrdiff_t)halo_plane_row_bytes(&one);
    if (!plane_ok(&one) || trial->planes < 1 || trial->rounds < 1 ||
        trial->conv->depth != one.depth || !region_ok(trial->region, &one, NULL) ||
        (trial->yuv420 && trial->region) ||
        (trial->strategy &&
         !halo_backend_can(b, trial->strategy, trial->conv, trial->like.channels)))
        return -EINVAL;
    return b->ops->time ? b->ops->time(b, trial, ret_us) : time_plainly(b, trial, ret_us);
}
