/* SPDX-License-Identifier: BSD-2-Clause
 * Decides which page a request asks for, and whether the request is allowed. This uses only the
 * data passed to it, neither sockets nor state, so that it can be fuzzed. Any thread. */
#ifndef HALO_HTTP_REQUEST_H
#define HALO_HTTP_REQUEST_H

#include <stdbool.h>

enum halo_http_what {
    HALO_HTTP_ERROR, /* the request is refused; `status` of the route is the HTTP status code */
    HALO_HTTP_INDEX,
    HALO_HTTP_STREAM,
    HALO_HTTP_SNAPSHOT,
    HALO_HTTP_METRICS,
    HALO_HTTP_HEALTH,
    HALO_HTTP_STATUS,
};

struct halo_http_request {
    const char *method, *path; /* path is percent-decoded, and does not include the query */
    const char *action;        /* value of "action" in the query; NULL: not given */
    /* The values of headers; NULL if absent. In the headers Sec-Fetch-Site (fetch_site) and
     * Sec-Fetch-Dest (fetch_dest), browsers state which site makes the request and for which
     * purpose. */
    const char *host, *origin, *referer, *fetch_site, *fetch_dest;
    /* from the settings; hosts and embed are NULL if not given */
    const char *listen, *hosts, *embed;
};

struct halo_http_route {
    enum halo_http_what what;
    int status;      /* HTTP status code: 200, or the code of the error */
    const char *why; /* a description of the error in one line; a static string */
    /* for HALO_HTTP_STREAM and HALO_HTTP_SNAPSHOT: the stream's name; "" means the first stream */
    char stream[65];
    /* the request comes from a page whose origin is listed in `embed`, so that page may show the
     * answer */
    bool embedded;
};

void halo_http_route(const struct halo_http_request *request, struct halo_http_route *ret);

/* Returns whether `host`, which may include a port, is a name of this machine, the address
 * `listen`, or one of the names in the list `hosts`. */
bool halo_http_is_host(const char *host, const char *listen, const char *hosts);

#endif
