/* SPDX-License-Identifier: BSD-2-Clause
 * Files that halod writes for itself and can create again: measured times. Any thread. */
#ifndef HALO_CACHE_H
#define HALO_CACHE_H

#include <stddef.h>

/* Sets ret to the path of the file that stores the times measured for a backend and its device. The
 * file is in the first of these folders whose variable is set to an absolute path: $CACHE_DIRECTORY
 * (set by systemd), $XDG_CACHE_HOME/halod, $HOME/.cache/halod; if there is none, root uses
 * /var/cache/halod. Returns 0, -ENOENT (the environment names no folder for caches, and the user is
 * not root) or -ENAMETOOLONG. */
int halo_cache_tuning_path(char *ret, size_t size, const char *backend, int device);

#endif
