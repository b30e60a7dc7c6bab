/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/library.h"

#include <stdlib.h>

#include "config/base/library.h"
#include "config/base/thread.h"

static const struct halo_library_row rows[] = {
#define ROW(name) {"pw_" #name, offsetof(struct halo_pipewire, name)},
    HALO_PIPEWIRE_FUNCTIONS(ROW)
#undef ROW
};

static const struct halo_pipewire *load(struct halo_error *err)
{
    static struct halo_pipewire found;
    if (found.init)
        return &found;
    struct halo_pipewire all;
    if (halo_library_load(HALO_PIPEWIRE_LIBRARY, "libpipewire-0.3-0", rows,
                          sizeof rows / sizeof *rows, &all, err) < 0)
        return NULL;
    all.init(NULL, NULL);
    if (!getenv("PIPEWIRE_DEBUG"))
        all.log_set_level(SPA_LOG_LEVEL_NONE); /* halod reports failures itself */
    found = all;
    return &found;
}

const struct halo_pipewire *halo_pipewire_load(struct halo_error *err)
{
    static struct halo_mutex lock;
    halo_lock(&lock);
    const struct halo_pipewire *ret = load(err);
    halo_unlock(&lock);
    return ret;
}
