/* SPDX-License-Identifier: BSD-2-Clause
 * What `haloctl doctor` asks the daemon, because only the daemon's user sees it: files, folders,
 * disks, limits, devices. */
#ifndef HALO_FACTS_H
#define HALO_FACTS_H

#include <jansson.h>
#include <uv.h>

#include "config/daemon.h"
#include "daemon/supervisor/supervisor.h"

enum { HALO_FACTS_MS = 8000 }; /* a disk that sleeps is awake by then */

struct halo_facts;

/* patience_ms: for one look at the disk. NULL: no memory. Loop thread only. */
struct halo_facts *halo_facts_create(uv_loop_t *loop, int patience_ms);
/* Who waits is refused; memory goes when the loop has closed the handle. A look at a disk that
 * hangs is left alone; the loop cannot be closed before it. NULL: nothing. */
void halo_facts_destroy(struct halo_facts *facts);

/* reply comes later, on the loop thread, from a look at the disk on a thread of libuv's pool, of
 * which there is one at a time: who comes meanwhile gets the same answer. Where it takes too long,
 * err says what hangs; as long as it does, so is err at once. settings are read before this
 * returns; what lies in `base`, taken over, is given back with the rest. 0, or -errno with err
 * filled and reply does not come. */
int halo_facts_gather(struct halo_facts *facts, const struct halo_daemon_settings *settings,
                      json_t *base, halo_reply *reply, void *arg, struct halo_error *err);

#endif
