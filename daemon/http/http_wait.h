/* SPDX-License-Identifier: BSD-2-Clause
 * Requests of the API: the session, the login, and calls of the control socket's methods. Their
 * connections are suspended until the answer is there. Loop thread only. */
#ifndef HALO_HTTP_WAIT_H
#define HALO_HTTP_WAIT_H

#include "daemon/http/http_private.h"

enum { HALO_HTTP_BODY = 256 << 10 }; /* longest body of a request, in bytes */

/* Begins or continues a request whose body is complete. Returns the response and sets *status, or
 * returns NULL with *status 0 if the connection has been suspended; it is resumed when the answer
 * is there, and then the same function must be called again. NULL with another *status: out of
 * memory. */
struct MHD_Response *halo_http_wait_answer(struct halo_http *http,
                                           struct MHD_Connection *connection,
                                           struct halo_http_asked *asked, int *status);
void halo_http_wait_destroy(struct halo_http_wait *wait); /* NULL is ignored */
/* Resumes all connections; MHD_run() must be called once afterwards. */
void halo_http_waits_end(struct halo_http *http);

/* Makes a JSON error response. */
struct MHD_Response *halo_http_error(const char *what);

#endif
