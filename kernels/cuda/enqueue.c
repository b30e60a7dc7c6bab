/* SPDX-License-Identifier: BSD-2-Clause
 * Launches of jobs whose planes are in device memory (enqueue.h). */
#include "kernels/cuda/enqueue.h"

#include "kernels/cuda/backend_private.h"

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
            const int code =
                halo_cuda_prepared_mask(c, s, job->conv, channels, &calls[planes].prepared);
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
