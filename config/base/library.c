/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int halo_library_load(const char *name, const char *package, const struct halo_library_row *rows,
                      size_t count, void *table, struct halo_error *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* never closed */
    if (!library)
        return halo_fail(err, -ENOTSUP, "%s: install the package %s", dlerror(), package);
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, rows[i].name);
        if (!function)
            return halo_fail(err, -ENOTSUP, "%s has no function %s", name, rows[i].name);
        memcpy((char *)table + rows[i].offset, &function, sizeof function);
    }
    return 0;
}
