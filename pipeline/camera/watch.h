/* SPDX-License-Identifier: BSD-2-Clause
 * Waiting for devices: whether something appeared, disappeared or changed in a folder such as
 * /dev. */
#ifndef HALO_WATCH_H
#define HALO_WATCH_H

#include <stdbool.h>

/* A descriptor, to be closed by the caller, that becomes readable when something in the folder
 * appears, disappears or changes its permissions (inotify); or -errno. If the folder cannot be
 * watched, the descriptor never becomes readable. */
int halo_watch(const char *folder);
/* Reads all pending events; does not block. Returns whether one concerned a name that begins with
 * one of these (the list ends with NULL), or whether events may have been missed. */
bool halo_watch_drain(int watch, const char *const *names);

#endif
