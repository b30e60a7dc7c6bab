/* SPDX-License-Identifier: BSD-2-Clause
 * Viewers of an output socket. Each has a muxer of its own and begins at a key frame, with a header
 * and times from 0. One that does not read loses packets up to a key frame once its queue is full,
 * is counted, and cut when nothing went out for a time; it disturbs nobody. Loop thread only. */
#ifndef HALO_VIEWERS_H
#define HALO_VIEWERS_H

#include <jansson.h>
#include <uv.h>

#include "config/error.h"
#include "daemon/view/feed.h"

struct halo_viewers;

/* Listens at output->target: a path, 0660, or an address; the form is halo_output_format's. A stale
 * socket is replaced, one that somebody serves is -EADDRINUSE, anything else there -EEXIST. feed
 * and output must outlive it. */
int halo_viewers_create(struct halo_viewers **ret, uv_loop_t *loop, struct halo_feed *feed,
                        const struct halo_output_settings *output, struct halo_error *err);
/* Closes all and removes the socket; its memory goes when the loop has closed the handles. */
void halo_viewers_destroy(struct halo_viewers *viewers, const char *why);

/* {"target", "viewers", "sent_bytes", "dropped_packets", "cut": they took nothing, "refused": too
 * many, "ended": new parameters that their form cannot say}; a new reference, NULL: no memory. */
json_t *halo_viewers_status(const struct halo_viewers *viewers);

#endif
