/* SPDX-License-Identifier: BSD-2-Clause
 * NPP, loaded at run time, timed by events on planes in device memory as kernels/cuda/time.c times
 * ours. The types and prototypes are those that NVIDIA documents for NPP 11 to 13. */
#include "tools/halo-bench/npp.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_error.h"

enum { NEWEST = 13, OLDEST = 11, ALIGNMENT = 256, WARM_UP = 2, BORDER_REPLICATE = 2 };

struct npp_pair { /* NppiSize, NppiPoint */
    int x, y;
};

struct npp_stream { /* NppStreamContext */
    cudaStream_t stream;
    int device, processors, threads_of_processor, threads_of_block;
    size_t shared_of_block;
    int compute_major, compute_minor;
    unsigned flags;
    int reserved;
};

struct npp_version { /* NppLibraryVersion */
    int major, minor, build;
};

typedef int gauss_function(const uint8_t *src, int src_step, struct npp_pair size,
                           struct npp_pair offset, uint8_t *dst, int dst_step, struct npp_pair roi,
                           int taps, const float *mask, int border, struct npp_stream stream);
typedef int dense_function(const uint8_t *src, int src_step, struct npp_pair size,
                           struct npp_pair offset, uint8_t *dst, int dst_step, struct npp_pair roi,
                           const float *mask, struct npp_pair mask_size, struct npp_pair anchor,
                           int border, struct npp_stream stream);
typedef int box_function(const uint8_t *src, int src_step, struct npp_pair size,
                         struct npp_pair offset, uint8_t *dst, int dst_step, struct npp_pair roi,
                         struct npp_pair mask_size, struct npp_pair anchor, int border,
                         struct npp_stream stream);

static const char *const function_names[] = {
    [HALO_BENCH_GAUSS] = "nppiFilterGaussAdvancedBorder_8u_C1R_Ctx",
    [HALO_BENCH_DENSE] = "nppiFilterBorder32f_8u_C1R_Ctx",
    [HALO_BENCH_BOX] = "nppiFilterBoxBorder_8u_C1R_Ctx",
};

struct halo_bench_npp {
    void *core, *filters; /* of dlopen */
    gauss_function *gauss;
    dense_function *dense;
    box_function *box;
    struct npp_stream stream;
};

struct timing {
    struct halo_bench_npp *npp;
    const struct halo_bench_mask *mask;
    const struct halo_trial *trial;
    size_t stride;
    uint8_t *memory; /* device: all planes, in and out in turns */
    float *weights;  /* device */
    cudaGraphExec_t graph;
    cudaEvent_t *events; /* one before each round and one after the last */
    int code;            /* of NPP, where it refused */
};

static void *load(const char *name, int version)
{
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/"};
    void *found = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !found; i++) {
        char path[80];
        snprintf(path, sizeof path, "%slib%s.so.%d", folders[i], name, version);
        found = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return found;
}

/* Both libraries of one version, the newest first. */
static bool load_newest(struct halo_bench_npp *npp)
{
    for (int version = NEWEST; version >= OLDEST; version--) {
        npp->core = load("nppc", version);
        npp->filters = npp->core ? load("nppif", version) : NULL;
        if (npp->filters)
            return true;
        if (npp->core)
            dlclose(npp->core);
        npp->core = NULL;
    }
    return false;
}

static cudaError_t make_stream(struct npp_stream *s, int device)
{
    struct cudaDeviceProp p;
    cudaError_t status = cudaSetDevice(device);
    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(&p, device);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaStreamGetFlags(s->stream, &s->flags);
    if (status != cudaSuccess)
        return status;
    s->device = device;
    s->processors = p.multiProcessorCount;
    s->threads_of_processor = p.maxThreadsPerMultiProcessor;
    s->threads_of_block = p.maxThreadsPerBlock;
    s->shared_of_block = p.sharedMemPerBlock;
    s->compute_major = p.major;
    s->compute_minor = p.minor;
    return cudaSuccess;
}

