/* SPDX-License-Identifier: BSD-2-Clause
 * A viewer over HTTP: it receives a stream's JPEG feed and keeps only the newest frame. Loop thread
 * only. */
#ifndef HALO_HTTP_VIEWER_H
#define HALO_HTTP_VIEWER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/http/http_access.h"
#include "daemon/http/http_pause.h"
#include "daemon/view/feed.h"

struct halo_http_viewers {
    struct halo_http_viewer *first;
    int count;
    int64_t pictures, dropped, bytes, cut;
    void (*wake)(void *arg); /* as in struct halo_http_pause */
    void *arg;
    const struct halo_http_gate *gate;
};

struct halo_http_viewer;

/* Creates a viewer for who, which is copied. The viewer's connection is suspended whenever no frame
 * is ready to be sent. Returns 0 or -ENOMEM. */
int halo_http_viewer_create(struct halo_http_viewer **ret, struct halo_http_viewers *viewers,
                            struct halo_feed *feed, struct MHD_Connection *connection,
                            const struct halo_http_who *who);
void halo_http_viewer_destroy(struct halo_http_viewer *viewer);

/* Returns an endless multipart/x-mixed-replace response, or NULL if memory runs out. The viewer
 * must outlive the response. */
struct MHD_Response *halo_http_viewer_stream(struct halo_http_viewer *viewer);
/* Returns a response with the first frame, or NULL if no frame has arrived or memory runs out; with
 * `head`, only its header is sent. Sets *ret_wait to true if the connection is now suspended until
 * a frame arrives, and otherwise to false. */
struct MHD_Response *halo_http_viewer_snapshot(struct halo_http_viewer *viewer, bool head,
                                               bool *ret_wait);
/* Counts a frame that is sent. */
void halo_http_viewers_count(struct halo_http_viewers *viewers, size_t bytes);

/* Called once a second. Ends each viewer whose client has disconnected, may no longer view, reads
 * too slowly, or has waited too long for a snapshot. `now` is in ms. */
void halo_http_viewers_check(struct halo_http_viewers *viewers, uint64_t now);
/* Ends all viewers; MHD_run() must be called once afterwards. */
void halo_http_viewers_end(struct halo_http_viewers *viewers);

#endif
