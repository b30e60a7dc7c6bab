/* SPDX-License-Identifier: BSD-2-Clause
 * What NFS does to its users, for LD_PRELOAD: the answer to a rename is lost, so the client repeats
 * it, and the server says that there is no such file, although it was renamed; the same happens to
 * links; locks are refused; and rename without replacing is not known. Removing a file may take
 * long: at the file that HALO_STANDIN_NFS_STOP names, the process stops, as by SIGSTOP, before the
 * file is removed, or renamed to be removed. So may creating one: the process stops once, when it
 * has created a file whose name begins as HALO_STANDIN_NFS_STOP_NEW says. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "tests/standin/open_call.h"

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void stop_at(const char *path)
{
    const char *name = getenv("HALO_STANDIN_NFS_STOP");
    if (name && !strcmp(name_of(path), name))
        raise(SIGSTOP);
}

static void stop_at_new(const char *path)
{
    static atomic_flag stopped = ATOMIC_FLAG_INIT;
    const char *begin = getenv("HALO_STANDIN_NFS_STOP_NEW");
    if (begin && !strncmp(name_of(path), begin, strlen(begin)) &&
        !atomic_flag_test_and_set(&stopped))
        raise(SIGSTOP);
}

static int open_any(const char *path, int flags, mode_t mode, standin_open_fn *real)
{
    const int ret = real(path, flags, mode);
    if (ret >= 0 && flags & O_CREAT)
        stop_at_new(path);
    return ret;
}

STANDIN_OPEN_CALL(open, open_any)
STANDIN_OPEN_CALL(open64, open_any)

int unlinkat(int folder, const char *name, int flags)
{
    int (*real)(int, const char *, int) =
        (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
    stop_at(name);
    return real(folder, name, flags);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    stop_at(from);
    if (real(from, to) < 0)
        return -1;
    errno = ENOENT;
    return -1;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    int (*real)(int, const char *, int, const char *, unsigned) =
        (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
    if (flags == 0)
        return real(from_folder, from, to_folder, to, flags);
    errno = EINVAL;
    return -1;
}

int link(const char *from, const char *to)
{
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");
    if (real(from, to) < 0)
        return -1;
    errno = EEXIST;
    return -1;
}

int flock(int fd, int how)
{
    (void)fd;
    (void)how;
    errno = ENOLCK;
    return -1;
}
