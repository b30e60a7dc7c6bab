/* SPDX-License-Identifier: BSD-2-Clause
 * Names of segments: creates them from a strftime pattern, recognizes files that have such names,
 * and removes the oldest. Any thread; calls block on disk. */
#ifndef HALO_OUTPUT_NAMES_H
#define HALO_OUTPUT_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Writes the name that the pattern produces for the time `at`, in local time, to ret. Returns 0;
 * -EINVAL if the name is empty or a conversion produces a slash; or -ENAMETOOLONG. */
int halo_names_format(const char *pattern, time_t at, char ret[PATH_MAX]);

/* Creates the missing parent folders of path. Returns 0 or -errno. */
int halo_names_make_folders(const char *path);

/* Creates a new file with the name that the pattern produces for the time `at`, and any missing
 * folders. If the name is taken, -1, -2 ... is inserted before the suffix: an existing file is
 * never opened. Returns a descriptor for reading and writing, with the path in ret, or -errno. */
int halo_names_open(const char *pattern, time_t at, char ret[PATH_MAX]);

/* Returns whether halo_names_open() could have created a file with this path from the pattern. */
bool halo_names_match(const char *pattern, const char *path);

/* Works like halo_names_match(), but supports all conversions in patterns. Each conversion matches
 * anything except a slash, control characters, and a dot at the beginning of a name. */
bool halo_names_may_match(const char *pattern, const char *path);

/* Removes the oldest files (by time of modification) that match the pattern, until the others have
 * at most `keep` bytes in total. Then removes empty folders that match the pattern. Never removes
 * the file with the path `current`, which may be NULL. Returns the number of removed files, or
 * -ENOMEM. */
int halo_names_keep(const char *pattern, int64_t keep, const char *current);

#endif
