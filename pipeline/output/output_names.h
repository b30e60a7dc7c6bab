/* SPDX-License-Identifier: BSD-2-Clause
 * Names of segments: made from a pattern of strftime, recognised again, and the oldest removed.
 * Any thread; calls block on disk. */
#ifndef HALO_OUTPUT_NAMES_H
#define HALO_OUTPUT_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The pattern's name at that time, local. 0, -EINVAL: empty, or a conversion makes a folder of a
 * name; -ENAMETOOLONG. */
int halo_names_format(const char *pattern, time_t at, char ret[PATH_MAX]);

/* Makes the folders above path that are missing. 0 or -errno. */
int halo_names_make_folders(const char *path);

/* Makes missing folders and a new file of that name, or with -1, -2 ... before its ending where
 * the name is taken: never one that was there. Its descriptor, for reading and writing, with the
 * path in ret, or -errno. */
int halo_names_open(const char *pattern, time_t at, char ret[PATH_MAX]);

/* Whether halo_names_open can have made path for the pattern. */
bool halo_names_match(const char *pattern, const char *path);

/* The same for patterns with any conversions: each may be anything but a slash, control characters,
 * and a dot where a name begins. */
bool halo_names_may_match(const char *pattern, const char *path);

/* Removes the oldest files of the pattern (by their last change) until they have at most keep
 * bytes together, and folders of the pattern that are empty then; never the file current, which
 * may be NULL. How many were removed, or -ENOMEM. */
int halo_names_keep(const char *pattern, int64_t keep, const char *current);

#endif
