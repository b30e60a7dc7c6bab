/* SPDX-License-Identifier: BSD-2-Clause
 * halo-bench: the kernels timed, beside a copy, beside the arithmetic, beside other libraries. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/error.h"
#include "tools/halo-bench/commands.h"

/* ---- the list ---- */

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

static int bench_list(const struct halo_bench_settings *settings)
{
    for (int i = 0; halo_backends[i]; i++)
        if (!settings->backend_name || settings->backend == halo_backends[i])
            list_backend(halo_backends[i], settings->device);
    return HALO_EXIT_OK;
}

static int run(const struct halo_bench_settings *settings)
{
    switch (settings->mode) {
    case HALO_BENCH_LIST:
        return bench_list(settings);
    case HALO_BENCH_REUSE:
        return halo_bench_reuse(settings);
    case HALO_BENCH_TUNE:
        return halo_bench_tune(settings);
    case HALO_BENCH_RING:
        return halo_bench_ring(settings);
    default:
        return halo_bench_grid(settings);
    }
}

/* What was printed has reached standard output, or an error has been said. */
static int end_print(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    halo_bench_say("cannot write to standard output: %s", strerror(errno));
    return HALO_EXIT_FAILED;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--completion")) {
        halo_bench_print_completion();
        return end_print(HALO_EXIT_OK);
    }
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            halo_bench_print_help();
            return end_print(HALO_EXIT_OK);
        }
    struct halo_bench_settings settings;
    struct halo_error err = {0};
    if (halo_bench_parse(&settings, argc - 1, argv + 1, &err) < 0) {
        halo_bench_say("%s", err.text);
        return err.usage ? HALO_EXIT_USAGE : HALO_EXIT_FAILED;
    }
    const int code = end_print(run(&settings));
    halo_bench_finish(&settings);
    return code;
}
