/* SPDX-License-Identifier: BSD-2-Clause
 * A stream as fragmented MP4, which browsers play: an initialization segment, and then a fragment
 * for each frame. A frame is written when the next one arrives, because only then its duration is
 * known, and players stop at gaps. Loop thread only. */
#ifndef HALO_HTTP_MEDIA_H
#define HALO_HTTP_MEDIA_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/view/feed.h"

struct halo_http_media;

enum halo_http_piece {
    HALO_HTTP_DESCRIPTION, /* JSON: {"mime", "width", "height", "audio"} */
    HALO_HTTP_INIT,        /* an initialization segment; follows a description */
    HALO_HTTP_FRAGMENT,
};

struct halo_http_media_ops {
    /* Receives a piece, whose data is valid only during the call. */
    void (*piece)(void *arg, enum halo_http_piece what, const uint8_t *data, size_t size);
    /* Returns whether a packet of this size may be sent now; otherwise, everything up to the next
     * keyframe is dropped. */
    bool (*has_room)(void *arg, size_t size);
    /* The stream has ended, or cannot be sent; `why` is in words. No calls follow. */
    void (*end)(void *arg, const char *why);
};

/* Joins the feed. ops must stay valid. Returns NULL if out of memory. */
struct halo_http_media *halo_http_media_create(struct halo_feed *feed,
                                               const struct halo_http_media_ops *ops, void *arg);
void halo_http_media_destroy(struct halo_http_media *media); /* NULL is ignored */

#endif
