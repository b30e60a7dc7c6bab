/* SPDX-License-Identifier: BSD-2-Clause
 * Times kernels by events, on planes in device memory. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/strategies.h"

enum { ALIGNMENT = 256, WARM_UP = 2 };

struct timing {
    struct halo_backend *b;
    const struct halo_trial *trial;
    struct halo_job *jobs;
    int count;    /* number of jobs: all planes, including chroma */
    char *memory; /* device: all planes, input and output */
    cudaGraphExec_t graph;
    cudaEvent_t *events; /* one before each round and one after the last */
};

static size_t plane_bytes(const struct halo_plane *p)
{
    const size_t row = halo_plane_row_bytes(p);
    return (row + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT * p->height;
}

/* Fills the first plane with random samples, and then the whole memory by repeated doubling. */
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

/* Places the planes one after the other, alternating input and output. Returns the number of
 * bytes. */
static size_t lay_out(struct timing *t)
{
    const struct halo_trial *trial = t->trial;
    size_t at = 0;
    for (int i = 0; i < t->count; i++) {
        struct halo_job *job = &t->jobs[i];
        const struct halo_plane like = halo_trial_plane(trial, trial->yuv420 ? i % 3 : 0);
        const size_t one = plane_bytes(&like);
        *job = (struct halo_job){trial->conv, trial->strategy, like, like, trial->region};
        job->src.stride = job->dst.stride = (ptrdiff_t)(one / like.height);
        job->src.data = t->memory ? t->memory + at : NULL;
        job->dst.data = t->memory ? t->memory + at + one : NULL;
        at += 2 * one;
    }
    return at;
}

static int prepare(struct timing *t)
{
    const struct halo_trial *trial = t->trial;
    t->count = trial->planes * (trial->yuv420 ? 3 : 1);
    t->jobs = calloc(t->count, sizeof *t->jobs);
    t->events = calloc(trial->rounds + 1, sizeof *t->events);
    if (!t->jobs || !t->events)
        return -ENOMEM;

    const size_t bytes = lay_out(t);
    cudaError_t status = cudaMalloc((void **)&t->memory, bytes);
    if (status == cudaSuccess)
        status = fill(t, bytes);
    for (int i = 0; i <= trial->rounds && status == cudaSuccess; i++)
        status = cudaEventCreate(&t->events[i]);
    lay_out(t); /* again, now that memory is allocated */
    return halo_cuda_check(t->b, status, "memory");
}

static int enqueue_all(const struct timing *t)
{
    const struct halo_trial *trial = t->trial;
    const int together = trial->yuv420 ? 3 : HALO_CUDA_MAX_PLANES;
    const int step = trial->calls == HALO_TOGETHER ? together : 1;
    for (int i = 0; i < t->count; i += step) {
        const int left = t->count - i;
        const int code = halo_cuda_enqueue(t->b, &t->jobs[i], left < step ? left : step);
        if (code < 0)
            return code;
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
    const int code = enqueue_all(t);
    status = cudaStreamEndCapture(stream, &graph);
    if (code == 0 && status == cudaSuccess)
        status = cudaGraphInstantiate(&t->graph, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return code < 0 ? code : halo_cuda_check(t->b, status, "graph");
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
    halo_cuda_set_early(t->b, t->trial->calls != HALO_APART);
    int code = enqueue_all(t);
    if (code == 0 && t->trial->calls == HALO_GRAPH)
        code = make_graph(t);
    for (int i = 0; i < WARM_UP && code == 0; i++)
        code = one_round(t);
    for (int i = 0; i < rounds && code == 0; i++) {
        code = halo_cuda_check(t->b, cudaEventRecord(t->events[i], stream), "event");
        if (code == 0)
            code = one_round(t);
    }
    if (code == 0)
        code = halo_cuda_check(t->b, cudaEventRecord(t->events[rounds], stream), "event");
    const int waited = halo_cuda_check(t->b, cudaStreamSynchronize(stream), "kernels");
    for (int i = 0; i < rounds && code == 0 && waited == 0; i++) {
        float ms;
        code = halo_cuda_check(t->b, cudaEventElapsedTime(&ms, t->events[i], t->events[i + 1]),
                               "event");
        ret_us[i] = ms * 1000.0 / t->trial->planes;
    }
    halo_cuda_set_early(t->b, true);
    return code < 0 ? code : waited;
}

int halo_cuda_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us)
{
    struct timing t = {.b = b, .trial = trial};
    int code = prepare(&t);
    if (code == 0)
        code = run(&t, ret_us);
    for (int i = 0; t.events && i <= trial->rounds; i++)
        if (t.events[i])
            cudaEventDestroy(t.events[i]);
    if (t.graph)
        cudaGraphExecDestroy(t.graph);
    cudaFree(t.memory);
    free(t.events);
    free(t.jobs);
    return code;
}
