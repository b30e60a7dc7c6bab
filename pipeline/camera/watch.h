/* SPDX-License-Identifier: BSD-2-Clause
 * Watches a folder such as /dev, to wait for devices that appear, disappear or change. */
#ifndef HALO_WATCH_H
#define HALO_WATCH_H

#include <stdbool.h>

/* Returns an inotify descriptor, or -errno. The descriptor becomes readable when something in the
 * folder appears, disappears or gets other permissions; the caller closes it. If the folder cannot
 * be watched, the descriptor never becomes readable. */
int halo_watch(const char *folder);
/* Reads all pending events without blocking. Returns true if an event concerned a file whose name
 * begins with one of `names` (a list that ends with NULL), or if events may have been missed. */
bool halo_watch_drain(int watch, const char *const *names);

#endif
