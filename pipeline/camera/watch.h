/* SPDX-License-Identifier: BSD-2-Clause
 * Watches a folder such as /dev, to wait for devices that appear, disappear or change. */
#ifndef HALO_WATCH_H
#define HALO_WATCH_H

#include <stdbool.h>
#include <sys/inotify.h>

/* What is watched for: an engine with a camera may use inotify for this only (confine.c).
 * Attributes, because udev sets the group's permissions after it has created the node. */
enum { HALO_WATCH_EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ATTRIB };

/* Returns an inotify descriptor, or -errno. The descriptor becomes readable when something in the
 * folder appears, disappears or gets other permissions; the caller closes it. If the folder cannot
 * be watched, the descriptor never becomes readable. */
int halo_watch(const char *folder);
/* Reads all pending events without blocking. Returns true if an event concerned a file whose name
 * begins with one of `names` (a list that ends with NULL), or if events may have been missed. */
bool halo_watch_drain(int watch, const char *const *names);

#endif
