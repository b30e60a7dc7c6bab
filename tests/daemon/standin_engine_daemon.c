/* SPDX-License-Identifier: BSD-2-Clause
 * standin_engine_daemon -c FILE, with $STANDIN_ENGINE: the daemon with that program for its
 * engines, which may say and do what no engine of ours does. It believes that CUDA is built in.
 * With $STANDIN_HANGS its disks hang, and the file of that name is made when one does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/base/error_list.h"
#include "daemon/daemon.h"
#include "daemon/supervisor/checks.h"
#include "kernels/backend.h"

const struct halo_backend_ops *__wrap_halo_backend_find(const char *name);

/* The supervisor asks for nothing but whether there are strategies. */
const struct halo_backend_ops *__wrap_halo_backend_find(const char *name)
{
    static const struct halo_strategy *const strategies[] = {(const void *)&strategies, NULL};
    static const struct halo_backend_ops cuda = {.name = "cuda", .strategies = strategies};
    return strcmp(name, cuda.name) ? NULL : &cuda;
}

int __wrap_statvfs(const char *path, struct statvfs *ret);
int __wrap_statvfs64(const char *path, struct statvfs *ret);
int __real_statvfs64(const char *path, struct statvfs *ret);

int __wrap_statvfs64(const char *path, struct statvfs *ret)
{
    const char *said = getenv("STANDIN_HANGS");
    if (!said)
        return __real_statvfs64(path, ret);
    close(open(said, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    for (;;)
        pause();
}

int __wrap_statvfs(const char *path, struct statvfs *ret)
{
    return __wrap_statvfs64(path, ret);
}

int main(int argc, char **argv)
{
    struct halo_daemon_settings *settings;
    struct halo_error_list *errors = NULL;
    const char *program = getenv("STANDIN_ENGINE");
    if (argc != 3 || strcmp(argv[1], "-c") != 0 || !program)
        return HALO_EXIT_USAGE;
    if (halo_daemon_load(&settings, argv[2], &halo_checks, &errors) < 0) {
        for (int i = 0; i < halo_error_list_count(errors); i++)
            fprintf(stderr, "%s\n", halo_error_list_text(errors, i));
        halo_error_list_destroy(errors);
        return HALO_EXIT_CONFIG;
    }
    return halo_run_daemon(settings, argv[2], program);
}
