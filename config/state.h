/* SPDX-License-Identifier: BSD-2-Clause
 * The folder in which the daemon stores what clients have changed, so that it survives restarts:
 *
 *   hides.json    what was added to the chains of streams (daemon/supervisor/sup_hides.h)
 *   overlay.yaml  settings that override those of the settings file
 *   users.json    users and tokens (daemon/access/users.h)
 *   setup-code    the code with which the first administrator is created
 *
 * Any thread. */
#ifndef HALO_STATE_H
#define HALO_STATE_H

/* Returns the path of a file in the state folder: `state` or, if that is NULL, the first folder in
 * $STATE_DIRECTORY. Returns NULL if there is no such folder, or if out of memory. The caller frees
 * the result. */
char *halo_state_path(const char *state, const char *name);

#endif
