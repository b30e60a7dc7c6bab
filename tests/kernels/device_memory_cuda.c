/* SPDX-License-Identifier: BSD-2-Clause
 * Device memory by the CUDA runtime. */
#include <cuda_runtime_api.h>

#include "tests/kernels/device_memory.h"

enum { BUSY_BYTES = 1 << 26 };

#ifndef BUSY_ROUNDS
#define BUSY_ROUNDS 40 /* near a millisecond of a large GPU */
#endif

void *device_alloc(size_t size)
{
    void *memory = NULL;
    return cudaMalloc(&memory, size) == cudaSuccess ? memory : NULL;
}

void device_free(void *memory)
{
    cudaFree(memory);
}

void *device_stream_create(void)
{
    cudaStream_t stream = NULL;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream : NULL;
}

void device_stream_destroy(void *stream)
{
    cudaStreamDestroy(stream);
}

bool device_write_late(void *to, const void *from, size_t size, void *stream)
{
    static void *busy;
    if (!busy)
        busy = device_alloc(BUSY_BYTES);
    for (int i = 0; busy && i < BUSY_ROUNDS; i++)
        if (cudaMemsetAsync(busy, i, BUSY_BYTES, stream) != cudaSuccess)
            return false;
    return cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, stream) == cudaSuccess;
}

bool device_write(void *to, const void *from, size_t size)
{
    return cudaMemcpy(to, from, size, cudaMemcpyHostToDevice) == cudaSuccess &&
           cudaDeviceSynchronize() == cudaSuccess;
}

bool device_read(void *to, const void *from, size_t size)
{
    return cudaMemcpy(to, from, size, cudaMemcpyDeviceToHost) == cudaSuccess;
}
