/* SPDX-License-Identifier: BSD-2-Clause
 * Stands in for the NVIDIA driver's libcuda.so.1, for tests without a GPU: the functions that
 * FFmpeg looks up. Those that an encoder with pictures in host memory needs succeed and do nothing;
 * the others fail. The CUDA runtime finds no driver in it, so the cuda backend is not there.
 *
 * NVENC_STANDIN_CUINIT: what cuInit returns (100: no device). */
#include <stdlib.h>
#include <string.h>

enum { NOT_SUPPORTED = 801 };

#define REFUSED(name)                                                                              \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_SUPPORTED;                                                                      \
    }

int cuInit(unsigned flags);
int cuDeviceGetCount(int *ret);
int cuDeviceGet(int *ret, int number);
int cuDeviceGetName(char *text, int size, int device);
int cuDeviceComputeCapability(int *major, int *minor, int device);
int cuDevicePrimaryCtxRetain(void **ret, int device);
int cuDevicePrimaryCtxRelease(int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **ret);
int cuCtxSynchronize(void);
int cuGetErrorName(int status, const char **ret);
int cuGetErrorString(int status, const char **ret);

static char context; /* its address stands for the primary context */

int cuInit(unsigned flags)
{
    const char *status = getenv("NVENC_STANDIN_CUINIT");
    (void)flags;
    return status ? atoi(status) : 0;
}

int cuDeviceGetCount(int *ret)
{
    *ret = 1;
    return 0;
}

int cuDeviceGet(int *ret, int number)
{
    *ret = number;
    return number == 0 ? 0 : 101;
}

int cuDeviceGetName(char *text, int size, int device)
{
    (void)device;
    strncpy(text, "stand-in", (size_t)size);
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

int cuCtxPushCurrent_v2(void *pushed)
{
    return pushed == &context ? 0 : 201;
}

int cuCtxPopCurrent_v2(void **ret)
{
    *ret = &context;
    return 0;
}

int cuCtxSynchronize(void)
{
    return 0;
}

int cuGetErrorName(int status, const char **ret)
{
    *ret = status ? "CUDA_ERROR_STANDIN" : "CUDA_SUCCESS";
    return 0;
}

int cuGetErrorString(int status, const char **ret)
{
    *ret = status == 100   ? "no CUDA-capable device is detected"
           : status == 101 ? "invalid device ordinal"
                           : "the stand-in refuses";
    return 0;
}

REFUSED(cuDeviceGetAttribute)
REFUSED(cuCtxCreate_v2)
REFUSED(cuCtxSetLimit)
REFUSED(cuCtxDestroy_v2)
REFUSED(cuMemAlloc_v2)
REFUSED(cuMemAllocPitch_v2)
REFUSED(cuMemAllocManaged)
REFUSED(cuMemsetD8Async)
REFUSED(cuMemFree_v2)
REFUSED(cuMemcpy)
REFUSED(cuMemcpyAsync)
REFUSED(cuMemcpy2D_v2)
REFUSED(cuMemcpy2DAsync_v2)
REFUSED(cuMemcpyHtoD_v2)
REFUSED(cuMemcpyHtoDAsync_v2)
REFUSED(cuMemcpyDtoH_v2)
REFUSED(cuMemcpyDtoHAsync_v2)
REFUSED(cuMemcpyDtoD_v2)
REFUSED(cuMemcpyDtoDAsync_v2)
REFUSED(cuCtxGetDevice)
REFUSED(cuDevicePrimaryCtxSetFlags)
REFUSED(cuDevicePrimaryCtxGetState)
REFUSED(cuDevicePrimaryCtxReset)
REFUSED(cuStreamCreate)
REFUSED(cuStreamQuery)
REFUSED(cuStreamSynchronize)
REFUSED(cuStreamDestroy_v2)
REFUSED(cuStreamAddCallback)
REFUSED(cuEventCreate)
REFUSED(cuEventDestroy_v2)
REFUSED(cuEventSynchronize)
REFUSED(cuEventQuery)
REFUSED(cuEventRecord)
REFUSED(cuLaunchKernel)
REFUSED(cuLinkCreate)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkDestroy)
REFUSED(cuModuleLoadData)
REFUSED(cuModuleUnload)
REFUSED(cuModuleGetFunction)
REFUSED(cuModuleGetGlobal)
REFUSED(cuTexObjectCreate)
REFUSED(cuTexObjectDestroy)
REFUSED(cuGLGetDevices_v2)
REFUSED(cuGraphicsGLRegisterImage)
REFUSED(cuGraphicsUnregisterResource)
REFUSED(cuGraphicsMapResources)
REFUSED(cuGraphicsUnmapResources)
REFUSED(cuGraphicsSubResourceGetMappedArray)
REFUSED(cuGraphicsResourceGetMappedPointer_v2)
REFUSED(cuArray3DCreate_v2)
REFUSED(cuArrayDestroy)
REFUSED(cuEGLStreamProducerConnect)
REFUSED(cuEGLStreamProducerDisconnect)
REFUSED(cuEGLStreamConsumerDisconnect)
REFUSED(cuEGLStreamProducerPresentFrame)
REFUSED(cuEGLStreamProducerReturnFrame)
