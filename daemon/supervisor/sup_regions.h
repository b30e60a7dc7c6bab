/* SPDX-License-Identifier: BSD-2-Clause
 * Updates from detectors on their way to engines, in the order in which they came. If a stream gets
 * them faster than engines read or than every few milliseconds, the newest are kept. And what
 * engines report about them, for events and the log. Loop thread only. */
#ifndef HALO_SUP_REGIONS_H
#define HALO_SUP_REGIONS_H

#include <jansson.h>
#include <stdint.h>

#include "config/error.h"

struct sv_stream;

/* list: borrowed, of the control socket. 0, or -errno with err filled. */
int sv_regions_send(struct sv_stream *stream, int64_t picture_us, json_t *list,
                    struct halo_error *err);
void sv_regions_forget(struct sv_stream *stream); /* it is on no engine */
void sv_regions_update(struct sv_stream *stream); /* after its numbers have come */
json_t *sv_regions_status(const struct sv_stream *stream);

#endif
