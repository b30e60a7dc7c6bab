/* SPDX-License-Identifier: BSD-2-Clause
 * Which of several GPUs is taken, with CUDA and NVML played by this file. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/lane.h"
#include "kernels/device_memory.h"
#include "tests/cmocka_all.h"

enum { DEVICES = 4 };

static const unsigned long long MIB = 1 << 20;

static struct {
    int devices;
    bool library;
    struct {
        unsigned long long free; /* MiB; 0: NVML does not know the device */
        unsigned busy;
    } device[DEVICES];
    int loads;
} machine;

cudaError_t cudaGetDeviceCount(int *ret)
{
    *ret = machine.devices;
    return machine.devices ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDeviceGetPCIBusId(char *ret, int size, int device)
{
    snprintf(ret, (size_t)size, "0000:%02d:00.0", device);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

static int start(void)
{
    return 0;
}

static int find(const char *bus, void **ret)
{
    const int device = atoi(bus + 5);
    *ret = &machine.device[device];
    return machine.device[device].free ? 0 : 6;
}

static int memory(void *device, unsigned long long *ret)
{
    memcpy(&ret[1], device, sizeof ret[1]);
    ret[1] *= MIB;
    return 0;
}

static int use(void *device, unsigned *ret)
{
    memcpy(ret, (char *)device + sizeof(unsigned long long), sizeof *ret);
    return 0;
}

void *dlopen(const char *name, int flags)
{
    (void)name;
    (void)flags;
    machine.loads++;
    return machine.library ? &machine : NULL;
}

int dlclose(void *library)
{
    return library == &machine ? 0 : -1;
}

void *dlsym(void *restrict library, const char *restrict name)
{
    static const struct {
        const char *name;
        void *function;
    } table[] = {{"nvmlInit_v2", (void *)start},
                 {"nvmlShutdown", (void *)start},
                 {"nvmlDeviceGetHandleByPciBusId_v2", (void *)find},
                 {"nvmlDeviceGetMemoryInfo", (void *)memory},
                 {"nvmlDeviceGetUtilizationRates", (void *)use}};
    assert_ptr_equal(library, &machine);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return table[i].function;
    return NULL;
}

static void test_nothing_to_choose(void **state)
{
    (void)state;
    for (int devices = 0; devices < 2; devices++) {
        memset(&machine, 0, sizeof machine);
        machine.devices = devices;
        assert_int_equal(halo_cuda_least_loaded(), 0);
        assert_int_equal(machine.loads, 0);
    }
    machine.devices = 2;
    assert_int_equal(halo_cuda_least_loaded(), 0); /* no NVML */
    assert_int_equal(machine.loads, 1);
}

static void test_choice(void **state)
{
    (void)state;
    static const struct {
        unsigned long long free[DEVICES];
        unsigned busy[DEVICES];
        int want;
    } cases[] = {
        {{8000, 9000, 10000, 4000}, {0, 0, 90, 0}, 2},  /* memory first */
        {{8000, 8100, 7900, 4000}, {50, 20, 30, 0}, 1}, /* much the same: the idle one */
        {{8000, 8000, 8000, 8000}, {0, 0, 0, 0}, 0},
        {{0, 8000, 0, 9000}, {0, 0, 0, 0}, 3}, /* some that NVML does not know */
        {{0, 0, 0, 0}, {0, 0, 0, 0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&machine, 0, sizeof machine);
        machine.devices = DEVICES;
        machine.library = true;
        for (int d = 0; d < DEVICES; d++) {
            machine.device[d].free = cases[i].free[d];
            machine.device[d].busy = cases[i].busy[d];
        }
        assert_int_equal(halo_cuda_least_loaded(), cases[i].want);
    }
}

static void test_loads(void **state)
{
    (void)state;
    struct halo_device_load got[DEVICES + 1];
    memset(&machine, 0, sizeof machine);
    assert_int_equal(halo_device_loads(got, DEVICES), 0);
    machine.devices = 1;
    assert_int_equal(halo_device_loads(got, DEVICES), 1);
    assert_int_equal(got[0].free, 0);
    assert_int_equal(machine.loads, 0); /* of one there is nothing to ask */
    machine.devices = DEVICES;
    machine.library = true;
    for (int d = 0; d < DEVICES; d++) {
        machine.device[d].free = d == 2 ? 0 : 1000 * (unsigned)(d + 1); /* 2: not known */
        machine.device[d].busy = 10 * (unsigned)d;
    }
    assert_int_equal(halo_device_loads(got, 2), 2);
    assert_int_equal(halo_device_loads(got, DEVICES + 1), DEVICES);
    assert_true(got[0].free == (int64_t)(1000 * MIB) && got[0].busy == 0);
    assert_true(got[2].free == 0 && got[2].busy == 0);
    assert_true(got[3].free == (int64_t)(4000 * MIB) && got[3].busy == 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_choose),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
