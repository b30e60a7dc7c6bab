/* SPDX-License-Identifier: BSD-2-Clause
 * File names on the command line (path.h). */
#include "pipeline/base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_LINKS = 40, /* the kernel's limit */
};

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

bool halo_path_opens_again(const char *name)
{
    static const char *const served[] = {"http://", "https://", "rtsp://", "rtmp://", "rtmps://"};
    struct stat st;
    bool ret = false;
    if (!halo_path_is_url(name))
        return stat(halo_path_of(name), &st) == 0 && S_ISREG(st.st_mode);
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        ret |= starts(name, served[i]) && !strstr(name, "listen");
    return ret;
}

char *halo_path_of_stream(const char *name, int fd)
{
    const bool pipe = starts(name, "pipe:");
    char *path, *end = NULL;
    errno = EINVAL;
    if (!pipe && strcmp(name, "-"))
        return NULL;
    const char *digits = name + strlen("pipe:");
    const long number = pipe ? strtol(digits, &end, 10) : fd;
    const bool given = pipe && end > digits && !*end;
    return asprintf(&path, "/dev/fd/%ld", given ? number : (long)fd) < 0 ? NULL : path;
}

/* Length of the folder in path, with its slash; 0 without one. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

static char *join(const char *folder, int length, const char *name)
{
    char *all;
    return asprintf(&all, "%.*s%s", length, folder, name) < 0 ? NULL : all;
}

/* The target of a symbolic link. NULL with errno: ENOMEM, or another one if path is not a link. */
static char *link_target(const char *path)
{
    char target[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return NULL;
    target[n] = 0;
    return join(path, *target == '/' ? 0 : folder_length(path), target);
}

char *halo_path_follow(const char *path)
{
    char *at = strdup(path);
    for (int i = 0; at && i < MAX_LINKS; i++) {
        char *next = link_target(at);
        if (!next && errno != ENOMEM)
            return at;
        free(at);
        at = next;
    }
    if (at)
        errno = ELOOP;
    free(at);
    return NULL;
}

/* The number of a path directly in /proc/self/fd (own), or -1. */
static int number_in_proc(const char *path, const char *own)
{
    char *folder = join(path, folder_length(path), "."), *end = NULL;
    char *real = folder ? realpath(folder, NULL) : NULL;
    const char *digits = path + folder_length(path);
    const long number = strtol(digits, &end, 10);
    const bool found = real && own && !strcmp(real, own) && end > digits && !*end;
    free(real);
    free(folder);
    return found ? (int)number : -1;
}

int halo_path_descriptor(const char *path)
{
    char *own = realpath("/proc/self/fd", NULL), *at = strdup(path);
    int fd = -1;
    for (int i = 0; at && i < MAX_LINKS && fd < 0; i++) {
        char *next = link_target(at);
        fd = number_in_proc(at, own);
        free(at);
        at = next;
    }
    free(at);
    free(own);
    return fd;
}

/* A unique spelling for each file, whether it exists or not. NULL if its folder does not exist. */
static char *canonical(const char *path)
{
    char *whole = NULL, *folder = NULL;
    char *at = halo_path_follow(path);
    const int length = at ? folder_length(at) : 0;
    char *asked = at ? join(length ? at : "./", length ? length : 2, "") : NULL;
    if (asked)
        folder = realpath(asked, NULL);
    if (folder && asprintf(&whole, "%s/%s", folder, at + length) < 0)
        whole = NULL;
    free(folder);
    free(asked);
    free(at);
    return whole;
}

bool halo_path_same(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b)
        return false;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *p = canonical(a), *q = canonical(b);
    const bool same = p && q && !strcmp(p, q);
    free(p);
    free(q);
    return same;
}

char *halo_path_partial(const char *path, int number)
{
    char suffix[24] = "", *all;
    const char *name = path + folder_length(path);
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        dot = path + strlen(path);
    if (number > 1)
        snprintf(suffix, sizeof suffix, "-%d", number);
    int length = (int)(dot - path);
    const int folder = (int)(name - path);
    const int most = NAME_MAX - (int)(strlen(".partial") + strlen(suffix) + strlen(dot));
    if (length - folder > most && most > 0) /* cut between characters */
        for (length = folder + most; length > folder && (path[length] & 0xc0) == 0x80;)
            length--;
    return asprintf(&all, "%.*s.partial%s%s", length, path, suffix, dot) < 0 ? NULL : all;
}
