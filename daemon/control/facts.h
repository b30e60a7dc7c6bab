/* SPDX-License-Identifier: BSD-2-Clause
 * Facts that `haloctl doctor` requests from the daemon, because only the daemon's user can see
 * them: files, folders, disks, limits, devices. */
#ifndef HALO_FACTS_H
#define HALO_FACTS_H

#include <jansson.h>
#include <uv.h>

#include "config/daemon.h"
#include "daemon/supervisor/supervisor.h"

/* The timeout of a disk check; long enough for a sleeping disk to wake up. */
enum { HALO_FACTS_MS = 8000 };

struct halo_facts;

/* patience_ms is the timeout of a disk check in milliseconds. Returns NULL if out of memory. Loop
 * thread only. */
struct halo_facts *halo_facts_create(uv_loop_t *loop, int patience_ms);
/* Answers pending requests with an error. The memory is freed when the event loop has closed the
 * timer's handle. A check that hangs on a disk is abandoned, but the event loop cannot be closed
 * before that check ends. NULL is ignored. */
void halo_facts_destroy(struct halo_facts *facts);

/* Checks the disks on a thread of libuv's pool, and then calls `reply` on the loop thread. Only one
 * check runs at a time: requests made during a check receive the result of that check. If a check
 * exceeds its timeout, reply receives an error that names the path or device that does not respond;
 * until that check ends, new requests fail at once with the same error. settings are not used after
 * this function returns. Takes the caller's reference to `base`, to which the facts are added;
 * "detectors" in it is a list like that of halo_supervisor_detectors(), and receives the errors of
 * detectors that cannot be started.
 * Returns 0 on success. On failure, returns -errno with err filled, and reply is not called. */
int halo_facts_gather(struct halo_facts *facts, const struct halo_daemon_settings *settings,
                      json_t *base, halo_reply *reply, void *arg, struct halo_error *err);

#endif
