/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend: opening and closing a device, and the table of its operations. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backends.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/backend_private.h"

/* The error of the last open that failed, which has no backend to hold it. */
static _Thread_local char open_error[200];

static bool cuda_has(const struct halo_backend *b, const struct halo_strategy *strategy)
{
    return ((const struct halo_cuda_strategy *)strategy)->compute <=
           ((const struct halo_cuda_backend *)b)->compute;
}

static void cuda_close(struct halo_backend *b)
{
    struct halo_cuda_backend *c = (struct halo_cuda_backend *)b;

    if (!halo_cuda_is_lost() && cudaSetDevice(c->device) == cudaSuccess) {
        if (c->stream)
            cudaStreamDestroy(c->stream);
        cudaFreeHost(c->up.data);
        cudaFreeHost(c->down.data);
        cudaFree(c->src.data);
        cudaFree(c->dst.data);
        cudaFree(c->wide.data);
        cudaFree(c->regions.data);
        halo_cuda_lane_close(&c->lane);
        halo_cuda_free_masks(c);
    }
    halo_cuda_forget_masks(c);
    (void)cudaGetLastError();
    free(c);
}

/* Makes a CUDA stream with a higher or lower priority than those of other video streams. */
static cudaError_t make_stream(struct halo_cuda_backend *c, bool live)
{
    int last = 0, first = 0;
    const cudaError_t status = cudaDeviceGetStreamPriorityRange(&last, &first);
    return status != cudaSuccess ? status
                                 : cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking,
                                                                live ? first : last);
}

/* Chooses whether host memory is used in place: by default on an integrated device, which computes
 * in the host's memory. */
static cudaError_t choose_mapped(struct halo_cuda_backend *c, const struct halo_backend_settings *s)
{
    int integrated = 0, possible = 0;
    cudaError_t status = cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, c->device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&possible, cudaDevAttrCanMapHostMemory, c->device);
    c->lane.mapped =
        possible && (s->mapped == HALO_MAPPED_AUTO ? integrated : s->mapped == HALO_MAPPED_ON);
    return status;
}

/* The errno for an unavailable device: none exists; the driver must be updated; or the cause may be
 * temporary, such as a fabric that is still starting. */
static int code_of_none(cudaError_t status)
{
    int driver = 0;
    switch (status) {
    case cudaErrorNoDevice:
    case cudaErrorStubLibrary:
        return -ENODEV;
    case cudaErrorInsufficientDriver:
        return cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0 ? -ENOTSUP : -ENODEV;
    default:
        return -EIO;
    }
}

static int cuda_open(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    (void)cudaGetLastError();
    snprintf(open_error, sizeof open_error, "%s",
             counted == cudaSuccess ? "no such device" : cudaGetErrorString(counted));
    if (halo_cuda_is_lost())
        return -EIO;
    if (counted != cudaSuccess)
        return code_of_none(counted);
    if (settings->device >= devices)
        return -ENODEV;

    struct halo_cuda_backend *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->base.ops = &halo_backend_cuda;
    c->device = settings->device;

    cudaError_t status = cudaSetDevice(c->device);
    if (status == cudaSuccess)
        status = halo_cuda_probe(&c->compute);
    halo_cuda_set_early(&c->base, true);
    if (status == cudaSuccess)
        status = choose_mapped(c, settings);
    if (status == cudaSuccess)
        status = make_stream(c, settings->live);
    if (status == cudaSuccess) {
        halo_cuda_set_memory_device(c->device);
        *ret = &c->base;
        return 0;
    }
    const int code = halo_cuda_check(&c->base, status, "open");
    memcpy(open_error, c->error, sizeof open_error);
    cuda_close(&c->base);
    return code;
}

const char *halo_cuda_error_text(const struct halo_backend *b)
{
    return b ? ((const struct halo_cuda_backend *)b)->error : open_error;
}

static void cuda_identify(const struct halo_backend *b, char *text, size_t size)
{
    halo_cuda_identify(((const struct halo_cuda_backend *)b)->device, text, size);
}

const struct halo_backend_ops halo_backend_cuda = {
    .name = "cuda",
    .strategies = halo_cuda_strategies,
    .describe = halo_cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .convolve = halo_cuda_convolve,
    .identify = cuda_identify,
    .has = cuda_has,
    .time = halo_cuda_time,
    .submit = halo_cuda_submit,
    .finish = halo_cuda_finish,
    .measure = halo_cuda_measure,
    .times = halo_cuda_times,
    .memory = halo_cuda_memory,
    .memory_free = halo_cuda_memory_free,
    .error_text = halo_cuda_error_text,
    .is_lost = halo_cuda_is_lost,
    .least_loaded = halo_cuda_least_loaded,
};
