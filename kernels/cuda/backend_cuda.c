/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend: one device, one stream, and memory that grows and stays.
 *
 * A call packs the samples of all jobs into one pinned buffer, so that there is one copy up, one
 * copy down and one wait, whatever the strides of the pictures are. Planes lie one after the other
 * in each buffer, in the same places on the host and on the device:
 *
 *     pictures --rows--> up (pinned) --copy--> src (device) --kernels--> dst (device)
 *     pictures <--rows-- down (pinned) <--copy-- dst
 *
 * dst is poisoned before the kernels run: a cell that a kernel forgot is never an old picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backends.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/strategies.h"

enum {
    ALIGNMENT = 256, /* of planes and rows: whole memory transactions for a warp */
    POISON = 0xA5,
};

struct buffer {
    void *data;
    size_t size;
};

struct cuda_backend {
    struct halo_backend base;
    int device;
    cudaStream_t stream;
    struct buffer up, down;       /* pinned host memory */
    struct buffer src, dst, wide; /* device memory */
    char error[200];
};

/* Notes a failure. The runtime keeps errors until they are read: unread, this one would be taken
 * for a failure of the next launch. */
static int check(struct cuda_backend *c, cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return 0;
    snprintf(c->error, sizeof c->error, "%s: %s (%s)", what, cudaGetErrorString(status),
             cudaGetErrorName(status));
    (void)cudaGetLastError();
    return halo_cuda_errno(status);
}

static cudaError_t pinned_alloc(void **ret, size_t size)
{
    return cudaHostAlloc(ret, size, cudaHostAllocDefault);
}

/* Makes b at least size bytes; what it held is lost. Nothing on the stream uses it any more, since
 * every call ends with a wait. */
static cudaError_t grow(struct buffer *b, size_t size, cudaError_t (*alloc)(void **, size_t),
                        cudaError_t (*release)(void *))
{
    if (b->size >= size)
        return cudaSuccess;
    release(b->data);
    *b = (struct buffer){0};

    const cudaError_t status = alloc(&b->data, size);
    if (status == cudaSuccess)
        b->size = size;
    else
        b->data = NULL;
    return status;
}

