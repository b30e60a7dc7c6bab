/* SPDX-License-Identifier: BSD-2-Clause
 * Plain copies on two streams, one for each way (wall.h). */
#include "tools/halo-bench/wall.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdlib.h>

#include "kernels/clock.h"

struct halo_bench_wall {
    int device;
    cudaStream_t up, down;
    char *memory; /* device: where uploads go, and behind it where downloads come from */
    size_t bytes; /* of each half */
};

static int fail(cudaError_t status)
{
    (void)cudaGetLastError();
    return status == cudaSuccess ? 0 : status == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

int halo_bench_wall_open(struct halo_bench_wall **ret, int device, size_t bytes)
{
    struct halo_bench_wall *w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    w->device = device;
    w->bytes = (bytes + 255) / 256 * 256;
    cudaError_t status = cudaSetDevice(device);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&w->up, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&w->down, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaMalloc((void **)&w->memory, 2 * w->bytes);
    if (status == cudaSuccess)
        status = cudaMemset(w->memory, 0x55, 2 * w->bytes);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
        halo_bench_wall_close(w);
        return fail(status);
    }
    *ret = w;
    return 0;
}

void halo_bench_wall_close(struct halo_bench_wall *w)
{
    if (!w)
        return;
    if (w->up)
        cudaStreamDestroy(w->up);
    if (w->down)
        cudaStreamDestroy(w->down);
    cudaFree(w->memory);
    (void)cudaGetLastError();
    free(w);
}

static cudaError_t enqueue(struct halo_bench_wall *w, const struct halo_bench_copies *c)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < c->count && status == cudaSuccess; i++) {
        if (c->up)
            status = cudaMemcpyAsync(w->memory, c->up[i % c->buffers], c->bytes,
                                     cudaMemcpyHostToDevice, w->up);
        if (c->down && status == cudaSuccess)
            status = cudaMemcpyAsync(c->down[i % c->buffers], w->memory + w->bytes, c->bytes,
                                     cudaMemcpyDeviceToHost, w->down);
    }
    return status;
}

int halo_bench_wall_time(struct halo_bench_wall *w, const struct halo_bench_copies *copies,
                         double *ret_seconds)
{
    cudaError_t status = cudaSetDevice(w->device);
    const int64_t begin = halo_now_ns();
    if (status == cudaSuccess)
        status = enqueue(w, copies);
    const cudaError_t up = cudaStreamSynchronize(w->up), down = cudaStreamSynchronize(w->down);
    const int64_t end = halo_now_ns();
    if (status == cudaSuccess)
        status = up == cudaSuccess ? down : up;
    if (status == cudaSuccess)
        *ret_seconds = (double)(end - begin) / 1e9;
    return fail(status);
}
