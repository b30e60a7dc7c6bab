/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend of builds without CUDA: it exists by name, but has no devices. */
#include <errno.h>
#include <stdio.h>

#include "kernels/backends.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/net_cuda.h"
#include "kernels/device_memory.h"
#include "kernels/ranges.h"

int halo_cuda_describe(char *text, size_t size)
{
    snprintf(text, size, "built without CUDA");
    return 0;
}

static int stub_open(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    (void)ret;
    (void)settings;
    return -ENODEV;
}

static void stub_close(struct halo_backend *b)
{
    (void)b;
}

static int stub_convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    (void)b;
    (void)jobs;
    (void)count;
    return -ENODEV;
}

const char *halo_cuda_error_text(const struct halo_backend *b)
{
    (void)b;
    return "built without CUDA";
}

int halo_device_loads(struct halo_device_load *ret, int most)
{
    (void)ret;
    (void)most;
    return 0;
}

int halo_device_memory(int device, struct halo_device_memory *ret)
{
    (void)device;
    (void)ret;
    return -ENODEV;
}

void halo_range_begin(const char *name)
{
    (void)name;
}

void halo_range_end(void)
{
}

static const struct halo_strategy *const no_strategies[] = {NULL};

const struct halo_backend_ops halo_backend_cuda = {
    .name = "cuda",
    .strategies = no_strategies,
    .describe = halo_cuda_describe,
    .open = stub_open,
    .close = stub_close,
    .convolve = stub_convolve,
};

static bool stub_can(void)
{
    return false;
}

/* halo_net_open() refuses it. */
const struct halo_net_strategy halo_net_cuda = {
    .name = "cuda",
    .about = "an NVIDIA GPU: built without CUDA",
    .can = stub_can,
};
