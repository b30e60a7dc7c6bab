/* SPDX-License-Identifier: BSD-2-Clause
 * A viewer over HTTP: it receives a stream's JPEG feed and keeps only the newest frame. Loop thread
 * only. */
#ifndef HALO_HTTP_VIEWER_H
#define HALO_HTTP_VIEWER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/http/http_access.h"
#include "daemon/view/feed.h"

/* A connection that is suspended while there is nothing to send. */
struct halo_http_pause {
    struct MHD_Connection *connection;
    /* Called when the connection was resumed. The callee must make sure that MHD_run() is called
     * soon, but must not call MHD_run() itself. */
    void (*wake)(void *arg);
    void *arg;
    bool suspended;
};

void halo_http_suspend(struct halo_http_pause *pause);
void halo_http_resume(struct halo_http_pause *pause); /* does nothing if it is not suspended */

/* Returns whether the client of a suspended connection has disconnected: its socket is not read, so
 * only this shows it. */
bool halo_http_has_left(const struct halo_http_pause *pause);
/* Disconnects the client; libmicrohttpd then ends the connection. */
void halo_http_disconnect(const struct halo_http_pause *pause);

struct halo_http_viewers {
    struct halo_http_viewer *first;
    int count;
    int64_t frames, dropped, bytes, cut;
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
