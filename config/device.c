/* SPDX-License-Identifier: BSD-2-Clause
 * Values for the devices that decode and filter (device.h). */
#include "config/device.h"

#include <stddef.h>

const char *const halo_run_backends[] = {"auto", "cpu", "cuda", NULL};

const char *const halo_run_hwaccels[] = {
    [HALO_HWACCEL_AUTO] = "auto",
    [HALO_HWACCEL_CUDA] = "cuda",
    [HALO_HWACCEL_NONE] = "none",
    NULL,
};
