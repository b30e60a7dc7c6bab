/* SPDX-License-Identifier: BSD-2-Clause
 * Writes whole files. Any thread; blocks on disk. */
#ifndef HALO_WRITE_FILE_H
#define HALO_WRITE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "config/base/error.h"

/* Writes text to the file at path with the given mode, completely or not at all, syncs it to disk,
 * and creates missing folders. Returns 0, or -errno with err filled. */
int halo_write_file(const char *path, mode_t mode, const char *text, size_t size,
                    struct halo_error *err);

#endif
