/* SPDX-License-Identifier: BSD-2-Clause
 * halo-bench: the kernels timed, beside a copy, beside the arithmetic, beside other libraries. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/cache.h"
#include "config/error.h"
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

void halo_bench_say(const char *format, ...)
{
    char line[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    halo_sanitise(line);
    fprintf(stderr, "halo-bench: %s\n", line);
}

/* auto is what it is in halod: by the measured times, where there are some. */
static void tune(struct halo_backend *b, int device)
{
    char path[PATH_MAX], text[PATH_MAX + 100];
    static bool said; /* of the first of several lanes */
    if (halo_cache_tuning_path(path, sizeof path, b->ops->name, device) < 0)
        return;
    const int code = halo_backend_tune(b, path, text, sizeof text);
    if (code < 0 && code != -ENOENT && !said)
        halo_bench_say("%s: the table is not used; run --tune again", text);
    said = true;
}

int halo_bench_open(struct halo_backend **ret, const struct halo_bench_settings *settings,
                    char *text, size_t size)
{
    const struct halo_backend_ops *ops = settings->backend;
    const struct halo_backend_settings wanted = {.threads = settings->threads,
                                                 .device = settings->device};
    const int devices = ops->describe(text, size);
    const int code = devices > 0 ? halo_backend_open(ops, &wanted, ret) : -ENODEV;
    if (code == 0 && settings->mode != HALO_BENCH_TUNE)
        tune(*ret, settings->device);
    if (code == 0)
        return HALO_EXIT_OK;
    if (devices > 0 && code == -ENODEV)
        halo_bench_say("%s: device %d does not exist (devices found: %d)", ops->name,
                       settings->device, devices);
    else if (code == -ENODEV)
        halo_bench_say("%s: no usable device: %s", ops->name, text);
    else
        halo_bench_say("%s: could not be opened: %s", ops->name, strerror(-code));
    return code == -ENODEV ? HALO_BENCH_NO_DEVICE : HALO_EXIT_FAILED;
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