int halo_bench_npp_open(struct halo_bench_npp **ret, int device, char *text, size_t size)
{
    struct halo_bench_npp *npp = calloc(1, sizeof *npp);
    if (!npp)
        return -ENOMEM;
    if (!load_newest(npp)) {
        snprintf(text, size,
                 "none of libnppif.so.%d to .%d was found (check ldconfig or LD_LIBRARY_PATH)",
                 OLDEST, NEWEST);
        free(npp);
        return -ENODEV;
    }
    npp->gauss = (gauss_function *)dlsym(npp->filters, function_names[HALO_BENCH_GAUSS]);
    npp->dense = (dense_function *)dlsym(npp->filters, function_names[HALO_BENCH_DENSE]);
    npp->box = (box_function *)dlsym(npp->filters, function_names[HALO_BENCH_BOX]);
    typedef const struct npp_version *version_function(void);
    version_function *version = (version_function *)dlsym(npp->core, "nppGetLibVersion");
    const struct npp_version *v = version ? version() : NULL;
    if (v)
        snprintf(text, size, "NPP %d.%d.%d", v->major, v->minor, v->build);
    else
        snprintf(text, size, "NPP");
    const cudaError_t status = make_stream(&npp->stream, device);
    if (status != cudaSuccess) {
        snprintf(text, size, "NPP: %s", cudaGetErrorString(status));
        halo_bench_npp_close(npp);
        return halo_cuda_errno(status);
    }
    *ret = npp;
    return 0;
}

void halo_bench_npp_close(struct halo_bench_npp *npp)
{
    if (!npp)
        return;
    if (npp->stream.stream)
        cudaStreamDestroy(npp->stream.stream);
    dlclose(npp->filters);
    dlclose(npp->core);
    free(npp);
}

/* One plane; NPP's status, 0 where it took the work. */
static int filter(const struct timing *t, int plane)
{
    const struct halo_bench_npp *npp = t->npp;
    const int width = t->mask->width, step = (int)t->stride;
    const struct npp_pair size = {t->trial->like.width, t->trial->like.height}, none = {0, 0};
    const struct npp_pair mask = {width, width}, anchor = {width / 2, width / 2};
    const size_t bytes = t->stride * (size_t)size.y;
    const uint8_t *src = t->memory + bytes * 2 * (size_t)plane;
    uint8_t *dst = t->memory + bytes * (2 * (size_t)plane + 1);
    enum { NOT_THERE = -9999 }; /* NPP_NOT_IMPLEMENTED_ERROR */

    switch (t->mask->kind) {
    case HALO_BENCH_GAUSS:
        return npp->gauss ? npp->gauss(src, step, size, none, dst, step, size, width, t->weights,
                                       BORDER_REPLICATE, npp->stream)
                          : NOT_THERE;
    case HALO_BENCH_DENSE:
        return npp->dense ? npp->dense(src, step, size, none, dst, step, size, t->weights, mask,
                                       anchor, BORDER_REPLICATE, npp->stream)
                          : NOT_THERE;
    default:
        return npp->box ? npp->box(src, step, size, none, dst, step, size, mask, anchor,
                                   BORDER_REPLICATE, npp->stream)
                        : NOT_THERE;
    }
}

/* NPP's positive statuses are warnings. */
static cudaError_t enqueue_all(struct timing *t)
{
    for (int i = 0; i < t->trial->planes; i++) {
        const int code = filter(t, i);
        if (code < 0) {
            t->code = code;
            return cudaErrorInvalidValue;
        }
    }
    return cudaSuccess;
}

