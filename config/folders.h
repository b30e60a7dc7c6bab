/* SPDX-License-Identifier: BSD-2-Clause
 * The paths of files that halod writes for itself. Any thread. */
#ifndef HALO_FOLDERS_H
#define HALO_FOLDERS_H

#include <stddef.h>

/* Returns the path of a file in the state folder, where the daemon stores what clients have
 * changed, so that it survives restarts:
 *
 *   hides.json    what was added to the chains of streams (daemon/supervisor/sup_hides.h)
 *   overlay.yaml  settings that override those of the settings file
 *   users.json    users and tokens (daemon/access/users.h)
 *   setup-code    the code with which the first administrator is created
 *
 * The folder is `state` or, if that is NULL, the first one in $STATE_DIRECTORY. Returns NULL if
 * there is no such folder, or if out of memory. The caller frees the result. */
char *halo_state_path(const char *state, const char *name);

/* Sets ret to the path of the file that stores the times measured for a backend and its device. The
 * file is in the first of these folders whose variable is set to an absolute path: $CACHE_DIRECTORY
 * (set by systemd), $XDG_CACHE_HOME/halod, $HOME/.cache/halod; if there is none, root uses
 * /var/cache/halod. Returns 0, -ENOENT (the environment names no folder for caches, and the user is
 * not root) or -ENAMETOOLONG. */
int halo_cache_tuning_path(char *ret, size_t size, const char *backend, int device);

#endif
