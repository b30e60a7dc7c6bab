/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures and numbers over HTTP, to look at and not to touch: GET and HEAD only.
 *
 *   /NAME/stream.mjpeg /NAME/snapshot.jpg      filtered pictures; also mjpg-streamer's ?action=
 *   /metrics /healthz /api/streams /           Prometheus, state, status as JSON, a page of links
 *
 * libmicrohttpd's epoll descriptor is polled by the loop; no thread of its own. Each viewer of a
 * stream has one picture that is being sent and one that waits, the newest; so a slow one sees
 * fewer, and one that does not read at all is cut.
 *
 * Loop thread only. */
#ifndef HALO_HTTP_H
#define HALO_HTTP_H

#include <uv.h>

#include "config/daemon.h"
#include "config/error.h"
#include "daemon/supervisor/supervisor.h"

struct halo_http;

/* Listens where settings->listen says; settings are copied. NULL there: off, 0 and *ret is NULL.
 * -EADDRINUSE, -EINVAL: no such address; other -errno. */
int halo_http_create(struct halo_http **ret, uv_loop_t *loop, struct halo_supervisor *sv,
                     const struct halo_http_settings *settings, struct halo_error *err);
/* Cuts all clients; before the supervisor is destroyed. Memory goes when the loop has closed the
 * handles. NULL: nothing to do. */
void halo_http_destroy(struct halo_http *http);

#endif
