/* SPDX-License-Identifier: BSD-2-Clause
 * A supervisor without engines, for tests of what stands before it: streams that say they run, one
 * picture that comes again and again. */
#ifndef HALO_STANDIN_SUPERVISOR_H
#define HALO_STANDIN_SUPERVISOR_H

#include <stddef.h>
#include <uv.h>

#include "daemon/supervisor/supervisor.h"

/* jpeg: borrowed; NULL: no pictures come. */
struct halo_supervisor *standin_create(uv_loop_t *loop, struct halo_daemon_settings *settings,
                                       const void *jpeg, size_t size);
/* Tells listeners `count` events. */
void standin_flood(struct halo_supervisor *sv, int count);
/* Ends the pictures of all streams. */
void standin_end(struct halo_supervisor *sv);
void standin_destroy(struct halo_supervisor *sv);

#endif
