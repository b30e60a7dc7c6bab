/* SPDX-License-Identifier: BSD-2-Clause
 * Waiting for devices: a folder such as /dev, and whether something came, went or changed in it. */
#ifndef HALO_WATCH_H
#define HALO_WATCH_H

#include <stdbool.h>

/* A descriptor that becomes readable when something comes, goes or changes its rights in the folder
 * (inotify), to be closed; or -errno. Of a folder that cannot be watched it says nothing. */
int halo_watch(const char *folder);
/* Takes what there is to read; does not block. Whether something with a name that begins with one
 * of these (NULL ends them) was in it, or something may have been missed. */
bool halo_watch_drain(int watch, const char *const *names);

#endif
