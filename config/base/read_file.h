/* SPDX-License-Identifier: BSD-2-Clause
 * Reads whole files. Any thread; may block. */
#ifndef HALO_READ_FILE_H
#define HALO_READ_FILE_H

#include <stddef.h>

/* Reads the file or, if it is longer than `most` bytes, its first most + 1 bytes. flags are passed
 * to open(2) in addition to O_RDONLY | O_CLOEXEC. Returns 0 or -errno. On success the caller frees
 * *ret, which has *ret_length bytes followed by a NUL. */
int halo_read_file(const char *path, int flags, size_t most, char **ret, size_t *ret_length);

#endif
