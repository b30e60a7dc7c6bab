/* SPDX-License-Identifier: BSD-2-Clause
 * The GPU as an FFmpeg device (hw_device.h).
 *
 * FFmpeg can open the primary context itself, but requires certain flags, and refuses a context
 * that the CUDA runtime has already created with others. So the context is retained here, with the
 * driver's functions, and lent to FFmpeg. */
#include "pipeline/frame/hw_device.h"

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

#include "kernels/backend.h"

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
    int (*copy)(uintptr_t to, uintptr_t from, size_t size, CUstream stream);
    int (*create_stream)(CUstream *ret, unsigned flags);
    int (*destroy_stream)(CUstream stream);
    int (*wait)(CUstream stream);
    int (*allocate)(uintptr_t *ret, size_t size);
    int (*free)(uintptr_t memory);
    int device, gpu;
    CUcontext context;
    CUstream stream; /* NULL: the default one */
};

enum { NON_BLOCKING = 1 }; /* CU_STREAM_NON_BLOCKING: it does not wait for the default stream */

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
        {"cuMemcpyDtoDAsync_v2", &d->copy},
        {"cuStreamCreate", &d->create_stream},
        {"cuStreamDestroy_v2", &d->destroy_stream},
        {"cuStreamSynchronize", &d->wait},
        {"cuMemAlloc_v2", &d->allocate},
        {"cuMemFree_v2", &d->free},
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

static int create_stream(struct driver *d)
{
    CUcontext before;
    int code = d->push(d->context);
    if (code == 0) {
        code = d->create_stream(&d->stream, NON_BLOCKING);
        (void)d->pop(&before);
    }
    return code;
}

static void release_driver(struct driver *d)
{
    CUcontext before;
    if (d->stream && d->push(d->context) == 0) {
        (void)d->destroy_stream(d->stream);
        (void)d->pop(&before);
    }
    if (d->context)
        (void)d->release(d->device);
    free(d);
}

static void release(AVHWDeviceContext *device)
{
    if (!halo_backend_is_left())
        release_driver(device->user_opaque);
}

AVBufferRef *halo_hw_device_get(int gpu, bool own_stream, struct halo_error *err)
{
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
        code = d->retain(&d->context, d->device);
    if (code == 0 && own_stream)
        code = create_stream(d);
    if (code != 0) {
        halo_fail(err, -ENODEV, "GPU %d: %s", gpu, words_of(d, code));
        goto fail;
    }
    AVHWDeviceContext *device = (AVHWDeviceContext *)ref->data;
    device->user_opaque = d;
    device->free = release;
    AVCUDADeviceContext *cuda = device->hwctx;
    cuda->cuda_ctx = d->context;
    cuda->stream = d->stream;
    d = NULL; /* release() frees it together with ref */
    if (av_hwdevice_ctx_init(ref) >= 0)
        return ref;
    halo_fail(err, -EIO, "GPU %d: FFmpeg cannot use the NVIDIA driver", gpu);
fail:
    if (d)
        release_driver(d);
    av_buffer_unref(&ref);
    return NULL;
}

/* Copies to the host, or within the device's memory. */
static int copy(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                bool to_host, struct halo_error *err)
{
    const struct driver *d = device->user_opaque;
    CUcontext before;
    int code = d->push(d->context);
    if (code == 0) {
        if (!to_host)
            code = d->copy((uintptr_t)to, (uintptr_t)from, size, d->stream);
        if (code == 0)
            code = d->wait(d->stream);
        if (code == 0 && to_host)
            code = d->read(to, (uintptr_t)from, size);
        (void)d->pop(&before);
    }
    return code == 0 ? 0
                     : halo_fail_device(err, "GPU %d: a frame cannot be %s: %s", d->gpu,
                                        to_host ? "read back" : "copied", words_of(d, code));
}

int halo_hw_device_read(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err)
{
    return copy(device, to, from, size, true, err);
}

int halo_hw_device_copy(const AVHWDeviceContext *device, void *to, const void *from, size_t size,
                        struct halo_error *err)
{
    return copy(device, to, from, size, false, err);
}

/* Each buffer keeps the device. */
static void free_buffer(void *opaque, uint8_t *data)
{
    AVBufferRef *ref = opaque;
    const AVHWDeviceContext *device = (const AVHWDeviceContext *)ref->data;
    const struct driver *d = device->user_opaque;
    CUcontext before;
    if (!halo_backend_is_left() && d->push(d->context) == 0) {
        (void)d->free((uintptr_t)data);
        (void)d->pop(&before);
    }
    av_buffer_unref(&ref);
}

static AVBufferRef *allocate_buffer(void *opaque, size_t size)
{
    AVBufferRef *ref = av_buffer_ref(opaque), *ret = NULL;
    const AVHWDeviceContext *device = ref ? (const AVHWDeviceContext *)ref->data : NULL;
    const struct driver *d = device ? device->user_opaque : NULL;
    CUcontext before;
    uintptr_t data = 0;
    if (d && d->push(d->context) == 0) {
        if (d->allocate(&data, size) == 0 &&
            !(ret = av_buffer_create((uint8_t *)data, size, free_buffer, ref, 0)))
            (void)d->free(data);
        (void)d->pop(&before);
    }
    if (!ret)
        av_buffer_unref(&ref);
    return ret;
}

static void free_pool(void *opaque)
{
    AVBufferRef *ref = opaque;
    av_buffer_unref(&ref);
}

AVBufferPool *halo_hw_device_pool(AVBufferRef *device, size_t size)
{
    AVBufferRef *ref = av_buffer_ref(device);
    AVBufferPool *pool = ref ? av_buffer_pool_init2(size, ref, allocate_buffer, free_pool) : NULL;
    if (!pool)
        av_buffer_unref(&ref);
    return pool;
}

int halo_hw_device_check(const AVHWDeviceContext *device, struct halo_error *err)
{
    const struct driver *d = device->user_opaque;
    CUcontext before;
    int code = d->push(d->context);
    if (code == 0) {
        code = d->synchronize();
        (void)d->pop(&before);
    }
    return code == 0 ? 0 : halo_fail_device(err, "GPU %d: %s", d->gpu, words_of(d, code));
}

void *halo_hw_device_stream(const AVHWDeviceContext *device)
{
    const struct driver *d = device->user_opaque;
    return d->stream;
}
