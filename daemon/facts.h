/* SPDX-License-Identifier: BSD-2-Clause
 * What `haloctl doctor` asks the daemon, because only the daemon's user sees it: files, folders,
 * disks, limits, devices. */
#ifndef HALO_FACTS_H
#define HALO_FACTS_H

#include <jansson.h>
#include <uv.h>

#include "config/daemon.h"

/* done(arg, facts) comes later, on the loop thread, from a look at the disk on a thread of libuv's
 * pool; facts are borrowed, NULL: no memory. settings are read before this returns; what lies in
 * `base`, a new reference, is given back with the rest. 0, or -errno and done does not come. */
int halo_facts_gather(uv_loop_t *loop, const struct halo_daemon_settings *settings, json_t *base,
                      void (*done)(void *arg, json_t *facts), void *arg);

#endif
