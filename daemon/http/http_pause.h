/* SPDX-License-Identifier: BSD-2-Clause
 * A connection that is suspended while there is nothing to send. Loop thread only. */
#ifndef HALO_HTTP_PAUSE_H
#define HALO_HTTP_PAUSE_H

#include <microhttpd.h>
#include <stdbool.h>

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

#endif
