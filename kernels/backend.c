/* SPDX-License-Identifier: BSD-2-Clause
 * Every rule of backend.h and frame.h is checked here, and only here. */
#include "kernels/backends.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "kernels/fault.h"
#include "kernels/frame.h"
#include "kernels/gather.h"
#include "kernels/tuning.h"

enum {
    /* Keeps every index in border.h, including the largest radius, far below its limit of 2^29. */
    MAX_SIDE = 1 << 24,
    MAX_THREADS = 1024,
    ALIGNMENT = 256,
    STALL_SECONDS = 3,
    NOTHING = 0x100000, /* an address without memory */
};

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

/* Returns whether job follows the rules in backend.h. */
static bool job_ok(const struct halo_backend *b, const struct halo_job *job)
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
        if (!job_ok(b, &jobs[i]))
            return -EINVAL;
    }
    return count ? b->ops->convolve(b, jobs, count) : 0;
}

/* ---- frames through chains ---- */

int halo_frame_jobs(const struct halo_frame *frame, const struct halo_frame_places *places,
                    int step, struct halo_job *jobs)
{
    int count = 0;
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_frame_plane *plane = &frame->plane[p];
        if (step >= plane->count)
            continue;
        const bool first = step == 0, last = step == plane->count - 1;
        jobs[count++] = (struct halo_job){
            .conv = plane->steps[step].conv,
            .strategy = plane->steps[step].strategy,
            .region = plane->steps[step].region,
            .src = first ? places->src[p] : places->scratch[(step - 1) % 2][p],
            .dst = last ? places->dst[p] : places->scratch[step % 2][p],
        };
    }
    return count;
}

int halo_frame_scratch(const struct halo_frame *frame)
{
    int most = 0;
    for (int p = 0; p < frame->planes; p++)
        most = frame->plane[p].count - 1 > most ? frame->plane[p].count - 1 : most;
    return most < 2 ? most : 2;
}

const struct halo_plane *halo_frame_scratch_of(const struct halo_frame *frame,
                                               const struct halo_frame_places *places, int step,
                                               int p)
{
    return step < frame->plane[p].count - 1 ? &places->scratch[step % 2][p] : NULL;
}

/* The source of the first step: src, or its gathered samples. */
static struct halo_plane gathered(const struct halo_frame_plane *plane)
{
    struct halo_plane ret = plane->src;
    if (plane->gather)
        ret.shift = plane->dst.shift;
    return ret;
}

static bool gather_ok(const struct halo_frame *frame, const struct halo_frame_plane *plane)
{
    const struct halo_plane *src = &plane->src;
    const int bytes = halo_plane_sample_bytes(src);
    if (plane->gather == 0)
        return true;
    return frame->src_on_device && plane->gather > 0 && plane->gather <= HALO_GATHER_MAX &&
           src->channels == 1 && src->shift >= 0 && src->depth + src->shift <= 8 * bytes &&
           src->stride >= (ptrdiff_t)bytes * ((src->width - 1) * plane->gather + 1);
}

static bool frame_ok(const struct halo_backend *b, const struct halo_frame *frame)
{
    if (frame->planes < 1 || frame->planes > HALO_MAX_PLANES)
        return false;
    if ((frame->src_on_device || frame->dst_on_device) && !b->ops->submit)
        return false;
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_frame_plane *plane = &frame->plane[p];
        if (plane->count < 1 || !gather_ok(frame, plane))
            return false;
        for (int s = 0; s < plane->count; s++) {
            const struct halo_job job = {.conv = plane->steps[s].conv,
                                         .strategy = plane->steps[s].strategy,
                                         .region = plane->steps[s].region,
                                         .src = gathered(plane),
                                         .dst = plane->dst};
            if (!job_ok(b, &job))
                return false;
        }
    }
    return true;
}

