/* SPDX-License-Identifier: BSD-2-Clause
 * A stand-in for the NVIDIA driver: one GPU whose memory is the host's, for tests of what loads it.
 * It has the functions that FFmpeg and halod look for, and can do what NVDEC and NVENC need. The
 * CUDA runtime finds no driver in it, so the cuda backend is not there. */
#include "tests/standin/standin.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NOT_SUPPORTED = 801,
};

static int context; /* its address is the context */
static atomic_bool lost;

static void __attribute__((constructor)) loaded(void)
{
    standin_log("libcuda");
}

/* A device that is lost stays lost, for every call. */
int standin_lose_device(void)
{
    atomic_store(&lost, true);
    return STANDIN_LOST;
}

static int status(void)
{
    return atomic_load(&lost) ? STANDIN_LOST : 0;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return standin_is("no-device") ? NO_DEVICE : 0;
}

int cuDeviceGetCount(int *ret)
{
    *ret = 1;
    return 0;
}

int cuDeviceGet(int *ret, int number)
{
    *ret = number;
    return number == 0 ? 0 : INVALID_DEVICE;
}

int cuDeviceGetAttribute(int *ret, int attribute, int device)
{
    (void)attribute;
    (void)device;
    *ret = 512; /* FFmpeg asks for the alignment of textures */
    return 0;
}

int cuDeviceGetName(char *ret, int size, int device)
{
    (void)device;
    strncpy(ret, "stand-in", (size_t)size);
    return 0;
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    (void)device;
    *major = 9;
    *minor = 0;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **ret, int device)
{
    (void)device;
    *ret = &context;
    return 0;
}

int cuDevicePrimaryCtxRelease(int device)
{
    (void)device;
    return 0;
}

int cuDevicePrimaryCtxSetFlags(int device, unsigned flags)
{
    (void)device;
    (void)flags;
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = 1; /* with flags that FFmpeg would not have chosen */
    return 0;
}

int cuCtxPushCurrent_v2(void *pushed)
{
    return pushed == &context ? 0 : INVALID_CONTEXT;
}

int cuCtxPopCurrent_v2(void **ret)
{
    *ret = &context;
    return 0;
}

int cuCtxGetDevice(int *ret)
{
    *ret = 0;
    return 0;
}

int cuCtxSynchronize(void)
{
    return status();
}

int cuStreamCreate(void **ret, unsigned flags)
{
    (void)flags;
    *ret = &context;
    return status();
}

int cuStreamDestroy_v2(void *stream)
{
    (void)stream;
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return status();
}

int cuMemAlloc_v2(uintptr_t *ret, size_t size)
{
    void *memory = malloc(size);
    *ret = (uintptr_t)memory;
    return memory ? status() : OUT_OF_MEMORY;
}

int cuMemFree_v2(uintptr_t memory)
{
    free((void *)memory);
    return 0;
}

int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t size, void *stream)
{
    (void)stream;
    if (status() == 0)
        memcpy((void *)to, (void *)from, size);
    return status();
}

int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t size)
{
    if (status() == 0)
        memcpy(to, (void *)from, size);
    return status();
}

int cuGetErrorName(int error, const char **ret)
{
    *ret = error == STANDIN_LOST ? "STANDIN_LOST" : "STANDIN_ERROR";
    return 0;
}

int cuGetErrorString(int error, const char **ret)
{
    *ret = error == STANDIN_LOST ? "the stand-in is lost"
           : error == NO_DEVICE  ? "no CUDA-capable device is detected"
                                 : "the stand-in does not do that";
    return 0;
}

/* Looked for, and not called here. */
#define ABSENT(name)                                                                               \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_SUPPORTED;                                                                      \
    }
ABSENT(cuArray3DCreate_v2)
ABSENT(cuArrayCreate_v2)
ABSENT(cuArrayDestroy)
ABSENT(cuCtxCreate_v2)
ABSENT(cuCtxDestroy_v2)
ABSENT(cuCtxGetCurrent)
ABSENT(cuCtxSetLimit)
ABSENT(cuDestroyExternalMemory)
ABSENT(cuDestroyExternalSemaphore)
ABSENT(cuDeviceGetByPCIBusId)
ABSENT(cuDeviceGetLuid)
ABSENT(cuDeviceGetPCIBusId)
ABSENT(cuDeviceGetUuid)
ABSENT(cuDeviceGetUuid_v2)
ABSENT(cuDevicePrimaryCtxReset)
ABSENT(cuDriverGetVersion)
ABSENT(cuEGLStreamConsumerDisconnect)
ABSENT(cuEGLStreamProducerConnect)
ABSENT(cuEGLStreamProducerDisconnect)
ABSENT(cuEGLStreamProducerPresentFrame)
ABSENT(cuEGLStreamProducerReturnFrame)
ABSENT(cuEventCreate)
ABSENT(cuEventDestroy_v2)
ABSENT(cuEventQuery)
ABSENT(cuEventRecord)
ABSENT(cuEventSynchronize)
ABSENT(cuExternalMemoryGetMappedBuffer)
ABSENT(cuExternalMemoryGetMappedMipmappedArray)
ABSENT(cuGLGetDevices_v2)
ABSENT(cuGraphicsGLRegisterImage)
ABSENT(cuGraphicsMapResources)
ABSENT(cuGraphicsResourceGetMappedPointer_v2)
ABSENT(cuGraphicsSubResourceGetMappedArray)
ABSENT(cuGraphicsUnmapResources)
ABSENT(cuGraphicsUnregisterResource)
ABSENT(cuImportExternalMemory)
ABSENT(cuImportExternalSemaphore)
ABSENT(cuLaunchKernel)
ABSENT(cuLinkAddData)
ABSENT(cuLinkComplete)
ABSENT(cuLinkCreate)
ABSENT(cuLinkDestroy)
ABSENT(cuMemAllocManaged)
ABSENT(cuMemAllocPitch_v2)
ABSENT(cuMemcpy)
ABSENT(cuMemcpy2DAsync_v2)
ABSENT(cuMemcpy2D_v2)
ABSENT(cuMemcpyAsync)
ABSENT(cuMemcpyDtoD_v2)
ABSENT(cuMemcpyDtoHAsync_v2)
ABSENT(cuMemcpyHtoDAsync_v2)
ABSENT(cuMemcpyHtoD_v2)
ABSENT(cuMemsetD8Async)
ABSENT(cuMipmappedArrayDestroy)
ABSENT(cuMipmappedArrayGetLevel)
ABSENT(cuModuleGetFunction)
ABSENT(cuModuleGetGlobal)
ABSENT(cuModuleLoadData)
ABSENT(cuModuleUnload)
ABSENT(cuSignalExternalSemaphoresAsync)
ABSENT(cuStreamAddCallback)
ABSENT(cuStreamQuery)
ABSENT(cuStreamWaitEvent)
ABSENT(cuTexObjectCreate)
ABSENT(cuTexObjectDestroy)
ABSENT(cuWaitExternalSemaphoresAsync)
