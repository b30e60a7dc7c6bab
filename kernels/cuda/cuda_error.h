/* SPDX-License-Identifier: BSD-2-Clause
 * CUDA status to negative errno, where it enters the program. */
#ifndef HALO_CUDA_ERROR_H
#define HALO_CUDA_ERROR_H

#include <errno.h>

#include <cuda_runtime_api.h>

/* 0; -ENOMEM; -ENODEV: this process can use no such device; -EIO: the device or driver failed. */
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
