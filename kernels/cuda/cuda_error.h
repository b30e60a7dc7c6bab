/* SPDX-License-Identifier: BSD-2-Clause
 * Converts CUDA's status to a negative errno at the places where it enters the program. */
#ifndef HALO_CUDA_ERROR_H
#define HALO_CUDA_ERROR_H

#include <errno.h>

#include <cuda_runtime_api.h>

/* Returns 0, -ENOMEM, -ENODEV (this process cannot use the device) or -EIO (the device or driver
 * failed). */
static inline int halo_cuda_errno(cudaError_t status)
{
    switch (status) {
    case cudaSuccess:
        return 0;
    case cudaErrorMemoryAllocation:
        return -ENOMEM;
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
        return -ENODEV;
    default:
        return -EIO;
    }
}

#endif
