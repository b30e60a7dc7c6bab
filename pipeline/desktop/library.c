/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/desktop/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ROW(name) {"pw_" #name, offsetof(struct halo_pipewire, name)},
    HALO_PIPEWIRE_FUNCTIONS(ROW)
#undef ROW
};

static bool find_functions(void *library, struct halo_pipewire *ret, struct halo_error *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            halo_fail(err, -ENOTSUP, "%s has no function %s", HALO_PIPEWIRE_LIBRARY,
                      functions[i].name);
            return false;
        }
        memcpy((char *)ret + functions[i].offset, &function, sizeof function);
    }
    return true;
}

static const struct halo_pipewire *load(struct halo_error *err)
{
    static struct halo_pipewire found;
    if (found.init)
        return &found;
    void *library = dlopen(HALO_PIPEWIRE_LIBRARY, RTLD_NOW | RTLD_LOCAL); /* never closed */
    if (!library) {
        halo_fail(err, -ENOTSUP, "%s: install the package libpipewire-0.3-0", dlerror());
        return NULL;
    }
    struct halo_pipewire all;
    if (!find_functions(library, &all, err))
        return NULL;
    all.init(NULL, NULL);
    if (!getenv("PIPEWIRE_DEBUG"))
        all.log_set_level(SPA_LOG_LEVEL_NONE); /* halod reports failures itself */
    found = all;
    return &found;
}

const struct halo_pipewire *halo_pipewire_load(struct halo_error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const struct halo_pipewire *ret = load(err);
    pthread_mutex_unlock(&lock);
    return ret;
}
