/* SPDX-License-Identifier: BSD-2-Clause
 * The runtime of cuda_runtime_api.h. A stream is a list of what is to be done, and an event a place
 * in one. */
#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"

enum { ALIGNMENT = 256 };

/* A copy of rows, a fill of rows (from is NULL), or a call. */
struct work {
    struct work *next;
    uint64_t number; /* in its stream, from 1 */
    char *to;
    const char *from;
    size_t to_stride, from_stride, row, rows;
    int value;
    void (*call)(void *arg);
    void *arg;
};

struct fake_stream {
    struct fake_stream *next;
    struct work *first, **end;
    uint64_t added;
    int users; /* events and the caller: it lives as long as one of them */
};

struct fake_event {
    struct fake_stream *stream; /* NULL: never recorded */
    uint64_t number;            /* done when this work is */
    int64_t time;               /* ns */
};

struct block {
    struct block *next;
    char *memory;
    size_t size;
    enum cudaMemoryType type;
};

static struct fake_stream *streams;
static struct block *blocks;

/* ---- memory ---- */

static struct block **find_block(const void *memory)
{
    struct block **at = &blocks;
    while (*at && ((const char *)memory < (*at)->memory ||
                   (const char *)memory >= (*at)->memory + (*at)->size))
        at = &(*at)->next;
    return at;
}

static cudaError_t allocate(void **ret, size_t size, enum cudaMemoryType type)
{
    struct block *block = calloc(1, sizeof *block);
    const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *memory = aligned_alloc(ALIGNMENT, whole);
    if (!block || !memory) {
        free(block);
        free(memory);
        return cudaErrorMemoryAllocation;
    }
    *block = (struct block){blocks, memory, whole, type};
    blocks = block;
    *ret = memory;
    return cudaSuccess;
}

static cudaError_t release(void *memory)
{
    struct block **at = find_block(memory), *block = *at;
    if (!memory)
        return cudaSuccess;
    if (!block || block->memory != memory)
        return cudaErrorInvalidValue;
    *at = block->next;
    memset(block->memory, 0xA5, block->size); /* who still reads it sees that */
    free(block->memory);
    free(block);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **ret, size_t size)
{
    return allocate(ret, size, cudaMemoryTypeDevice);
}

cudaError_t cudaFree(void *memory)
{
    return release(memory);
}

cudaError_t cudaHostAlloc(void **ret, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(ret, size, cudaMemoryTypeHost);
}

cudaError_t cudaFreeHost(void *memory)
{
    return release(memory);
}

