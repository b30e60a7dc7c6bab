/* SPDX-License-Identifier: BSD-2-Clause
 * The calls of the CUDA runtime in builds for tests: counted, timed, and made to fail on demand
 * (kernels/fault.h). The linker's --wrap redirects every call of this program to this file, so that
 * no source has to be changed; meson.build has the list. A call that has to fail is not made.
 *
 * At exit, the file that HALOD_CUDA_CALLS names gets a line for each function: name, number of
 * calls, their total milliseconds, and the longest one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "kernels/clock.h"
#include "kernels/fault.h"

struct call {
    const char *name;
    bool known;
    long count;
    int64_t ns, longest; /* time in all calls together, and in the longest one */
    struct call *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct call *calls; /* under lock, like the members */
static atomic_bool lost;   /* all calls fail from now on */
static _Thread_local cudaError_t unread;

static void note(struct call *call, int64_t from)
{
    const int64_t ns = halo_now_ns() - from;
    pthread_mutex_lock(&lock);
    if (!call->known) {
        call->known = true;
        call->next = calls;
        calls = call;
    }
    call->count++;
    call->ns += ns;
    call->longest = ns > call->longest ? ns : call->longest;
    pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("HALOD_CUDA_CALLS");
    FILE *to = path ? fopen(path, "we") : NULL;
    pthread_mutex_lock(&lock);
    for (const struct call *c = calls; c && to; c = c->next)
        fprintf(to, "%s %ld %.3f %.3f\n", c->name, c->count, c->ns * 1e-6, c->longest * 1e-6);
    pthread_mutex_unlock(&lock);
    if (to)
        fclose(to);
}

/* _exit runs no destructors. */
void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code)
{
    report();
    __real__exit(code);
}

/* The error that a call of this kind returns instead of being made, or cudaSuccess; kind may be
 * NULL. */
static cudaError_t planned(const char *kind)
{
    if (!atomic_load(&lost)) {
        if (!kind || !halo_fault("cuda", kind))
            return cudaSuccess;
        if (halo_fault_stays()) {
            (void)cudaDeviceSynchronize(); /* a lost device no longer does anything */
            atomic_store(&lost, true);
        } else if (!strcmp(kind, "alloc") || !strcmp(kind, "memory")) {
            return unread = cudaErrorMemoryAllocation;
        }
    }
    return unread = cudaErrorLaunchFailure;
}

static const char *copying(enum cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToDevice   ? "upload"
           : kind == cudaMemcpyDeviceToHost ? "download"
                                            : NULL;
}

#if CUDART_VERSION >= 13000
static const char *copying_to(const void *to)
{
    struct cudaPointerAttributes a;
    const bool known = cudaPointerGetAttributes(&a, to) == cudaSuccess;
    return copying(known && a.type == cudaMemoryTypeDevice ? cudaMemcpyHostToDevice
                                                           : cudaMemcpyDeviceToHost);
}
#endif

static void never_end(void *arg)
{
    (void)arg;
    for (;;)
        pause();
}

/* Called before the last call of a frame: its stream then never continues. */
static void hang(cudaStream_t stream)
{
    if (halo_fault_hangs)
        (void)cudaLaunchHostFunc(stream, never_end, NULL);
    halo_fault_hangs = false;
}

