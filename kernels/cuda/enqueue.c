/* SPDX-License-Identifier: BSD-2-Clause
 * Launches of jobs whose planes are in device memory (enqueue.h), and the masks that these need:
 * the last ones are kept, and found by everything from which they were made. */
#include "kernels/cuda/enqueue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/backend_private.h"
#include "kernels/cuda/cuda_error.h"

/* Records a failure. The runtime keeps errors until they are read; otherwise this one would be
 * mistaken for a failure of the next launch. */
int halo_cuda_check(struct halo_backend *b, cudaError_t status, const char *what)
{
    struct halo_cuda_backend *c = (struct halo_cuda_backend *)b;
    if (status == cudaSuccess)
        return 0;
    snprintf(c->error, sizeof c->error, "%s: %s (%s)", what, cudaGetErrorString(status),
             cudaGetErrorName(status));
    (void)cudaGetLastError();
    return halo_cuda_errno(status);
}

cudaError_t halo_cuda_grow(struct halo_cuda_buffer *b, size_t size,
                           cudaError_t (*alloc)(void **, size_t), cudaError_t (*release)(void *))
{
    if (b->size >= size)
        return cudaSuccess;
    release(b->data);
    *b = (struct halo_cuda_buffer){0};

    const cudaError_t status = alloc(&b->data, size);
    if (status == cudaSuccess)
        b->size = size;
    else
        b->data = NULL;
    return status;
}

struct halo_cuda_lane *halo_cuda_lane_of(struct halo_backend *b)
{
    return &((struct halo_cuda_backend *)b)->lane;
}

int halo_cuda_make_current(struct halo_backend *b)
{
    struct halo_cuda_backend *c = (struct halo_cuda_backend *)b;
    return halo_cuda_check(&c->base, cudaSetDevice(c->device), "device");
}

void halo_cuda_set_early(struct halo_backend *b, bool early)
{
    struct halo_cuda_backend *c = (struct halo_cuda_backend *)b;
    c->early = early && c->compute >= 90;
}

cudaStream_t halo_cuda_stream(const struct halo_backend *b)
{
    return ((const struct halo_cuda_backend *)b)->stream;
}

/* The largest scratch that a launch may need: its planes are processed at the same time. */
static size_t wide_bytes(const struct halo_job *jobs, int count)
{
    size_t most = 0;
    for (int first = 0; first < count; first++) {
        size_t bytes = 0;
        for (int i = first; i < count && i < first + HALO_CUDA_MAX_PLANES; i++)
            bytes += halo_cuda_scratch_bytes(jobs[i].conv, &jobs[i].src);
        most = bytes > most ? bytes : most;
    }
    return most;
}

cudaError_t halo_cuda_reserve_scratch(struct halo_cuda_backend *c, const struct halo_job *jobs,
                                      int count)
{
    const size_t wide = wide_bytes(jobs, count);
    size_t regions = 0;
    for (int i = 0; i < count; i++)
        regions += halo_cuda_region_of(&jobs[i])
                       ? halo_cuda_region_bytes(jobs[i].region, &jobs[i].src)
                       : 0;

    cudaError_t status = cudaSuccess;
    if (c->wide.size < wide || c->regions.size < regions)
        status = cudaStreamSynchronize(c->stream);
    if (status == cudaSuccess)
        status = halo_cuda_grow(&c->wide, wide, cudaMalloc, cudaFree);
    return status == cudaSuccess ? halo_cuda_grow(&c->regions, regions, cudaMalloc, cudaFree)
                                 : status;
}

/* The index of a kept mask, or of the least recently used one. */
static int mask_place(const struct halo_cuda_backend *c, const struct halo_cuda_strategy *s,
                      const struct halo_conv *conv, int channels, bool *ret_found)
{
    int oldest = 0;
    for (int i = 0; i < HALO_CUDA_KEPT_MASKS; i++) {
        const struct halo_cuda_kept_mask *m = c->masks[i];
        *ret_found = m && m->strategy == s && m->channels == channels &&
                     !memcmp(&m->conv, conv, sizeof *conv);
        if (*ret_found)
            return i;
        if (!m || (c->masks[oldest] && m->last_use < c->masks[oldest]->last_use))
            oldest = i;
    }
    return oldest;
}

/* Waits for the stream, so that no kernel still reads the mask that is replaced. The copy is
 * enqueued on the stream, too: a plain cudaMemcpy from memory that is not pinned may return before
 * its bytes have arrived, and the kernels' stream would not wait for it. */
