/* SPDX-License-Identifier: BSD-2-Clause
 * Kernels that are started while the previous kernel on the stream is still running (programmatic
 * dependent launch), which hides the time that a start takes. */
#ifndef HALO_LAUNCH_CUH
#define HALO_LAUNCH_CUH

#include "kernels/cuda/strategies.h"

/* Waits for the end of the previous kernel, and then allows the start of the next one. All blocks
 * that have work call this before they access a plane or the flags of a region. The previous kernel
 * did so, too, or was started after all others had ended; so all work that was enqueued earlier has
 * ended as well. Planes are read by plain loads, not by __ldg, for which memory must not change
 * while the kernel runs. */
static __device__ inline void halo_wait_for_kernel_before()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

enum {
    HALO_PLAIN_SHARED = 40 << 10, /* bytes of dynamic shared memory that a block can have without
                                   * opt-in, next to its static memory */
};

/* Starts a kernel that calls the function above, with `shared` bytes of dynamic shared memory, on
 * the stream of call, and early if call->early is set. */
template <class Launch>
static inline cudaError_t halo_launch(void (*kernel)(Launch), const Launch &launch, dim3 blocks,
                                      int threads, int shared, const struct halo_cuda_call *call)
{
    if (shared > HALO_PLAIN_SHARED) {
        const cudaError_t status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
        if (status != cudaSuccess)
            return status;
    }
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = call->stream;
    config.attrs = &attribute;
    config.numAttrs = call->early;
    return cudaLaunchKernelEx(&config, kernel, launch);
}

#endif
