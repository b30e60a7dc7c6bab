/* SPDX-License-Identifier: BSD-2-Clause
 * A CUDA backend whose lanes are the real ones (kernels/cuda/lane.c) on the fake runtime, and whose
 * kernels are the CPU's. It stands in the place of the program's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/backends.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/lane.h"

struct fake_backend {
    struct halo_backend base;
    struct halo_cuda_lane lane;
    struct halo_backend *kernels;
    cudaStream_t stream;
};

struct halo_cuda_lane *halo_cuda_lane_of(struct halo_backend *b)
{
    return &((struct fake_backend *)b)->lane;
}

cudaStream_t halo_cuda_stream(const struct halo_backend *b)
{
    return ((const struct fake_backend *)b)->stream;
}

int halo_cuda_make_current(struct halo_backend *b)
{
    return halo_cuda_check(b, cudaSetDevice(0), "device");
}

int halo_cuda_check(struct halo_backend *b, cudaError_t status, const char *what)
{
    (void)b;
    if (status == cudaSuccess)
        return 0;
    printf("FAIL the fake runtime: %s: %d\n", what, (int)status);
    return status == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

/* Real kernels would read it nowhere else. */
static bool is_on_device(const struct halo_plane *plane)
{
    struct cudaPointerAttributes attributes;
    return cudaPointerGetAttributes(&attributes, plane->data) == cudaSuccess &&
           attributes.type == cudaMemoryTypeDevice && (uintptr_t)plane->data % 16 == 0 &&
           plane->stride % 16 == 0;
}

struct launch {
    struct halo_backend *kernels;
    struct halo_job job;
    struct halo_region region;
};

static void filter(void *arg)
{
    const struct launch *launch = arg;
    if (halo_backend_convolve(launch->kernels, &launch->job, 1) != 0)
        printf("FAIL a job of the fake device\n");
}

/* Rectangles are read later here, while the real one has read them when it returns. */
int halo_cuda_enqueue(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct fake_backend *fake = (struct fake_backend *)b;
    for (int i = 0; i < count; i++) {
        if (jobs[i].region && jobs[i].region->mask.data && !is_on_device(&jobs[i].region->mask))
            return halo_cuda_check(b, cudaErrorInvalidValue, "a mask that is not on the device");
        struct launch *launch = malloc(sizeof *launch);
        if (!launch)
            return -ENOMEM;
        launch->kernels = fake->kernels;
        launch->job = jobs[i];
        if (jobs[i].region) {
            launch->region = *jobs[i].region;
            launch->job.region = &launch->region;
        }
        const int code = halo_cuda_check(b, fake_cuda_launch(fake->stream, filter, launch), "jobs");
        if (code < 0)
            return code;
    }
    return 0;
}

struct spread {
    struct halo_plane dst, src;
    int step;
};

static void gather(void *arg)
{
    const struct spread *spread = arg;
    halo_gather(&spread->dst, &spread->src, spread->step);
}

cudaError_t halo_cuda_gather(const struct halo_plane *dst, const struct halo_plane *src, int step,
                             cudaStream_t stream)
{
    struct spread *spread = malloc(sizeof *spread);
    if (!spread)
        return cudaErrorMemoryAllocation;
    *spread = (struct spread){*dst, *src, step};
    return fake_cuda_launch(stream, gather, spread);
}

static void fake_close(struct halo_backend *b)
{
    struct fake_backend *fake = (struct fake_backend *)b;
    halo_cuda_lane_close(&fake->lane);
    if (fake->stream)
        cudaStreamDestroy(fake->stream);
    halo_backend_close(fake->kernels);
    free(fake);
}

static int fake_open(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    struct fake_backend *fake = calloc(1, sizeof *fake);
    if (!fake)
        return -ENOMEM;
    fake->base.ops = &halo_backend_cuda;
    fake->lane.mapped = settings->mapped == HALO_MAPPED_ON;
    const struct halo_backend_settings cpu = {.threads = 1};
    int error = halo_backend_open(&halo_backend_cpu, &cpu, &fake->kernels);
    if (error == 0 && cudaStreamCreateWithFlags(&fake->stream, 0) != cudaSuccess)
        error = -ENOMEM;
    if (error < 0) {
        fake_close(&fake->base);
        return error;
    }
    *ret = &fake->base;
    return 0;
}

static int fake_describe(char *text, size_t size)
{
    snprintf(text, size, "a fake runtime");
    return 1;
}

static bool any(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return true;
}

static const struct halo_strategy strategy = {.name = "fake", .can = any};
static const struct halo_strategy *const strategies[] = {&strategy, NULL};

const struct halo_backend_ops halo_backend_cuda = {
    .name = "cuda",
    .strategies = strategies,
    .describe = fake_describe,
    .open = fake_open,
    .close = fake_close,
    .submit = halo_cuda_submit,
    .finish = halo_cuda_finish,
    .measure = halo_cuda_measure,
    .times = halo_cuda_times,
    .memory = halo_cuda_memory,
    .memory_free = halo_cuda_memory_free,
    .is_lost = halo_cuda_is_lost,
};
