/* SPDX-License-Identifier: BSD-2-Clause
 * Finds the GPU with the most free memory, or the least busy one of several with about as much,
 * through NVML: with CUDA itself, this would start a context on every device. The library is part
 * of the driver and is loaded at run time. */
#include <dlfcn.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/lane.h"
#include "kernels/device_memory.h"

enum {
    NVML_SUCCESS = 0,
    LIMIT = 64, /* number of devices, at most */
};

/* As declared in NVML's own header. */
typedef struct nvml_device *nvml_device;

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_use {
    unsigned gpu, memory; /* percent of the recent past */
};

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus, nvml_device *ret);
    int (*memory)(nvml_device device, struct nvml_memory *ret);
    int (*use)(nvml_device device, struct nvml_use *ret);
};

static bool load(struct nvml *n)
{
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return false;
    *(void **)&n->init = dlsym(n->library, "nvmlInit_v2");
    *(void **)&n->shutdown = dlsym(n->library, "nvmlShutdown");
    *(void **)&n->find = dlsym(n->library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&n->memory = dlsym(n->library, "nvmlDeviceGetMemoryInfo");
    *(void **)&n->use = dlsym(n->library, "nvmlDeviceGetUtilizationRates");
    return n->init && n->shutdown && n->find && n->memory && n->use && n->init() == NVML_SUCCESS;
}

static bool ask(const struct nvml *n, int device, struct halo_device_load *ret)
{
    char bus[32];
    nvml_device found;
    struct nvml_memory memory;
    struct nvml_use use = {0}; /* not every device reports it */
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess ||
        n->find(bus, &found) != NVML_SUCCESS || n->memory(found, &memory) != NVML_SUCCESS)
        return false;
    (void)n->use(found, &use);
    *ret = (struct halo_device_load){(int64_t)memory.free, (int)use.gpu};
    return true;
}

/* With a single device, NVML is not queried: there is no choice. */
int halo_device_loads(struct halo_device_load *ret, int most)
{
    int devices = 0;
    struct nvml n = {NULL};
    if (cudaGetDeviceCount(&devices) != cudaSuccess)
        devices = 0;
    devices = devices < most ? devices : most;
    for (int i = 0; i < devices; i++)
        ret[i] = (struct halo_device_load){0};
    if (devices > 1 && load(&n)) {
        for (int i = 0; i < devices; i++)
            (void)ask(&n, i, &ret[i]);
        n.shutdown();
    }
    (void)cudaGetLastError();
    if (n.library)
        dlclose(n.library);
    return devices;
}

static bool is_better(const struct halo_device_load *a, const struct halo_device_load *b)
{
    return halo_device_is_near(a->free, b->free) ? a->busy < b->busy : a->free > b->free;
}

int halo_cuda_least_loaded(void)
{
    struct halo_device_load loads[LIMIT], least = {0, 100};
    const int devices = halo_device_loads(loads, LIMIT);
    int best = 0;
    for (int i = 0; i < devices; i++)
        if (loads[i].free && is_better(&loads[i], &least)) {
            least = loads[i];
            best = i;
        }
    return best;
}
