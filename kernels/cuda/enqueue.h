/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend from inside: work on planes that already lie in device memory. */
#ifndef HALO_ENQUEUE_H
#define HALO_ENQUEUE_H

#include <cuda_runtime_api.h>

#include "kernels/backend.h"

/* Puts jobs, checked before, onto the backend's stream and does not wait for them. Their planes are
 * device memory, data and strides multiples of 16; those of regions' masks too, while rectangles
 * are host memory that is read before the return. The first call with a mask, a larger plane or
 * more rectangles allocates and waits; later ones do neither, so that they can be captured into a
 * graph. 0 or -errno. */
int halo_cuda_enqueue(struct halo_backend *b, const struct halo_job *jobs, int count);

/* Whether kernels may be started early (launch.cuh): true after opening, where the device can. */
void halo_cuda_set_early(struct halo_backend *b, bool early);

cudaStream_t halo_cuda_stream(const struct halo_backend *b);
struct halo_cuda_lane *halo_cuda_lane_of(struct halo_backend *b);

/* Each thread has a current device of its own: makes it the backend's. 0 or -errno. */
int halo_cuda_make_current(struct halo_backend *b);

/* Notes a failure for halo_cuda_error_text: 0 or -errno. */
int halo_cuda_check(struct halo_backend *b, cudaError_t status, const char *what);

/* The time of its ops. */
int halo_cuda_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);

#endif
