/* SPDX-License-Identifier: BSD-2-Clause
 * Frames and statistics over HTTP, read-only: just GET and HEAD.
 *
 *   /NAME/stream.mjpeg /NAME/snapshot.jpg      filtered frames; also mjpg-streamer's ?action=
 *   /metrics /healthz /api/streams /           Prometheus, state, status as JSON, a page of links
 *
 * The loop polls the epoll descriptor of libmicrohttpd, which has no thread of its own. For each
 * viewer of a stream at most one frame is being sent and one, the newest, is queued; so a slow
 * viewer gets fewer frames, and one that does not read at all is disconnected.
 *
 * Loop thread only. */
#ifndef HALO_HTTP_H
#define HALO_HTTP_H

#include <uv.h>

#include "config/daemon.h"
#include "config/error.h"
#include "daemon/supervisor/supervisor.h"

struct halo_http;

/* Listens on settings->listen; settings are copied. If that is NULL, HTTP is off: returns 0 and
 * sets *ret to NULL. -EADDRINUSE; -EINVAL: invalid address; other -errno. */
int halo_http_create(struct halo_http **ret, uv_loop_t *loop, struct halo_supervisor *sv,
                     const struct halo_http_settings *settings, struct halo_error *err);
/* Disconnects all clients; to be called before the supervisor is destroyed. The memory is freed
 * when the loop has closed the handles. NULL is ignored. */
void halo_http_destroy(struct halo_http *http);

#endif
