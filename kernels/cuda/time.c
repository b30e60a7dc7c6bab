/* SPDX-License-Identifier: BSD-2-Clause
 * Kernels timed by events, on planes in device memory. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "kernels/cuda/enqueue.h"

enum { ALIGNMENT = 256, WARM_UP = 2, TOGETHER = 4 };

struct timing {
    struct halo_backend *b;
    const struct halo_trial *trial;
    struct halo_job *jobs;
    char *memory; /* device: all planes, in and out */
    cudaGraphExec_t graph;
    cudaEvent_t *events; /* one before each round and one after the last */
};

static size_t plane_bytes(const struct halo_plane *p)
{
    const size_t row = (size_t)p->width * p->channels * halo_plane_sample_bytes(p);
    return (row + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT * p->height;
}

/* Random samples into the first plane, then doubled over all of the memory. */
static cudaError_t fill(const struct timing *t, size_t bytes)
{
    const size_t one = plane_bytes(&t->trial->like);
    uint64_t *host = malloc(one);
    if (!host)
        return cudaErrorMemoryAllocation;
    uint64_t state = 1;
    for (size_t i = 0; i < one / sizeof *host; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        host[i] = state ^ state >> 29;
    }
    cudaError_t status = cudaMemcpy(t->memory, host, one, cudaMemcpyHostToDevice);
    free(host);
    for (size_t done = one; done < bytes && status == cudaSuccess; done *= 2)
        status = cudaMemcpy(t->memory + done, t->memory, done < bytes - done ? done : bytes - done,
                            cudaMemcpyDeviceToDevice);
    return status;
}

static int prepare(struct timing *t)
{
    const struct halo_trial *trial = t->trial;
    const size_t one = plane_bytes(&trial->like), bytes = one * 2 * trial->planes;
    t->jobs = calloc(trial->planes, sizeof *t->jobs);
    t->events = calloc(trial->rounds + 1, sizeof *t->events);
    if (!t->jobs || !t->events)
        return -ENOMEM;

    cudaError_t status = cudaMalloc((void **)&t->memory, bytes);
    if (status == cudaSuccess)
        status = fill(t, bytes);
    for (int i = 0; i <= trial->rounds && status == cudaSuccess; i++)
        status = cudaEventCreate(&t->events[i]);
    for (int i = 0; i < trial->planes; i++) {
        struct halo_job *job = &t->jobs[i];
        *job = (struct halo_job){trial->conv, trial->strategy, trial->like, trial->like,
                                 trial->region};
        job->src.stride = job->dst.stride = (ptrdiff_t)(one / trial->like.height);
        job->src.data = t->memory + one * 2 * i;
        job->dst.data = t->memory + one * (2 * i + 1);
    }
    return halo_cuda_check(t->b, status, "memory");
}

static int enqueue_all(const struct timing *t)
{
    const int step = t->trial->calls == HALO_TOGETHER ? TOGETHER : 1;
    for (int i = 0; i < t->trial->planes; i += step) {
        const int left = t->trial->planes - i;
        const int rc = halo_cuda_enqueue(t->b, &t->jobs[i], left < step ? left : step);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int make_graph(struct timing *t)
{
    cudaGraph_t graph = NULL;
    const cudaStream_t stream = halo_cuda_stream(t->b);
    cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess)
        return halo_cuda_check(t->b, status, "capture");
    const int rc = enqueue_all(t);
    status = cudaStreamEndCapture(stream, &graph);
    if (rc == 0 && status == cudaSuccess)
        status = cudaGraphInstantiate(&t->graph, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return rc < 0 ? rc : halo_cuda_check(t->b, status, "graph");
}

static int one_round(const struct timing *t)
{
    if (t->graph)
        return halo_cuda_check(t->b, cudaGraphLaunch(t->graph, halo_cuda_stream(t->b)), "graph");
    return enqueue_all(t);
}

static int run(struct timing *t, double *ret_us)
{
    const int rounds = t->trial->rounds;
    const cudaStream_t stream = halo_cuda_stream(t->b);
    int rc = enqueue_all(t);
    if (rc == 0 && t->trial->calls == HALO_GRAPH)
        rc = make_graph(t);
    for (int i = 0; i < WARM_UP && rc == 0; i++)
        rc = one_round(t);
    for (int i = 0; i < rounds && rc == 0; i++) {
        rc = halo_cuda_check(t->b, cudaEventRecord(t->events[i], stream), "event");
        if (rc == 0)
            rc = one_round(t);
    }
    if (rc == 0)
        rc = halo_cuda_check(t->b, cudaEventRecord(t->events[rounds], stream), "event");
    const int waited = halo_cuda_check(t->b, cudaStreamSynchronize(stream), "kernels");
    for (int i = 0; i < rounds && rc == 0 && waited == 0; i++) {
        float ms;
        rc = halo_cuda_check(t->b, cudaEventElapsedTime(&ms, t->events[i], t->events[i + 1]),
                             "event");
        ret_us[i] = ms * 1000.0 / t->trial->planes;
    }
    return rc < 0 ? rc : waited;
}

int halo_cuda_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us)
{
    struct timing t = {.b = b, .trial = trial};
    int rc = prepare(&t);
    if (rc == 0)
        rc = run(&t, ret_us);
    for (int i = 0; t.events && i <= trial->rounds; i++)
        if (t.events[i])
            cudaEventDestroy(t.events[i]);
    if (t.graph)
        cudaGraphExecDestroy(t.graph);
    cudaFree(t.memory);
    free(t.events);
    free(t.jobs);
    return rc;
}
