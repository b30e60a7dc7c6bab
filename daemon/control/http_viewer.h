/* SPDX-License-Identifier: BSD-2-Clause
 * One who looks at pictures over HTTP: takes a stream's JPEG feed, keeps the newest picture only.
 * Loop thread only. */
#ifndef HALO_HTTP_VIEWER_H
#define HALO_HTTP_VIEWER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/view/feed.h"

struct halo_http_viewers {
    struct halo_http_viewer *first;
    int count;
    int64_t pictures, dropped, bytes, cut;
    /* A connection was resumed: MHD_run() is wanted soon, and not from here. */
    void (*wake)(void *arg);
    void *arg;
};

struct halo_http_viewer;

/* connection waits (suspended) whenever there is no picture. 0 or -ENOMEM. */
int halo_http_viewer_create(struct halo_http_viewer **ret, struct halo_http_viewers *viewers,
                            struct halo_feed *feed, struct MHD_Connection *connection);
void halo_http_viewer_destroy(struct halo_http_viewer *viewer);

/* multipart/x-mixed-replace without end; the viewer must outlive it. NULL: no memory. */
struct MHD_Response *halo_http_viewer_stream(struct halo_http_viewer *viewer);
/* The first picture, once it is there: else NULL, with *ret_wait true where the connection is now
 * waiting for one. */
struct MHD_Response *halo_http_viewer_snapshot(struct halo_http_viewer *viewer, bool *ret_wait);

/* Once a second, now in ms: ends those whose client has gone, is too slow, or waited in vain. */
void halo_http_viewers_check(struct halo_http_viewers *viewers, uint64_t now);
/* Ends all; MHD runs once after it. */
void halo_http_viewers_end(struct halo_http_viewers *viewers);

#endif
