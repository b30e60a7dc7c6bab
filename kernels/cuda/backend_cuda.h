/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend beyond its ops; also there in builds without CUDA. */
#ifndef HALO_BACKEND_CUDA_H
#define HALO_BACKEND_CUDA_H

#include "kernels/frame.h"

/* What went wrong in the last call on b that failed: one line, valid until the next call on it.
 * Empty while nothing did. b is a CUDA backend; NULL: why this thread's last open failed. */
const char *halo_cuda_error_text(const struct halo_backend *b);

/* The describe of its ops. */
int halo_cuda_describe(char *text, size_t size);

/* halo_frame_measure() and halo_frame_times() of a CUDA backend. */
void halo_cuda_measure(struct halo_backend *b);
int halo_cuda_times(struct halo_backend *b, struct halo_frame_times *ret);

/* The name, compute capability and driver of a device, in one line. */
void halo_cuda_identify(int device, char *text, size_t size);

#endif
