/* SPDX-License-Identifier: BSD-2-Clause
 * Passes updates from detectors on to engines, in the order in which they arrived. If updates for a
 * stream arrive faster than its engine reads, or more often than every few milliseconds, only the
 * newest are kept. Also logs, and sends as events, what engines report about them. Loop thread
 * only. */
#ifndef HALO_SUP_REGIONS_H
#define HALO_SUP_REGIONS_H

#include <jansson.h>
#include <stdint.h>

#include "config/error.h"

struct sv_stream;

/* list: regions from the control socket; borrowed. 0, or -errno with err filled. */
int sv_regions_send(struct sv_stream *stream, int64_t picture_us, json_t *list,
                    struct halo_error *err);
void sv_regions_forget(struct sv_stream *stream); /* it is on no engine */
void sv_regions_update(struct sv_stream *stream); /* after its statistics have arrived */
json_t *sv_regions_status(const struct sv_stream *stream);

#endif
