/* SPDX-License-Identifier: BSD-2-Clause
 * Temporary files that later replace another file: they are written in its directory, so that the
 * final rename is atomic. Any thread; calls may block on disk. */
#ifndef HALO_ATOMIC_FILE_H
#define HALO_ATOMIC_FILE_H

#include <sys/types.h>

#include "config/base/error.h"

/* Checks that files can be created in path's directory, so that a long job fails at its beginning
 * rather than at its end. Returns 0, or -errno with err filled. */
int halo_atomic_file_check(const char *path, struct halo_error *err);

/* Creates a temporary file in path's directory with the given mode, or with the default mode of new
 * files if mode is 0. Returns a file descriptor, which the caller closes, or -errno. Sets *ret_name
 * to the file's name, which the caller frees. */
int halo_atomic_file_open(const char *path, mode_t mode, char **ret_name);

/* Renames a temporary file to path, which it replaces. Returns 0 or -errno. Over NFS, the client
 * repeats the call if the server's answer was lost, and then there is no file to be renamed: the
 * result is 0 if path is the file by now. */
int halo_atomic_file_replace(const char *temporary, const char *path);

/* Gives a temporary file the name `path`, unless there is such a file: then it returns -EEXIST.
 * Returns 0 or -errno; the temporary name is only gone if it returns 0. On file systems without
 * hard links, a file that appears at the same time may be replaced. */
int halo_atomic_file_link(const char *temporary, const char *path);

/* Syncs the folder of an existing file to disk, so that the file's name is stored; the file's
 * contents are not synced. Errors are ignored. */
void halo_sync_folder(const char *path);

/* Call this before asking whether another machine has made or removed files in path's folder. An
 * NFS client may remember the answer to such a question for a minute; opening the folder makes it
 * ask the server again. */
void halo_refresh_folder(const char *path);

#endif
