/* SPDX-License-Identifier: BSD-2-Clause
 * Endless answers: everything that a page shows over one connection, one stream as fragmented MP4,
 * or events. A slow client gets fewer images and frames, but always the newest; it never delays
 * anything else. Loop thread only. */
#ifndef HALO_HTTP_LIVE_H
#define HALO_HTTP_LIVE_H

#include "daemon/http/http_private.h"

enum {
    HALO_HTTP_LIVES = 256, /* at most at the same time */
    HALO_HTTP_TILES = 255, /* streams in one answer */
};

/* Creates the answer for a route of kind HALO_HTTP_LIVE, _MEDIA or _EVENTS. Returns 0, or a
 * negative errno: -ENOENT (no such stream), -EINVAL (too many streams) or -ENOMEM. */
int halo_http_live_create(struct halo_http_live **ret, struct halo_http *http,
                          struct MHD_Connection *connection, const struct halo_http_asked *asked);
void halo_http_live_destroy(struct halo_http_live *live); /* NULL is ignored */
/* Returns the response, or NULL if out of memory. The live must outlive it. */
struct MHD_Response *halo_http_live_response(struct halo_http_live *live);

/* Passes an event to everybody who receives events. */
void halo_http_lives_event(struct halo_http *http, json_t *event);
/* Called once a second: sends the status, and ends what belongs to a session that has ended, to a
 * client that has disconnected, or to one that reads too slowly. */
void halo_http_lives_tick(struct halo_http *http);
/* Ends all; MHD_run() must be called once afterwards. */
void halo_http_lives_end(struct halo_http *http);

#endif