/* Random samples into every plane, the weights behind them. */
static cudaError_t fill(struct timing *t, size_t bytes)
{
    const size_t one = t->stride * (size_t)t->trial->like.height;
    float weights[HALO_MAX_DENSE * HALO_MAX_DENSE];
    double real[HALO_MAX_DENSE * HALO_MAX_DENSE] = {0};
    uint8_t *host = malloc(one);
    if (!host)
        return cudaErrorMemoryAllocation;
    uint64_t state = 1;
    for (size_t i = 0; i < one; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        host[i] = (uint8_t)(state >> 56);
    }
    cudaError_t status = cudaSuccess;
    for (size_t at = 0; at < bytes && status == cudaSuccess; at += one)
        status = cudaMemcpy(t->memory + at, host, one, cudaMemcpyHostToDevice);
    free(host);
    halo_bench_mask_weights(real, t->mask);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        weights[i] = (float)real[i];
    if (status == cudaSuccess)
        status = cudaMemcpy(t->weights, weights, sizeof weights, cudaMemcpyHostToDevice);
    return status;
}

static cudaError_t prepare(struct timing *t)
{
    const struct halo_trial *trial = t->trial;
    t->stride = ((size_t)trial->like.width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t bytes = t->stride * (size_t)trial->like.height * 2 * (size_t)trial->planes;
    t->events = calloc((size_t)trial->rounds + 1, sizeof *t->events);
    if (!t->events)
        return cudaErrorMemoryAllocation;
    cudaError_t status = cudaSetDevice(t->npp->stream.device);
    if (status == cudaSuccess)
        status = cudaMalloc((void **)&t->memory, bytes);
    if (status == cudaSuccess)
        status = cudaMalloc((void **)&t->weights, sizeof(float) * HALO_MAX_DENSE * HALO_MAX_DENSE);
    if (status == cudaSuccess)
        status = fill(t, bytes);
    for (int i = 0; i <= trial->rounds && status == cudaSuccess; i++)
        status = cudaEventCreate(&t->events[i]);
    return status;
}

static cudaError_t make_graph(struct timing *t)
{
    const cudaStream_t stream = t->npp->stream.stream;
    cudaGraph_t graph = NULL;
    cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess)
        return status;
    status = enqueue_all(t);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (status == cudaSuccess)
        status = ended;
    if (status == cudaSuccess)
        status = cudaGraphInstantiate(&t->graph, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return status;
}

static cudaError_t run(struct timing *t, double *ret_us)
{
    const cudaStream_t stream = t->npp->stream.stream;
    const int rounds = t->trial->rounds;
    cudaError_t status = enqueue_all(t);
    if (status == cudaSuccess && t->trial->calls == HALO_GRAPH)
        status = make_graph(t);
    for (int i = -WARM_UP; i <= rounds && status == cudaSuccess; i++) {
        if (i >= 0)
            status = cudaEventRecord(t->events[i], stream);
        if (status == cudaSuccess && i < rounds)
            status = t->graph ? cudaGraphLaunch(t->graph, stream) : enqueue_all(t);
    }
    const cudaError_t waited = cudaStreamSynchronize(stream);
    if (status == cudaSuccess)
        status = waited;
    for (int i = 0; i < rounds && status == cudaSuccess; i++) {
        float ms;
        status = cudaEventElapsedTime(&ms, t->events[i], t->events[i + 1]);
        ret_us[i] = ms * 1000.0 / t->trial->planes;
    }
    return status;
}

int halo_bench_npp_time(struct halo_bench_npp *npp, const struct halo_bench_mask *mask,
                        const struct halo_trial *trial, double *ret_us, int *ret_code)
{
    struct timing t = {.npp = npp, .mask = mask, .trial = trial};
    cudaError_t status = prepare(&t);
    if (status == cudaSuccess)
        status = run(&t, ret_us);
    for (int i = 0; t.events && i <= trial->rounds; i++)
        if (t.events[i])
            cudaEventDestroy(t.events[i]);
    if (t.graph)
        cudaGraphExecDestroy(t.graph);
    cudaFree(t.weights);
    cudaFree(t.memory);
    free(t.events);
    (void)cudaGetLastError();
    *ret_code = t.code;
    return t.code ? 0 : halo_cuda_errno(status);
}
