/* SPDX-License-Identifier: BSD-2-Clause
 * The GPU as an FFmpeg device (hw_device.h).
 *
 * FFmpeg can open the primary context itself, but requires certain flags, and refuses a context
 * that the CUDA runtime has already created with others. So the context is retained here, with the
 * driver's functions, and lent to FFmpeg. */
#include "pipeline/picture/hw_device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/* Definitions from CUDA's header that FFmpeg's header needs; builds without CUDA do not have it. */
#ifndef CUDA_VERSION
#define CUDA_VERSION 0
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
#endif
#include <libavutil/hwcontext_cuda.h>

/* The driver's functions; all return 0 on success. */
struct driver {
    int (*init)(unsigned flags);
    int (*device_get)(int *ret, int number);
    int (*retain)(CUcontext *ret, int device);
    int (*release)(int device);
    int (*error_string)(int status, const char **ret);
    int (*push)(CUcontext context);
    int (*pop)(CUcontext *ret);
    int (*synchronize)(void);
    int (*read)(void *to, uintptr_t from, size_t size); /* waits for the default stream */
    int device, gpu;
};

static int load(struct driver *d, struct halo_error *err)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* never closed */
    if (!library)
        return halo_fail(err, -ENODEV, "there is no NVIDIA driver (libcuda.so.1)");
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"cuInit", &d->init},
        {"cuDeviceGet", &d->device_get},
        {"cuDevicePrimaryCtxRetain", &d->retain},
        {"cuDevicePrimaryCtxRelease", &d->release},
        {"cuGetErrorString", &d->error_string},
        {"cuCtxPushCurrent_v2", &d->push},
        {"cuCtxPopCurrent_v2", &d->pop},
        {"cuCtxSynchronize", &d->synchronize},
        {"cuMemcpyDtoH_v2", &d->read},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            return halo_fail(err, -ENODEV, "the NVIDIA driver lacks the function %s",
                             symbols[i].name);
        *(void **)symbols[i].function = found;
    }
    return 0;
}

static const char *words_of(const struct driver *d, int status)
{
    const char *words = NULL;
    (void)d->error_string(status, &words);
    return words ? words : "the driver failed";
}

static void release(AVHWDeviceContext *device)
{
    const struct driver *d = device->user_opaque;
    (void)d->release(d->device);
    free(device->user_opaque);
}

AVBufferRef *halo_hw_device_get(int gpu, struct halo_error *err)
{
    CUcontext context = NULL;
    struct driver *d = calloc(1, sizeof *d);
    AVBufferRef *ref = d ? av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA) : NULL;
    if (!ref) {
        halo_fail(err, d ? -ENODEV : -ENOMEM,
                  d ? "this FFmpeg was built without CUDA" : "out of memory");
        goto fail;
    }
    if (load(d, err) < 0)
        goto fail;
    d->gpu = gpu;
    int code = d->init(0);
    if (code == 0)
        code = d->device_get(&d->device, gpu);
    if (code == 0)
        code = d->retain(&context, d->device);
    if (code != 0) {
        halo_fail(err, -ENODEV, "GPU %d: %s", gpu, words_of(d, code));
        goto fail;
    }
    AVHWDeviceContext *device = (AVHWDeviceContext *)ref->data;
    device->user_opaque = d;
    device->free = release;
    ((AVCUDADeviceContext *)device->hwctx)->cuda_ctx = context;
    d = NULL; /* release() frees it together with ref */
    if (av_hwdevice_ctx_init(ref) >= 0)
        return ref;
    halo_fail(err, -EIO, "GPU %d: FFmpeg cannot use the NVIDIA driver", gpu);
fail:
    free(d);
    av_buffer_unref(&ref);
    return NULL;
}

static AVCUDADeviceContext *cuda_of(const AVHWDeviceContext *device)
{
    return device->hwctx;
}

int halo_hw_device_read(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err)
{
    const struct driver *d = device->user_opaque;
    CUcontext before;
    int code = d->push(cuda_of(device)->cuda_ctx);
    if (code == 0) {
        code = d->read(to, (uintptr_t)from, size);
        (void)d->pop(&before);
    }
    return code == 0 ? 0
                     : halo_fail_device(err, "GPU %d: a frame cannot be read back: %s", d->gpu,
                                        words_of(d, code));
}

int halo_hw_device_check(const AVHWDeviceContext *device, struct halo_error *err)
{
    const struct driver *d = device->user_opaque;
    CUcontext before;
    int code = d->push(cuda_of(device)->cuda_ctx);
    if (code == 0) {
        code = d->synchronize();
        (void)d->pop(&before);
    }
    return code == 0 ? 0 : halo_fail_device(err, "GPU %d: %s", d->gpu, words_of(d, code));
}

void *halo_hw_device_stream(const AVHWDeviceContext *device)
{
    return cuda_of(device)->stream;
}
