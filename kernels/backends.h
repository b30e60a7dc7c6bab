/* SPDX-License-Identifier: BSD-2-Clause
 * The operations of each backend: the rows of halo_backends[] (backends.c). */
#ifndef HALO_BACKENDS_H
#define HALO_BACKENDS_H

#include "kernels/backend.h"

/* Returns whether job follows the rules in backend.h. */
bool halo_job_ok(const struct halo_backend *b, const struct halo_job *job);

extern const struct halo_backend_ops halo_backend_cpu, halo_backend_cuda;

#endif
