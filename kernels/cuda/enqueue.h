/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend's internal interface: work on planes that are already in device memory. */
#ifndef HALO_ENQUEUE_H
#define HALO_ENQUEUE_H

#include <cuda_runtime_api.h>

#include "kernels/backend.h"

/* Enqueues jobs, which must have been checked, on the backend's stream, and does not wait for them.
 * The jobs' planes, including the masks of regions, must be in device memory, with addresses and
 * strides that are multiples of 16. Rectangles are in host memory, and are read before the function
 * returns. The first call with a given mask, a larger plane or more rectangles allocates memory and
 * waits; later calls do neither, so they can be captured into a graph. Returns 0 or -errno. */
int halo_cuda_enqueue(struct halo_backend *b, const struct halo_job *jobs, int count);

/* Sets whether kernels may be started early (launch.cuh). By default, kernels may be started early
 * if the device supports it. */
void halo_cuda_set_early(struct halo_backend *b, bool early);

cudaStream_t halo_cuda_stream(const struct halo_backend *b);
struct halo_cuda_lane *halo_cuda_lane_of(struct halo_backend *b);

/* Makes the backend's device the current device of this thread (each thread has its own). Returns 0
 * or -errno. */
int halo_cuda_make_current(struct halo_backend *b);

/* Returns 0 if status is cudaSuccess; otherwise records the failure for halo_cuda_error_text() and
 * returns -errno. */
int halo_cuda_check(struct halo_backend *b, cudaError_t status, const char *what);

/* Implements `time` of struct halo_backend_ops. */
int halo_cuda_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);

#endif
