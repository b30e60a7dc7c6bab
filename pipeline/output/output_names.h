/* SPDX-License-Identifier: BSD-2-Clause
 * Names of segments: made from a strftime pattern, recognized again, and the oldest removed. Any
 * thread; calls block on disk. */
#ifndef HALO_OUTPUT_NAMES_H
#define HALO_OUTPUT_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The pattern's name at that time, in local time. 0; -EINVAL: the name is empty, or a conversion
 * produces a slash; -ENAMETOOLONG. */
int halo_names_format(const char *pattern, time_t at, char ret[PATH_MAX]);

/* Creates the missing parent folders of path. 0 or -errno. */
int halo_names_make_folders(const char *path);

/* Creates missing folders and a new file with the pattern's name, or with -1, -2 ... before its
 * suffix if the name is taken: never opens an existing file. Returns its descriptor, for reading
 * and writing, with the path in ret, or -errno. */
int halo_names_open(const char *pattern, time_t at, char ret[PATH_MAX]);

/* Whether halo_names_open could have created path for the pattern. */
bool halo_names_match(const char *pattern, const char *path);

/* The same for patterns with any conversions: each may stand for anything except a slash, control
 * characters, and a dot at the beginning of a name. */
bool halo_names_may_match(const char *pattern, const char *path);

/* Removes the oldest files of the pattern (by time of modification) until the rest has at most keep
 * bytes in total, and then folders of the pattern that are empty; never removes the file current,
 * which may be NULL. Returns how many files were removed, or -ENOMEM. */
int halo_names_keep(const char *pattern, int64_t keep, const char *current);

#endif