static size_t aligned_row(const struct halo_plane *p)
{
    return (halo_plane_row_bytes(p) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Reserves two scratch planes for each plane; the backend keeps the memory. */
static int place_scratch(struct halo_backend *b, const struct halo_frame *frame,
                         struct halo_frame_places *places)
{
    const int wanted = halo_frame_scratch(frame);
    size_t bytes = 0;
    for (int p = 0; p < frame->planes; p++)
        bytes += aligned_row(&frame->plane[p].src) * (size_t)frame->plane[p].src.height;
    if (b->scratch_bytes < bytes * (size_t)wanted) {
        free(b->scratch);
        b->scratch = aligned_alloc(ALIGNMENT, bytes * (size_t)wanted);
        b->scratch_bytes = b->scratch ? bytes * (size_t)wanted : 0;
        if (!b->scratch)
            return -ENOMEM;
    }
    char *at = b->scratch;
    for (int i = 0; i < wanted; i++) {
        for (int p = 0; p < frame->planes; p++) {
            struct halo_plane *plane = &places->scratch[i][p];
            *plane = frame->plane[p].src;
            plane->data = at;
            plane->stride = (ptrdiff_t)aligned_row(plane);
            at += aligned_row(plane) * (size_t)plane->height;
        }
    }
    return 0;
}

/* Called before each step, because the plane that it writes contains the result of an older
 * step. */
static void poison_scratch(const struct halo_frame *frame, const struct halo_frame_places *places,
                           int step)
{
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_plane *plane = halo_frame_scratch_of(frame, places, step, p);
        if (plane)
            memset(plane->data, HALO_POISON, (size_t)plane->stride * (size_t)plane->height);
    }
}

static int run_at_once(struct halo_backend *b, const struct halo_frame *frame)
{
    if (halo_fault(b->ops->name, "skip"))
        return 0;
    struct halo_frame_places places;
    int code = place_scratch(b, frame, &places);
    for (int p = 0; p < frame->planes; p++) {
        places.src[p] = frame->plane[p].src;
        places.dst[p] = frame->plane[p].dst;
    }
    struct halo_job jobs[HALO_MAX_PLANES];
    for (int step = 0, count; code == 0; step++) {
        if ((count = halo_frame_jobs(frame, &places, step, jobs)) == 0)
            break;
        poison_scratch(frame, &places, step);
        if (!halo_fault(b->ops->name, "step"))
            code = b->ops->convolve(b, jobs, count);
    }
    return code;
}

/* The calls that a device would make for a frame, so that tests without a device can make them
 * fail, too. */
static bool is_device_fault(const struct halo_backend *b)
{
    static const char *const kinds[] = {"upload", "poison", "launch", "download"};
    bool fault = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fault |= halo_fault(b->ops->name, kinds[i]);
    return fault;
}

static int submit(struct halo_backend *b, const struct halo_frame *frame)
{
    if (!b->ops->submit) {
        const bool full = halo_fault(b->ops->name, "alloc"), failed = is_device_fault(b);
        return full ? -ENOMEM : failed ? -EIO : run_at_once(b, frame);
    }
#ifdef HALO_FAULTS
    halo_fault_hangs = halo_fault(b->ops->name, "hang");
#endif
    return b->ops->submit(b, frame);
}

/* Submits a frame whose planes have invalid addresses, which the kernels of a device read. */
static int submit_illegal(struct halo_backend *b, const struct halo_frame *frame)
{
    struct halo_frame bad = *frame;
    if (!b->ops->submit)
        return -EIO;
    bad.src_on_device = true;
    for (int p = 0; p < bad.planes; p++)
        bad.plane[p].src.data = (void *)(uintptr_t)NOTHING;
    return submit(b, &bad);
}

int halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame)
{
    if (b->busy || !frame_ok(b, frame))
        return -EINVAL;
    if (halo_fault(b->ops->name, "stall"))
        halo_sleep(STALL_SECONDS);
    if (halo_fault(b->ops->name, "kill"))
        raise(SIGKILL);
    if (halo_fault(b->ops->name, "stop"))
        raise(SIGSTOP);
    const bool refused = halo_fault(b->ops->name, "submit");
    const bool illegal = halo_fault(b->ops->name, "illegal");
    const int code = refused ? -EIO : illegal ? submit_illegal(b, frame) : submit(b, frame);
    b->busy = code == 0;
    return code;
}

int halo_frame_finish(struct halo_backend *b)
{
    if (!b->busy)
        return -EINVAL;
    b->busy = false;
    if (!b->ops->finish && halo_fault(b->ops->name, "hang"))
        while (halo_fault_lasts())
            halo_sleep(0.01);
    const int code = b->ops->finish ? b->ops->finish(b) : 0;
    const bool event = !b->ops->finish && halo_fault(b->ops->name, "event");
    return halo_fault(b->ops->name, "finish") || event ? -EIO : code;
}

void halo_frame_measure(struct halo_backend *b)
{
    if (b->ops->measure)
        b->ops->measure(b);
}

int halo_frame_times(struct halo_backend *b, struct halo_frame_times *ret)
{
    return b->ops->times ? b->ops->times(b, ret) : -ENOTSUP;
}

static atomic_llong memory_count, memory_bytes, memory_ns;

void *halo_backend_memory(const struct halo_backend_ops *ops, size_t size)
{
    const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!ops->memory && halo_fault(ops->name, "memory"))
        return NULL;
    const long long begin = halo_now_ns();
    void *memory = ops->memory ? ops->memory(whole) : aligned_alloc(ALIGNMENT, whole);
    atomic_fetch_add(&memory_count, 1);
    atomic_fetch_add(&memory_bytes, (long long)whole);
    atomic_fetch_add(&memory_ns, halo_now_ns() - begin);
    return memory;
}

void halo_backend_memory_cost(struct halo_memory_cost *ret)
{
    *ret = (struct halo_memory_cost){atomic_load(&memory_count), atomic_load(&memory_bytes),
                                     atomic_load(&memory_ns)};
}

void halo_backend_memory_free(const struct halo_backend_ops *ops, void *memory)
{
    if (ops->memory_free && halo_backend_is_left())
        return;
    if (ops->memory_free)
        ops->memory_free(memory);
    else
        free(memory);
}

/* ---- measurements ---- */

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
