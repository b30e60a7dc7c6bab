/* SPDX-License-Identifier: BSD-2-Clause
 * The backends' own op tables, one row each of halo_backends[] (backend.c). */
#ifndef HALO_BACKENDS_H
#define HALO_BACKENDS_H

#include "kernels/backend.h"

/* The rules of backend.h for one job. */
bool halo_job_ok(const struct halo_backend *b, const struct halo_job *job);

extern const struct halo_backend_ops halo_backend_cpu, halo_backend_cuda;

#endif
