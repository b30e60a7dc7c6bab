/* SPDX-License-Identifier: BSD-2-Clause
 * Frames through chains of convolutions: checks of the rules, and the synchronous
 * implementation. */
#include "kernels/frame.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/backends.h"
#include "kernels/clock.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/fault.h"
#include "kernels/gather.h"

enum {
    ALIGNMENT = 256,
    STALL_SECONDS = 3,
    NOTHING = 0x100000, /* an address without memory */
};

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
            if (!halo_job_ok(b, &job))
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
        for (;;)
            pause();
    const int code = b->ops->finish ? b->ops->finish(b) : 0;
    const bool event = !b->ops->finish && halo_fault(b->ops->name, "event");
    return halo_fault(b->ops->name, "finish") || event ? -EIO : code;
}

void halo_frame_measure(struct halo_backend *b)
{
    if (b->ops == &halo_backend_cuda)
        halo_cuda_measure(b);
}

int halo_frame_times(struct halo_backend *b, struct halo_frame_times *ret)
{
    return b->ops == &halo_backend_cuda ? halo_cuda_times(b, ret) : -ENOTSUP;
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
