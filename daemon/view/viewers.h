/* SPDX-License-Identifier: BSD-2-Clause
 * Viewers of an output socket. Each has its own muxer and begins at a keyframe, with a header and
 * times from 0. When the queue of a slow viewer is full, it loses packets up to a keyframe, which
 * are counted; it is disconnected when nothing could be sent to it for some time. Other viewers are
 * not affected. Loop thread only. */
#ifndef HALO_VIEWERS_H
#define HALO_VIEWERS_H

#include <jansson.h>
#include <uv.h>

#include "config/error.h"
#include "daemon/view/feed.h"

struct halo_viewers;

/* Listens on output->target: a path, with mode 0660, or an address, in the format that
 * halo_output_format() returns. A stale socket is replaced. -EADDRINUSE: another process listens on
 * it; -EEXIST: the path exists and is not a socket. feed and output must outlive it. */
int halo_viewers_create(struct halo_viewers **ret, uv_loop_t *loop, struct halo_feed *feed,
                        const struct halo_output_settings *output, struct halo_error *err);
/* Closes all viewers and removes the socket; the memory is freed when the loop has closed the
 * handles. */
void halo_viewers_destroy(struct halo_viewers *viewers, const char *why);

/* {"target", "viewers", "sent_bytes", "dropped_packets", "cut": viewers that did not read,
 * "refused": viewers beyond the limit, "ended": viewers whose format could not express new
 * parameters}; a new reference, NULL: out of memory. */
json_t *halo_viewers_status(const struct halo_viewers *viewers);

#endif
