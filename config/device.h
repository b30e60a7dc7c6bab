/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of the device that decodes and filters, common to `halod run` and the daemon's streams.
 * Const once loaded. */
#ifndef HALO_DEVICE_SETTINGS_H
#define HALO_DEVICE_SETTINGS_H

/* -backend: "auto", and the names of the backends. */
enum halo_run_backend {
    HALO_RUN_AUTO,
    HALO_RUN_CPU,
    HALO_RUN_CUDA,
};

extern const char *const halo_run_backends[]; /* indexed by enum halo_run_backend */
extern const char *const halo_run_hwaccels[]; /* indexed by enum halo_hwaccel */

/* -hwaccel */
enum halo_hwaccel {
    HALO_HWACCEL_AUTO,
    HALO_HWACCEL_CUDA,
    HALO_HWACCEL_NONE,
};

struct halo_device_settings {
    int backend;        /* enum halo_run_backend */
    int hwaccel;        /* enum halo_hwaccel */
    int gpu;            /* number of the GPU; negative: the least loaded GPU (backend.h) */
    int depth;          /* frames that the device processes at the same time */
    int threads;        /* filter threads; 0: one for each CPU */
    double gpu_timeout; /* seconds that the device may take for a frame */
};

#endif