static int upload_mask(struct halo_cuda_backend *c, struct halo_cuda_kept_mask *m, size_t bytes)
{
    void *host = malloc(bytes);
    if (!host)
        return halo_cuda_check(&c->base, cudaErrorMemoryAllocation, "mask");
    m->strategy->prepare(host, &m->conv, m->channels);
    cudaError_t status = cudaStreamSynchronize(c->stream);
    if (status == cudaSuccess)
        status = halo_cuda_grow(&m->data, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(m->data.data, host, bytes, cudaMemcpyHostToDevice, c->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(c->stream); /* some GPUs read the host memory only when the
                                                    * copy runs */
    free(host);
    return halo_cuda_check(&c->base, status, "mask");
}

/* Sets *ret_mask to the mask of conv in device memory, in the layout of the strategy's kernels, or
 * to NULL if they need none. The address does not change while the mask is kept. Waits for the
 * stream if the mask is new. Returns 0 or -errno. */
static int prepared_mask(struct halo_cuda_backend *c, const struct halo_cuda_strategy *s,
                         const struct halo_conv *conv, int channels, const void **ret_mask)
{
    const size_t bytes = s->prepared_bytes ? s->prepared_bytes(conv, channels) : 0;
    *ret_mask = NULL;
    if (bytes == 0)
        return 0;

    bool found;
    const int place = mask_place(c, s, conv, channels, &found);
    if (!c->masks[place])
        c->masks[place] = calloc(1, sizeof *c->masks[place]);
    struct halo_cuda_kept_mask *m = c->masks[place];
    if (!m)
        return halo_cuda_check(&c->base, cudaErrorMemoryAllocation, "mask");
    if (!found) {
        m->strategy = NULL;
        struct halo_cuda_kept_mask fresh = {s, *conv, channels, m->data, 0};
        const int code = upload_mask(c, &fresh, bytes);
        m->data = fresh.data;
        if (code < 0)
            return code;
        *m = fresh;
    }
    m->last_use = ++c->uses;
    *ret_mask = m->data.data;
    return 0;
}

void halo_cuda_free_masks(struct halo_cuda_backend *c)
{
    for (int i = 0; i < HALO_CUDA_KEPT_MASKS; i++)
        cudaFree(c->masks[i] ? c->masks[i]->data.data : NULL);
}

void halo_cuda_forget_masks(struct halo_cuda_backend *c)
{
    for (int i = 0; i < HALO_CUDA_KEPT_MASKS; i++)
        free(c->masks[i]);
}

/* Gives the region of a job to the launcher, if that applies it, or to the map and the merge. */
static void set_region(struct halo_cuda_call *call, const struct halo_cuda_strategy *s,
                       const struct halo_region *region)
{
    if (region && !region->mask.data && region->rect_count <= HALO_SELECT_RECTS && s->selects &&
        s->selects(call->conv, &call->src))
        call->wanted.select = region;
    else
        call->region = region;
}

/* Launches calls of one strategy, between the map and the merge of their regions. */
static int launch_calls(struct halo_cuda_backend *c, const struct halo_cuda_strategy *s,
                        struct halo_cuda_call *calls, int count)
{
    int code = halo_cuda_check(&c->base, halo_cuda_region_map(calls, count), "region");
    if (code == 0)
        code = halo_cuda_check(&c->base, s->launch(calls, count), s->base.name);
    return code == 0 ? halo_cuda_check(&c->base, halo_cuda_region_merge(calls, count), "region")
                     : code;
}

/* Enqueues jobs whose planes are in device memory; consecutive jobs with the same strategy are
 * launched together. All launches share one scratch, because they run one after the other on one
 * stream. */
int halo_cuda_launch_jobs(struct halo_cuda_backend *c, const struct halo_job *jobs, int count)
{
    for (int first = 0, planes; first < count; first += planes) {
        const struct halo_cuda_strategy *s = NULL;
        struct halo_cuda_call calls[HALO_CUDA_MAX_PLANES];
        char *wide = c->wide.data, *region_memory = c->regions.data;
        for (planes = 0; planes < HALO_CUDA_MAX_PLANES && first + planes < count; planes++) {
            const struct halo_job *job = &jobs[first + planes];
            const int channels = job->src.channels;
            const struct halo_cuda_strategy *own =
                (const struct halo_cuda_strategy *)halo_backend_choose(
                    &c->base, job); /* base is its first member */
            if (planes > 0 && own != s)
                break;
            s = own;
            calls[planes] = (struct halo_cuda_call){
                .conv = job->conv,
                .src = job->src,
                .dst = job->dst,
                .wide = (int32_t *)wide,
                .region_memory = region_memory,
                .stream = c->stream,
                .early = c->early,
                .chained = c->compute >= 90,
            };
            set_region(&calls[planes], s, halo_cuda_region_of(job));
            wide += halo_cuda_scratch_bytes(job->conv, &job->src);
            if (calls[planes].region)
                region_memory += halo_cuda_region_bytes(job->region, &job->src);
            const int code = prepared_mask(c, s, job->conv, channels, &calls[planes].prepared);
            if (code < 0)
                return code;
        }
        const int code = launch_calls(c, s, calls, planes);
        if (code < 0)
            return code;
    }
    return 0;
}

int halo_cuda_enqueue(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct halo_cuda_backend *c = (struct halo_cuda_backend *)b;
    cudaError_t status = cudaSetDevice(c->device);
    if (status == cudaSuccess)
        status = halo_cuda_reserve_scratch(c, jobs, count);
    const int code = halo_cuda_check(&c->base, status, "memory");
    return code < 0 ? code : halo_cuda_launch_jobs(c, jobs, count);
}
