/* SPDX-License-Identifier: BSD-2-Clause
 * Passes updates from detectors on to engines, in the order in which they arrived. If updates for a
 * stream arrive faster than its engine reads them, or more often than every few milliseconds, only
 * the newest are kept. Engines' reports about the updates are logged and sent as events. Loop
 * thread only. */
#ifndef HALO_SUP_REGIONS_H
#define HALO_SUP_REGIONS_H

#include <jansson.h>
#include <stdint.h>

#include "config/base/error.h"

struct sv_stream;

/* Queues an update for the engine. `list` contains the regions as received from the control socket,
 * and is borrowed. Returns 0, or -errno with err filled. */
int sv_regions_send(struct sv_stream *stream, int64_t frame_us, json_t *list,
                    struct halo_error *err);
/* Discards queued updates. Must be called when the stream is not in any engine. */
void sv_regions_forget(struct sv_stream *stream);
/* Must be called after the stream's statistics have arrived from its engine. */
void sv_regions_update(struct sv_stream *stream);
json_t *sv_regions_status(const struct sv_stream *stream);

#endif
