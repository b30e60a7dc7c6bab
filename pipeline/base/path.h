/* SPDX-License-Identifier: BSD-2-Clause
 * File names on the command line: what they refer to, and whether two of them refer to the same
 * file. Any thread; calls may block on disk. The caller frees returned strings with free(). */
#ifndef HALO_PATH_H
#define HALO_PATH_H

#include <stdbool.h>

#include "config/base/path_name.h"

/* Returns whether an input can be opened a second time, with the same content, while it is open.
 * This is possible for a file and for a URL to which halod connects, but not for a pipe or for a
 * URL on which halod listens. Returns false if it is not known whether the input can be opened a
 * second time. May block on disk. */
bool halo_path_opens_again(const char *name);

/* Returns the /dev/fd path of the open descriptor that name refers to. As in FFmpeg, "-" refers to
 * fd, and "pipe:N" refers to descriptor N, or to fd if N is not a number. On failure, returns NULL
 * and sets errno: EINVAL for any other name, or ENOMEM. */
char *halo_path_of_stream(const char *name, int fd);

/* Returns the path that would be opened for writing: symbolic links in the last component are
 * followed, even if the target does not exist yet. On failure, returns NULL and sets errno (ELOOP,
 * ENOMEM). */
char *halo_path_follow(const char *path);

/* Returns the descriptor N if path leads to /proc/self/fd/N, as /dev/stderr and /dev/fd/N do.
 * Otherwise returns -1. */
int halo_path_descriptor(const char *path);

/* Returns whether both paths lead to the same file, which need not exist. Returns false if either
 * path is NULL. */
bool halo_path_same(const char *a, const char *b);

/* Returns NAME.partial.EXT, or NAME.partial-NUMBER.EXT if number is 2 or more. NAME is shortened if
 * the result would be too long for a file name. Returns NULL if memory runs out. */
char *halo_path_partial(const char *path, int number);

#endif
