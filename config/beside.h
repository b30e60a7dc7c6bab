/* SPDX-License-Identifier: BSD-2-Clause
 * A file that grows beside the one it will replace: in the same directory, so that a rename at the
 * end is atomic. Any thread; calls may block on disk. */
#ifndef HALO_BESIDE_H
#define HALO_BESIDE_H

#include <sys/types.h>

#include "config/error.h"

/* Can files be made beside path? To be asked before an hour of work, not after it. 0 or -errno with
 * err filled. */
int halo_beside_check(const char *path, struct halo_error *err);

/* Makes one, with this mode; 0: that of new files. Returns a descriptor to be closed, or -errno.
 * *ret_name is the caller's, to be freed with free(). */
int halo_beside_make(const char *path, mode_t mode, char **ret_name);

/* Brings the name of a file that is there to disk, with its folder. Best effort: what is in the
 * file is safe without it. */
void halo_beside_sync_folder(const char *path);

#endif
