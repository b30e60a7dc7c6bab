/* SPDX-License-Identifier: BSD-2-Clause
 * What NFS does to its users, for LD_PRELOAD: the answer to a rename is lost, so the client repeats
 * it, and the server says that there is no such file, although it was renamed; the same happens to
 * links; locks are refused; and rename without replacing is not known. Removing a file may take
 * long: at the file that HALO_STANDIN_NFS_STOP names, the process stops, as by SIGSTOP, before the
 * file is removed, or renamed to be removed. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

static void stop_at(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = getenv("HALO_STANDIN_NFS_STOP");
    if (name && !strcmp(slash ? slash + 1 : path, name))
        raise(SIGSTOP);
}

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
