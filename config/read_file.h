/* SPDX-License-Identifier: BSD-2-Clause
 * Files as a whole. Any thread; may block. */
#ifndef HALO_READ_FILE_H
#define HALO_READ_FILE_H

#include <stddef.h>

/* Reads the file, and of one that is longer than most one byte more than that. flags: of open(2),
 * beside O_RDONLY | O_CLOEXEC. 0: *ret is the caller's to free, with a NUL behind its *ret_length
 * bytes; else -errno. */
int halo_read_file(const char *path, int flags, size_t most, char **ret, size_t *ret_length);

#endif