cudaError_t cudaHostRegister(void *memory, size_t size, unsigned flags)
{
    struct block *block = calloc(1, sizeof *block);
    (void)flags;
    if (!block)
        return cudaErrorMemoryAllocation;
    *block = (struct block){blocks, memory, size, cudaMemoryTypeHost};
    blocks = block;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    struct block **at = find_block(memory), *block = *at;
    if (!block || block->memory != (char *)memory)
        return cudaErrorInvalidValue;
    *at = block->next;
    free(block);
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *memory)
{
    const struct block *block = *find_block(memory);
    ret->type = block ? block->type : cudaMemoryTypeUnregistered;
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **ret, void *host, unsigned flags)
{
    const struct block *block = *find_block(host);
    (void)flags;
    *ret = host;
    return block && block->type == cudaMemoryTypeHost ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- streams and events ---- */

static void do_work(const struct work *work)
{
    if (work->call)
        work->call(work->arg);
    for (size_t y = 0; y < work->rows; y++) {
        char *to = work->to + y * work->to_stride;
        if (work->from)
            memcpy(to, work->from + y * work->from_stride, work->row);
        else
            memset(to, work->value, work->row);
    }
}

/* All work up to this one. */
static void run_until(struct fake_stream *stream, uint64_t number)
{
    struct work *work;
    while ((work = stream->first) && work->number <= number) {
        if (!(stream->first = work->next))
            stream->end = &stream->first;
        do_work(work);
        free(work->arg);
        free(work);
    }
}

static cudaError_t add(struct fake_stream *stream, struct work work)
{
    struct work *copy = malloc(sizeof *copy);
    if (!copy)
        return cudaErrorMemoryAllocation;
    *copy = work;
    copy->next = NULL;
    copy->number = ++stream->added;
    *stream->end = copy;
    stream->end = &copy->next;
    return cudaSuccess;
}

static void leave(struct fake_stream *stream)
{
    if (!stream || --stream->users > 0)
        return;
    run_until(stream, UINT64_MAX);
    struct fake_stream **at = &streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    free(stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags)
{
    struct fake_stream *stream = calloc(1, sizeof *stream);
    (void)flags;
    if (!stream)
        return cudaErrorMemoryAllocation;
    stream->next = streams;
    stream->end = &stream->first;
    stream->users = 1;
    *ret = streams = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    leave(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    run_until(stream, UINT64_MAX);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    for (struct fake_stream *stream = streams; stream; stream = stream->next)
        run_until(stream, UINT64_MAX);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *ret)
{
    *ret = calloc(1, sizeof **ret);
    return *ret ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(ret);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaEventSynchronize(event);
    leave(event->stream);
    free(event);
    return cudaSuccess;
}

struct stamp {
    struct fake_event *event;
};

static void stamp(void *arg)
{
    ((const struct stamp *)arg)->event->time = halo_now_ns();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct stamp *arg = malloc(sizeof *arg);
    if (!arg)
        return cudaErrorMemoryAllocation;
    arg->event = event;
    stream->users++;
    leave(event->stream);
    event->stream = stream;
    const cudaError_t status = fake_cuda_launch(stream, stamp, arg);
    event->number = stream->added;
    return status;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->stream)
        run_until(event->stream, event->number);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t begin, cudaEvent_t end)
{
    *ret_ms = (float)((double)(end->time - begin->time) * 1e-6);
    return cudaSuccess;
}

struct wait {
    struct fake_stream *stream;
    uint64_t number;
};

/* The other stream may be gone: then all of it has run. */
static void wait_for(void *arg)
{
    const struct wait *wait = arg;
    for (struct fake_stream *stream = streams; stream; stream = stream->next)
        if (stream == wait->stream)
            run_until(stream, wait->number);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    struct wait *arg = malloc(sizeof *arg);
    (void)flags;
    if (!arg)
        return cudaErrorMemoryAllocation;
    *arg = (struct wait){event->stream, event->number};
    return fake_cuda_launch(stream, wait_for, arg);
}

cudaError_t fake_cuda_launch(cudaStream_t stream, void (*work)(void *arg), void *arg)
{
    return add(stream, (struct work){.call = work, .arg = arg});
}

/* ---- copies ---- */

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    return add(stream, (struct work){.to = to, .from = from, .row = size, .rows = 1});
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from, size_t from_stride,
                              size_t row, size_t rows, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    (void)kind;
    return add(stream, (struct work){.to = to,
                                     .from = from,
                                     .to_stride = to_stride,
                                     .from_stride = from_stride,
                                     .row = row,
                                     .rows = rows});
}

cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                 size_t count, struct cudaMemcpyAttributes *attributes,
                                 size_t *first, size_t attribute_count, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    if (attribute_count != 1 || *first != 0 ||
        attributes->srcAccessOrder != cudaMemcpySrcAccessOrderStream)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count && status == cudaSuccess; i++)
        status = cudaMemcpyAsync(to[i], from[i], sizes[i], cudaMemcpyHostToDevice, stream);
    return status;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream)
{
    return add(stream, (struct work){.to = to, .value = value, .row = size, .rows = 1});
}

cudaError_t cudaMemset2DAsync(void *to, size_t stride, int value, size_t row, size_t rows,
                              cudaStream_t stream)
{
    return add(
        stream,
        (struct work){.to = to, .to_stride = stride, .value = value, .row = row, .rows = rows});
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}
