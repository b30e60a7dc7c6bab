/* SPDX-License-Identifier: BSD-2-Clause
 * halo-bench --list. */
#include <stdio.h>

#include "tools/halo-bench/commands.h"

static void list_backend(const struct halo_backend_ops *ops, int device)
{
    char text[256];
    const struct halo_backend_settings settings = {.device = device};
    struct halo_backend *b = NULL;
    const int devices = ops->describe(text, sizeof text);
    printf("%s: %s%s\n", ops->name, text, devices > 0 ? "" : " (not usable here)");
    if (devices > 0 && halo_backend_open(ops, &settings, &b) < 0)
        b = NULL;
    for (const struct halo_strategy *const *s = ops->strategies; *s; s++) {
        const char *here = !b                             ? "no device"
                           : !ops->has || ops->has(b, *s) ? "runs here"
                                                          : "not on this device";
        printf("  %-18s %-20s %s\n", (*s)->name, here, (*s)->about);
    }
    if (!ops->strategies[0])
        printf("  no strategies in this build\n");
    halo_backend_close(b);
}

int halo_bench_list(const struct halo_bench_settings *settings)
{
    for (int i = 0; halo_backends[i]; i++)
        if (!settings->backend_name || settings->backend == halo_backends[i])
            list_backend(halo_backends[i], settings->device);
    return HALO_EXIT_OK;
}
