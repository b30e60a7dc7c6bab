/* SPDX-License-Identifier: BSD-2-Clause
 * A CUDA runtime without a device, for tests of the host side of the CUDA backend: the calls that
 * kernels/cuda/lane.c and what it stands on make, under the runtime's own names (runtime.c).
 *
 * Device memory is the host's. Work that is put on a stream runs when somebody waits for it, as
 * late as a device may run it; cudaFree() and cudaStreamDestroy() wait for nothing. So memory that
 * is overwritten or freed too early shows, the more so under AddressSanitizer. One thread. */
#ifndef HALO_FAKE_CUDA_RUNTIME_API_H
#define HALO_FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>

#define CUDART_VERSION 13000

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNotSupported = 801,
} cudaError_t;

typedef struct fake_stream *cudaStream_t;
typedef struct fake_event *cudaEvent_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
};

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };

struct cudaPointerAttributes {
    enum cudaMemoryType type;
};

enum { cudaMemcpySrcAccessOrderStream = 1 };

struct cudaMemcpyAttributes {
    int srcAccessOrder;
};

enum { cudaEventDisableTiming = 2, cudaEventBlockingSync = 1 };
enum { cudaStreamNonBlocking = 1 };
enum { cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };
enum { cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };

cudaError_t cudaGetLastError(void);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);

cudaError_t cudaMalloc(void **ret, size_t size);
cudaError_t cudaFree(void *memory);
cudaError_t cudaHostAlloc(void **ret, size_t size, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, size_t size, unsigned flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaHostGetDevicePointer(void **ret, void *host, unsigned flags);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *memory);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

cudaError_t cudaEventCreate(cudaEvent_t *ret);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from, size_t from_stride,
                              size_t row, size_t rows, enum cudaMemcpyKind kind,
                              cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                 size_t count, struct cudaMemcpyAttributes *attributes,
                                 size_t *first, size_t attribute_count, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream);
cudaError_t cudaMemset2DAsync(void *to, size_t stride, int value, size_t row, size_t rows,
                              cudaStream_t stream);

/* Beyond the runtime: work of a test's own. arg is freed when it has run. */
cudaError_t fake_cuda_launch(cudaStream_t stream, void (*work)(void *arg), void *arg);

#endif
