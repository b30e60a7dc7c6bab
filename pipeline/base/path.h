/* SPDX-License-Identifier: BSD-2-Clause
 * Names of files on the command line: what they mean, and whether two of them mean one file.
 * Any thread; calls may block on disk. Returned strings are the caller's, to be freed with
 * free(). */
#ifndef HALO_PATH_H
#define HALO_PATH_H

#include <stdbool.h>

#include "config/path_name.h"

/* Whether an input can be opened while it is open already, and says the same there: a file can, and
 * an address to which one connects; not a pipe, nor an address on which one listens. Of others that
 * is not known: false. May block on disk. */
bool halo_path_opens_again(const char *name);

/* The path of a stream that is open already: of - and pipe:N, which is fd where N is no number, as
 * in FFmpeg. NULL with errno: EINVAL for any other name, ENOMEM. */
char *halo_path_of_stream(const char *name, int fd);

/* Where opening path for writing leads: symbolic links as the last part are followed, also one
 * whose target is not there yet. NULL with errno (ELOOP, ENOMEM). */
char *halo_path_follow(const char *path);

/* The descriptor N that path stands for: it leads to /proc/self/fd/N, as /dev/stderr and /dev/fd/N
 * do. -1: none. */
int halo_path_descriptor(const char *path);

/* Do both lead to one file, there already or not? NULL is no file. */
bool halo_path_same(const char *a, const char *b);

/* NAME.partial.EXT; from number 2 on NAME.partial-NUMBER.EXT; NAME is cut where that would be too
 * long. NULL: out of memory. */
char *halo_path_partial(const char *path, int number);

#endif
