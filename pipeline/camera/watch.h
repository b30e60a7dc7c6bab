/* SPDX-License-Identifier: BSD-2-Clause
 * Watches a folder such as /dev, to wait for devices that appear, disappear or change. */
#ifndef HALO_WATCH_H
#define HALO_WATCH_H

#include <stdbool.h>

/* Returns a descriptor, to be closed by the caller, that becomes readable when something in the
 * folder appears, disappears or changes its permissions (inotify); or -errno. If the folder cannot
 * be watched, the descriptor never becomes readable. */
int halo_watch(const char *folder);
/* Reads all pending events without blocking. Returns whether one concerned a name that begins with
 * one of the names (a list that ends with NULL), or whether events may have been missed. */
bool halo_watch_drain(int watch, const char *const *names);

#endif
