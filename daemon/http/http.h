/* SPDX-License-Identifier: BSD-2-Clause
 * Serves frames, statistics, the page, and the control socket's methods over HTTP.
 *
 *   /NAME/stream.mjpeg snapshot.jpg live.mp4   filtered frames; also mjpg-streamer's ?action=
 *   /metrics /healthz /api/streams             Prometheus, state, status as JSON
 *   / /page/...                                the page (http: {page: true}), or links
 *   /api/...                                   sessions, calls, events
 *
 * The loop polls the epoll descriptor of libmicrohttpd, which has no thread of its own. For each
 * viewer of a stream, at most one frame is being sent and only the newest frame is queued. A slow
 * viewer thus gets fewer frames; a viewer that does not read at all is disconnected.
 *
 * Loop thread only. */
#ifndef HALO_HTTP_H
#define HALO_HTTP_H

#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "daemon/access/access.h"
#include "daemon/control/control.h"
#include "daemon/supervisor/supervisor.h"

struct halo_http;

/* What serves requests. */
struct halo_http_host {
    struct halo_supervisor *supervisor;
    struct halo_control *control; /* makes the calls of the API; NULL: there is no API */
    struct halo_access *access;   /* users, tokens and sessions; NULL: everybody may view */
};

/* Listens on settings->listen. If settings->listen is NULL, HTTP is off: the function returns 0 and
 * sets *ret to NULL. settings and host are copied. Returns 0, -EADDRINUSE if the address is in use,
 * -EINVAL if it is invalid, or another -errno; on errors, err is filled. */
int halo_http_create(struct halo_http **ret, uv_loop_t *loop, const struct halo_http_host *host,
                     const struct halo_http_settings *settings, struct halo_error *err);
/* Disconnects all clients. This function must be called before the control socket, the access and
 * the supervisor are destroyed. The
 * memory is freed when the event loop has closed the handles. NULL is ignored. */
void halo_http_destroy(struct halo_http *http);

#endif
