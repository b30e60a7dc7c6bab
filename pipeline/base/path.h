/* SPDX-License-Identifier: BSD-2-Clause
 * File names on the command line: what they refer to, and whether two of them refer to the same
 * file. Any thread; calls may block on disk. The caller frees returned strings with free(). */
#ifndef HALO_PATH_H
#define HALO_PATH_H

#include <stdbool.h>

#include "config/path_name.h"

/* Whether an input can be opened a second time while it is open, with the same content: true for a
 * file and for a URL to which halod connects, false for a pipe and for a URL on which it listens.
 * False also if this is not known. May block on disk. */
bool halo_path_opens_again(const char *name);

/* The /dev/fd path of a descriptor that is open already: "-" is fd, and so is "pipe:N" if N is not
 * a number, as in FFmpeg. NULL with errno: EINVAL for any other name, ENOMEM. */
char *halo_path_of_stream(const char *name, int fd);

/* The path that would be opened for writing: symbolic links in the last component are followed,
 * even if the target does not exist yet. NULL with errno (ELOOP, ENOMEM). */
char *halo_path_follow(const char *path);

/* The descriptor N if path leads to /proc/self/fd/N, as /dev/stderr and /dev/fd/N do; otherwise
 * -1. */
int halo_path_descriptor(const char *path);

/* Whether both lead to the same file, existing or not. False if either is NULL. */
bool halo_path_same(const char *a, const char *b);

/* NAME.partial.EXT, or NAME.partial-NUMBER.EXT if number is 2 or more; NAME is cut if the result
 * would be too long for a file name. NULL: out of memory. */
char *halo_path_partial(const char *path, int number);

#endif
