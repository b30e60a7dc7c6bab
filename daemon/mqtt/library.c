/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ROW(name) {"mosquitto_" #name, offsetof(struct halo_mosquitto, name)},
    HALO_MOSQUITTO_FUNCTIONS(ROW)
#undef ROW
};

static bool find_functions(void *library, struct halo_mosquitto *ret, struct halo_error *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            halo_fail(err, -ENOSYS, "%s has no function %s", HALO_MOSQUITTO_NAME,
                      functions[i].name);
            return false;
        }
        memcpy((char *)ret + functions[i].offset, &function, sizeof function);
    }
    return true;
}

const struct halo_mosquitto *halo_mosquitto_load(struct halo_error *err)
{
    static struct halo_mosquitto found;
    if (found.lib_init)
        return &found;
    void *library = dlopen(HALO_MOSQUITTO_NAME, RTLD_NOW | RTLD_LOCAL); /* never closed */
    if (!library) {
        halo_fail(err, -ENOENT, "%s: install the package libmosquitto1", dlerror());
        return NULL;
    }
    struct halo_mosquitto all;
    if (!find_functions(library, &all, err))
        return NULL;
    if (all.lib_init() != MOSQ_ERR_SUCCESS) {
        halo_fail(err, -ENOMEM, "%s failed to start", HALO_MOSQUITTO_NAME);
        return NULL;
    }
    found = all;
    return &found;
}
