/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/library.h"

#include <errno.h>

#include "config/base/library.h"

static const struct halo_library_row rows[] = {
#define ROW(name) {"mosquitto_" #name, offsetof(struct halo_mosquitto, name)},
    HALO_MOSQUITTO_FUNCTIONS(ROW)
#undef ROW
};

const struct halo_mosquitto *halo_mosquitto_load(struct halo_error *err)
{
    static struct halo_mosquitto found;
    if (found.lib_init)
        return &found;
    struct halo_mosquitto all;
    if (halo_library_load(HALO_MOSQUITTO_NAME, "libmosquitto1", rows, sizeof rows / sizeof *rows,
                          &all, err) < 0)
        return NULL;
    if (all.lib_init() != MOSQ_ERR_SUCCESS) {
        halo_fail(err, -ENOMEM, "%s failed to start", HALO_MOSQUITTO_NAME);
        return NULL;
    }
    found = all;
    return &found;
}
