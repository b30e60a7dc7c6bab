/* SPDX-License-Identifier: BSD-2-Clause
 * Values for the devices that decode and filter (device.h). */
#include "config/device.h"

#include <stddef.h>

const char *const halo_run_backends[] = {
    [HALO_RUN_AUTO] = "auto",
    [HALO_RUN_CPU] = "cpu",
    [HALO_RUN_CUDA] = "cuda",
    NULL,
};

const char *const halo_run_hwaccels[] = {
    [HALO_HWACCEL_AUTO] = "auto",
    [HALO_HWACCEL_CUDA] = "cuda",
    [HALO_HWACCEL_NONE] = "none",
    NULL,
};
