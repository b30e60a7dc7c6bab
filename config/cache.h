/* SPDX-License-Identifier: BSD-2-Clause
 * Files that halod makes for itself and can make again: measured times. Any thread. */
#ifndef HALO_CACHE_H
#define HALO_CACHE_H

#include <stddef.h>

#include "config/error.h"

/* Fills ret with the path of the table of measured times for a backend and its device: in
 * $CACHE_DIRECTORY (set by systemd), $XDG_CACHE_HOME/halod, $HOME/.cache/halod or, for root without
 * a home, /var/cache/halod. 0; -ENOENT where there is no such place, -ENAMETOOLONG. */
int halo_cache_tuning_path(char *ret, size_t size, const char *backend, int device);

/* Puts text into the file at path, whole or not at all, and makes the folders that are missing. 0,
 * or -errno with err in words. Blocks for the disk. */
int halo_cache_write(const char *path, const char *text, size_t size, struct halo_error *err);

#endif
