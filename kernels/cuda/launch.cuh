/* SPDX-License-Identifier: BSD-2-Clause
 * Kernels that are started while the one before them on the stream is still at work (programmatic
 * dependent launch): their start then costs no time. */
#ifndef HALO_LAUNCH_CUH
#define HALO_LAUNCH_CUH

#include "kernels/cuda/strategies.h"

/* Waits for the end of the kernel before; then the next may be started. All blocks that have work
 * call this before they touch a plane or what a region wants: that kernel did so too, or was
 * started when it was alone, so all that was enqueued earlier has ended as well. Planes are read by
 * plain loads (not __ldg, for which memory must not change while the kernel is there). */
static __device__ inline void halo_wait_for_kernel_before()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Starts a kernel that waits, with so many bytes of dynamic shared memory, as call says: on its
 * stream, and early or not. */
template <class Launch>
static inline cudaError_t halo_launch(void (*kernel)(Launch), const Launch &launch, dim3 blocks,
                                      int threads, int shared, const struct halo_cuda_call *call)
{
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
