/* SPDX-License-Identifier: BSD-2-Clause
 * Describes the CUDA devices, or why none can be used, in one line; and how much memory of a device
 * is used. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/lane.h"
#include "kernels/device_memory.h"

/* Describes why no device is available. Whatever the runtime reports, the program continues without
 * a device. */
static void describe_failure(char *text, size_t size, cudaError_t status)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    (void)cudaGetLastError();

    if (status == cudaErrorStubLibrary || (status == cudaErrorInsufficientDriver && driver == 0))
        snprintf(text, size, "no NVIDIA driver");
    else if (status == cudaErrorInsufficientDriver)
        snprintf(
            text, size,
            "the NVIDIA driver is too old: it supports CUDA %d.%d, but this program needs %d.%d",
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else if (status == cudaSuccess || status == cudaErrorNoDevice)
        snprintf(text, size, "no device");
    else
        snprintf(text, size, "%s", cudaGetErrorString(status));
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

int halo_cuda_describe(char *text, size_t size)
{
    int devices = 0, driver = 0, runtime = 0;
    cudaError_t status = cudaGetDeviceCount(&devices);

    if (size > 0)
        text[0] = '\0';
    for (int i = 0; i < devices && status == cudaSuccess && size > 0; i++) {
        struct cudaDeviceProp p;
        status = cudaGetDeviceProperties(&p, i);
        if (status == cudaSuccess)
            append(text, size, "%s, sm_%d%d, ", p.name, p.major, p.minor);
    }
    if (status == cudaSuccess)
        status = cudaRuntimeGetVersion(&runtime);
    if (status == cudaSuccess)
        status = cudaDriverGetVersion(&driver);
    if (status != cudaSuccess || devices == 0) {
        describe_failure(text, size, status);
        return 0;
    }
    if (size > 0)
        append(text, size, "CUDA %d.%d runtime, driver %d.%d", runtime / 1000, runtime % 1000 / 10,
               driver / 1000, driver % 1000 / 10);
    return devices;
}

void halo_cuda_identify(int device, char *text, size_t size)
{
    struct cudaDeviceProp p = {.name = "device"};
    int driver = 0;
    if (cudaGetDeviceProperties(&p, device) != cudaSuccess ||
        cudaDriverGetVersion(&driver) != cudaSuccess)
        (void)cudaGetLastError();
    snprintf(text, size, "%s, sm_%d%d, driver %d.%d", p.name, p.major, p.minor, driver / 1000,
             driver % 1000 / 10);
}

/* The error must be read; otherwise the next launch of this thread would seem to have failed. */
int halo_device_memory(int device, struct halo_device_memory *ret)
{
    size_t spare = 0, size = 0;
    if (halo_cuda_is_lost())
        return -ENODEV;
    cudaError_t status = cudaSetDevice(device);
    if (status == cudaSuccess)
        status = cudaMemGetInfo(&spare, &size);
    if (status != cudaSuccess) {
        (void)cudaGetLastError();
        return status == cudaErrorInvalidDevice || status == cudaErrorNoDevice ? -ENODEV : -EIO;
    }
    *ret = (struct halo_device_memory){.used = (int64_t)(size - spare), .size = (int64_t)size};
    return 0;
}