static size_t align(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t row_bytes(const struct halo_plane *p)
{
    return (size_t)p->width * p->channels * halo_plane_sample_bytes(p);
}

/* The plane as it lies in one of our buffers. */
static struct halo_plane packed(const struct halo_plane *p, const struct buffer *b, size_t offset)
{
    struct halo_plane ret = *p;
    ret.data = (char *)b->data + offset;
    ret.stride = (ptrdiff_t)align(row_bytes(p));
    return ret;
}

static size_t packed_bytes(const struct halo_plane *p)
{
    return align(row_bytes(p)) * p->height;
}

/* Samples only: what lies between rows belongs to the caller. Strides may be negative. */
static void copy_rows(const struct halo_plane *to, const struct halo_plane *from)
{
    const size_t bytes = row_bytes(from);
    const char *in = from->data;
    char *out = to->data;

    for (int y = 0; y < from->height; y++)
        memcpy(out + y * to->stride, in + y * from->stride, bytes);
}

static int reserve(struct cuda_backend *c, const struct halo_job *jobs, int count,
                   size_t *ret_bytes)
{
    size_t bytes = 0, wide = 0;
    for (int i = 0; i < count; i++) {
        const size_t needed = halo_cuda_wide_bytes(&jobs[i].src);
        bytes += packed_bytes(&jobs[i].src);
        wide = needed > wide ? needed : wide;
    }

    cudaError_t status = grow(&c->up, bytes, pinned_alloc, cudaFreeHost);
    if (status == cudaSuccess)
        status = grow(&c->down, bytes, pinned_alloc, cudaFreeHost);
    if (status == cudaSuccess)
        status = grow(&c->src, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = grow(&c->dst, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = grow(&c->wide, wide, cudaMalloc, cudaFree);
    *ret_bytes = bytes;
    return check(c, status, "memory");
}

static const struct halo_cuda_strategy *strategy_of(const struct halo_job *job)
{
    const struct halo_strategy *s = job->strategy;
    for (int i = 0; !s; i++) {
        const struct halo_strategy *row = halo_cuda_strategies[i];
        if (!row->can || row->can(job->conv))
            s = row;
    }
    return (const struct halo_cuda_strategy *)s; /* base is its first member */
}

static int launch(struct cuda_backend *c, const struct halo_job *jobs, int count)
{
    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_cuda_strategy *s = strategy_of(&jobs[i]);
        const struct halo_cuda_call call = {
            .conv = jobs[i].conv,
            .src = packed(&jobs[i].src, &c->src, offset),
            .dst = packed(&jobs[i].dst, &c->dst, offset),
            .wide = c->wide.data, /* one for all jobs: on one stream they run one after the other */
            .stream = c->stream,
        };
        const int rc = check(c, s->launch(&call), s->base.name);
        if (rc < 0)
            return rc;
        offset += packed_bytes(&jobs[i].src);
    }
    return 0;
}

static int copy(struct cuda_backend *c, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, const char *what)
{
    return check(c, cudaMemcpyAsync(to, from, bytes, kind, c->stream), what);
}

static int run(struct cuda_backend *c, const struct halo_job *jobs, int count)
{
    size_t bytes, offset = 0;
    int rc = reserve(c, jobs, count, &bytes);
    if (rc < 0)
        return rc;

    for (int i = 0; i < count; i++) {
        const struct halo_plane up = packed(&jobs[i].src, &c->up, offset);
        copy_rows(&up, &jobs[i].src);
        offset += packed_bytes(&jobs[i].src);
    }
    rc = copy(c, c->src.data, c->up.data, bytes, cudaMemcpyHostToDevice, "upload");
    if (rc == 0)
        rc = check(c, cudaMemsetAsync(c->dst.data, POISON, bytes, c->stream), "poison");
    if (rc == 0)
        rc = launch(c, jobs, count);
    if (rc == 0)
        rc = copy(c, c->down.data, c->dst.data, bytes, cudaMemcpyDeviceToHost, "download");

    /* Wait also after a failure: the next call, or close, will touch this memory. */
    const cudaError_t waited = cudaStreamSynchronize(c->stream);
    if (rc < 0) {
        (void)cudaGetLastError();
        return rc;
    }
    return check(c, waited, "kernels");
}

static int cuda_convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct cuda_backend *c = (struct cuda_backend *)b;
    /* Each thread has a current device of its own, and this may be a new thread. */
    int rc = check(c, cudaSetDevice(c->device), "device");
    if (rc == 0)
        rc = run(c, jobs, count);
    if (rc < 0)
        return rc == -ENOMEM ? -ENOMEM : -EIO;

    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_plane down = packed(&jobs[i].dst, &c->down, offset);
        copy_rows(&jobs[i].dst, &down);
        offset += packed_bytes(&jobs[i].dst);
    }
    return 0;
}

static void cuda_close(struct halo_backend *b)
{
    struct cuda_backend *c = (struct cuda_backend *)b;

    if (cudaSetDevice(c->device) == cudaSuccess) {
        if (c->stream)
            cudaStreamDestroy(c->stream);
        cudaFreeHost(c->up.data);
        cudaFreeHost(c->down.data);
        cudaFree(c->src.data);
        cudaFree(c->dst.data);
        cudaFree(c->wide.data);
    }
    (void)cudaGetLastError();
    free(c);
}

static int cuda_open(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    (void)cudaGetLastError();
    if (counted != cudaSuccess || settings->device >= devices)
        return -ENODEV;

    struct cuda_backend *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->base.ops = &halo_backend_cuda;
    c->device = settings->device;

    cudaError_t status = cudaSetDevice(c->device);
    if (status == cudaSuccess)
        status = halo_cuda_probe();
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    if (status == cudaSuccess) {
        *ret = &c->base;
        return 0;
    }
    const int rc = check(c, status, "open");
    cuda_close(&c->base);
    return rc == -ENOMEM ? -ENOMEM : -ENODEV;
}

const char *halo_cuda_error_text(const struct halo_backend *b)
{
    return ((const struct cuda_backend *)b)->error;
}

const struct halo_backend_ops halo_backend_cuda = {
    .name = "cuda",
    .strategies = halo_cuda_strategies,
    .describe = halo_cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .convolve = cuda_convolve,
};
