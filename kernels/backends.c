/* SPDX-License-Identifier: BSD-2-Clause
 * The table of backends. */
#include "kernels/backends.h"

#include <string.h>

const struct halo_backend_ops *const halo_backends[] = {
    &halo_backend_cpu,
    &halo_backend_cuda,
    NULL,
};

const struct halo_backend_ops *halo_backend_find(const char *name)
{
    for (const struct halo_backend_ops *const *ops = halo_backends; *ops; ops++) {
        if (!strcmp((*ops)->name, name))
            return *ops;
    }
    return NULL;
}
