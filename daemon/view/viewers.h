/* SPDX-License-Identifier: BSD-2-Clause
 * Viewers of an output socket. Each viewer has its own muxer and begins at a keyframe, with a
 * header and timestamps from 0. When the queue of a slow viewer is full, packets are dropped up to
 * the next keyframe and counted. A viewer is disconnected if nothing could be sent to it for some
 * time. Other viewers are not affected. Loop thread only. */
#ifndef HALO_VIEWERS_H
#define HALO_VIEWERS_H

#include <jansson.h>
#include <uv.h>

#include "config/base/error.h"
#include "daemon/view/feed.h"

struct halo_viewers;

/* Listens on output->target, which is an address, or a path for a socket with mode 0660. Viewers
 * are served in the format that halo_output_format() returns. A stale socket is replaced. feed and
 * output must outlive the viewers. Returns 0. On failure, fills err and returns -EADDRINUSE if
 * another process listens on the socket, -EEXIST if the path exists and is not a socket, or another
 * -errno. */
int halo_viewers_create(struct halo_viewers **ret, uv_loop_t *loop, struct halo_feed *feed,
                        const struct halo_output_settings *output, struct halo_error *err);
/* Closes all viewers and removes the socket; the memory is freed when the loop has closed the
 * handles. */
void halo_viewers_destroy(struct halo_viewers *viewers, const char *why);

/* Listens again if the socket's name was removed; viewers that are connected stay. Must be called
 * now and then. */
void halo_viewers_look(struct halo_viewers *viewers);

/* Returns why viewers get nothing: the format cannot express what the stream has, or the socket's
 * name was removed and cannot be made again. NULL: they get something, or there has been no viewer
 * yet. */
const char *halo_viewers_failure(const struct halo_viewers *viewers);

/* Returns a new reference to an object, or NULL if out of memory. The object's fields are "target",
 * "viewers", "sent_bytes", "dropped_packets", and three numbers of viewers: "cut" (disconnected
 * because they did not read), "refused" (because there were too many) and "ended" (disconnected
 * because their format could not express new parameters). */
json_t *halo_viewers_status(const struct halo_viewers *viewers);

#endif