#define WRAP(function, kind, parameters, arguments)                                                \
    cudaError_t __real_##function parameters;                                                      \
    cudaError_t __wrap_##function parameters;                                                      \
    cudaError_t __wrap_##function parameters                                                       \
    {                                                                                              \
        static struct call call = {.name = #function};                                             \
        const int64_t from = halo_now_ns();                                                        \
        cudaError_t status = planned(kind);                                                        \
        if (status == cudaSuccess)                                                                 \
            status = __real_##function arguments;                                                  \
        note(&call, from);                                                                         \
        return status;                                                                             \
    }

/* ---- devices and streams ---- */

WRAP(cudaGetDeviceCount, NULL, (int *ret), (ret))
WRAP(cudaGetDeviceProperties, NULL, (struct cudaDeviceProp * ret, int device), (ret, device))
WRAP(cudaDeviceGetAttribute, NULL, (int *ret, enum cudaDeviceAttr which, int device),
     (ret, which, device))
WRAP(cudaSetDevice, NULL, (int device), (device))
WRAP(cudaStreamCreateWithPriority, "open", (cudaStream_t * ret, unsigned flags, int priority),
     (ret, flags, priority))
WRAP(cudaStreamDestroy, NULL, (cudaStream_t stream), (stream))
WRAP(cudaStreamSynchronize, NULL, (cudaStream_t stream), (stream))
WRAP(cudaDeviceSynchronize, NULL, (void), ())
WRAP(cudaStreamWaitEvent, NULL, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
     (stream, event, flags))
WRAP(cudaFuncGetAttributes, NULL, (struct cudaFuncAttributes * ret, const void *function),
     (ret, function))
WRAP(cudaFuncSetAttribute, NULL, (const void *function, enum cudaFuncAttribute which, int value),
     (function, which, value))

/* ---- memory ---- */

WRAP(cudaMalloc, "alloc", (void **ret, size_t size), (ret, size))
WRAP(cudaMallocAsync, "alloc", (void **ret, size_t size, cudaStream_t stream), (ret, size, stream))
WRAP(cudaFree, NULL, (void *memory), (memory))
WRAP(cudaFreeAsync, NULL, (void *memory, cudaStream_t stream), (memory, stream))
WRAP(cudaHostAlloc, "memory", (void **ret, size_t size, unsigned flags), (ret, size, flags))
WRAP(cudaHostRegister, "memory", (void *memory, size_t size, unsigned flags), (memory, size, flags))
WRAP(cudaHostUnregister, NULL, (void *memory), (memory))
WRAP(cudaFreeHost, NULL, (void *memory), (memory))
WRAP(cudaHostGetDevicePointer, NULL, (void **ret, void *memory, unsigned flags),
     (ret, memory, flags))
WRAP(cudaMemcpy, copying(kind),
     (void *to, const void *from_here, size_t size, enum cudaMemcpyKind kind),
     (to, from_here, size, kind))
WRAP(cudaMemcpyAsync, copying(kind),
     (void *to, const void *from_here, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream),
     (to, from_here, size, kind, stream))
WRAP(cudaMemcpy2DAsync, copying(kind),
     (void *to, size_t step, const void *from_here, size_t from_step, size_t width, size_t height,
      enum cudaMemcpyKind kind, cudaStream_t stream),
     (to, step, from_here, from_step, width, height, kind, stream))
#if CUDART_VERSION >= 13000
WRAP(cudaMemcpyBatchAsync, copying_to(to[0]),
     (void *const *to, const void *const *from_here, const size_t *sizes, size_t count,
      struct cudaMemcpyAttributes *attributes, size_t *which, size_t kinds, cudaStream_t stream),
     (to, from_here, sizes, count, attributes, which, kinds, stream))
#endif
WRAP(cudaMemcpyToSymbolAsync, NULL,
     (const void *symbol, const void *from_here, size_t size, size_t offset,
      enum cudaMemcpyKind kind, cudaStream_t stream),
     (symbol, from_here, size, offset, kind, stream))
WRAP(cudaMemsetAsync, "poison", (void *to, int value, size_t size, cudaStream_t stream),
     (to, value, size, stream))
WRAP(cudaMemset2DAsync, "poison",
     (void *to, size_t step, int value, size_t width, size_t height, cudaStream_t stream),
     (to, step, value, width, height, stream))

/* ---- work ---- */

#if CUDART_VERSION >= 13000 /* the calls that nvcc generates for <<<>>> */
WRAP(__cudaLaunchKernel, "launch",
     (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
      cudaStream_t stream),
     (kernel, grid, block, arguments, shared, stream))
#else
WRAP(cudaLaunchKernel, "launch",
     (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
      cudaStream_t stream),
     (kernel, grid, block, arguments, shared, stream))
#endif
WRAP(cudaLaunchKernelExC, "launch",
     (const cudaLaunchConfig_t *config, const void *kernel, void **arguments),
     (config, kernel, arguments))
WRAP(cudaGraphLaunch, "launch", (cudaGraphExec_t graph, cudaStream_t stream),
     (graph, (hang(stream), stream)))
WRAP(cudaGraphInstantiate, NULL,
     (cudaGraphExec_t * ret, cudaGraph_t graph, unsigned long long flags), (ret, graph, flags))
WRAP(cudaStreamBeginCapture, NULL, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
     (stream, mode))
WRAP(cudaStreamEndCapture, NULL, (cudaStream_t stream, cudaGraph_t *ret), (stream, ret))
WRAP(cudaEventCreate, NULL, (cudaEvent_t * ret), (ret))
WRAP(cudaEventCreateWithFlags, NULL, (cudaEvent_t * ret, unsigned flags), (ret, flags))
WRAP(cudaEventDestroy, NULL, (cudaEvent_t event), (event))
WRAP(cudaEventRecord, "event", (cudaEvent_t event, cudaStream_t stream),
     (event, (hang(stream), stream)))
WRAP(cudaEventSynchronize, "event", (cudaEvent_t event), (event))

/* The errors of calls that were not made. */
cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void)
{
    const cudaError_t status = unread;
    unread = cudaSuccess;
    return status != cudaSuccess ? status : __real_cudaGetLastError();
}
