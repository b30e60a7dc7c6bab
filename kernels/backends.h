/* SPDX-License-Identifier: BSD-2-Clause
 * The operations of each backend: the rows of halo_backends[] (backends.c). */
#ifndef HALO_BACKENDS_H
#define HALO_BACKENDS_H

#include "kernels/backend.h"

extern const struct halo_backend_ops halo_backend_cpu, halo_backend_cuda;

#endif
