/* SPDX-License-Identifier: BSD-2-Clause
 * Before libc's calls: paths and descriptors of cameras that are played (v4l2.h). */
#undef _FILE_OFFSET_BITS /* names with and without 64 are different ones here */

#include "tests/standin/v4l2.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/open_call.h"

#define REAL(type, name, ...)                                                                      \
    type (*real)(__VA_ARGS__);                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, name)

const char *standin_folder(void)
{
    return getenv("HALO_STANDIN_V4L2");
}

static bool is_below(const char *path, const char *root)
{
    const size_t length = strlen(root);
    return !strncmp(path, root, length);
}

/* The path that is meant; buffer has PATH_MAX bytes. */
static const char *rewrite(const char *path, char *buffer)
{
    static const char *const roots[] = {"/dev/video", "/dev/v4l", "/sys/class/video4linux"};
    const char *folder = standin_folder();
    for (size_t i = 0; folder && path && i < sizeof roots / sizeof *roots; i++)
        if (is_below(path, roots[i])) {
            snprintf(buffer, PATH_MAX, "%s%s", folder, path);
            return buffer;
        }
    return path;
}

/* "video0" of a path that is, or leads to, a camera's; else NULL. */
static const char *node_of(const char *path, char *real_path)
{
    const char *folder = standin_folder();
    if (!folder || !is_below(path, folder))
        return NULL;
    if (!realpath(path, real_path))
        return NULL;
    const char *slash = strrchr(real_path, '/');
    return strstr(real_path, "/dev/video") && is_below(slash + 1, "video") ? slash + 1 : NULL;
}

static int open_any(const char *path, int flags, mode_t mode, standin_open_fn *real)
{
    char buffer[PATH_MAX], target[PATH_MAX];
    const char *to = rewrite(path, buffer);
    const char *node = to != path ? node_of(to, target) : NULL;
    return node ? standin_camera_open(node) : real(to, flags, mode);
}

STANDIN_OPEN_CALL(open, open_any)
STANDIN_OPEN_CALL(open64, open_any)

int access(const char *path, int mode)
{
    char buffer[PATH_MAX];
    REAL(int, "access", const char *, int);
    return real(rewrite(path, buffer), mode);
}

char *realpath(const char *restrict path, char *restrict ret)
{
    char buffer[PATH_MAX];
    REAL(char *, "realpath", const char *, char *);
    return real(rewrite(path, buffer), ret);
}

ssize_t readlink(const char *restrict path, char *restrict ret, size_t size)
{
    char buffer[PATH_MAX];
    REAL(ssize_t, "readlink", const char *, char *, size_t);
    return real(rewrite(path, buffer), ret, size);
}

/* What they are called in a program built with _FORTIFY_SOURCE, as packages are. */
char *__realpath_chk(const char *path, char *ret, size_t room);
ssize_t __readlink_chk(const char *path, char *ret, size_t size, size_t room);

char *__realpath_chk(const char *path, char *ret, size_t room)
{
    (void)room;
    return realpath(path, ret);
}

ssize_t __readlink_chk(const char *path, char *ret, size_t size, size_t room)
{
    (void)room;
    return readlink(path, ret, size);
}

/* The folder itself is asked for by name only. */
static const char *rewrite_dev(const char *path, char *buffer)
{
    if (!standin_folder() || !path || strcmp(path, "/dev") != 0)
        return rewrite(path, buffer);
    snprintf(buffer, PATH_MAX, "%s/dev", standin_folder());
    return buffer;
}

DIR *opendir(const char *path)
{
    char buffer[PATH_MAX];
    REAL(DIR *, "opendir", const char *);
    return real(rewrite_dev(path, buffer));
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    char buffer[PATH_MAX];
    REAL(int, "inotify_add_watch", int, const char *, uint32_t);
    return real(fd, rewrite_dev(path, buffer), mask);
}

int ioctl(int fd, unsigned long request, ...)
{
    REAL(int, "ioctl", int, unsigned long, ...);
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    struct standin_camera *camera = standin_camera_of(fd);
    return camera ? standin_camera_ioctl(camera, request, argument) : real(fd, request, argument);
}

int standin_real_close(int fd)
{
    REAL(int, "close", int);
    return real(fd);
}

int close(int fd)
{
    struct standin_camera *camera = standin_camera_of(fd);
    if (!camera)
        return standin_real_close(fd);
    standin_camera_close(camera);
    return 0;
}

void *standin_real_mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
    REAL(void *, "mmap64", void *, size_t, int, int, int, off_t);
    return real(at, size, rights, flags, fd, offset);
}

void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
    struct standin_camera *camera = fd >= 0 ? standin_camera_of(fd) : NULL;
    return camera ? standin_camera_map(camera, size, offset)
                  : standin_real_mmap(at, size, rights, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int rights, int flags, int fd, off64_t offset)
{
    struct standin_camera *camera = fd >= 0 ? standin_camera_of(fd) : NULL;
    return camera ? standin_camera_map(camera, size, offset)
                  : standin_real_mmap(at, size, rights, flags, fd, offset);
}
