/* SPDX-License-Identifier: BSD-2-Clause
 * Functions of the CUDA backend besides its ops; also available in builds without CUDA. */
#ifndef HALO_BACKEND_CUDA_H
#define HALO_BACKEND_CUDA_H

#include "kernels/frame.h"

/* Returns the error of the last call on b that failed: one line, valid until the next call on b, or
 * "" if no call has failed. b is a CUDA backend or NULL; if it is NULL, returns the reason why this
 * thread's last open failed. */
const char *halo_cuda_error_text(const struct halo_backend *b);

/* Implements `describe` of struct halo_backend_ops. */
int halo_cuda_describe(char *text, size_t size);

/* Implement halo_frame_measure() and halo_frame_times(). */
void halo_cuda_measure(struct halo_backend *b);
int halo_cuda_times(struct halo_backend *b, struct halo_frame_times *ret);

/* Fills text with the name, compute capability and driver of a device, in one line. */
void halo_cuda_identify(int device, char *text, size_t size);

#endif
