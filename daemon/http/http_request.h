/* SPDX-License-Identifier: BSD-2-Clause
 * Finds the answer to a request, the role that it needs, and whether a browser may ask for it.
 * This uses only the data passed to it, neither sockets nor state, so that it can be fuzzed. Any
 * thread. */
#ifndef HALO_HTTP_REQUEST_H
#define HALO_HTTP_REQUEST_H

#include <stdbool.h>

#include "config/role.h"

enum halo_http_what {
    HALO_HTTP_ERROR, /* the request is refused; `status` of the route is the HTTP status code */
    HALO_HTTP_INDEX,
    HALO_HTTP_FILE, /* a file of the page; `name` is its name */
    HALO_HTTP_STREAM,
    HALO_HTTP_SNAPSHOT,
    HALO_HTTP_MEDIA,
    HALO_HTTP_METRICS,
    HALO_HTTP_HEALTH,
    HALO_HTTP_STATUS,
    HALO_HTTP_LIVE,
    HALO_HTTP_EVENTS,
    HALO_HTTP_FILTERS,
    HALO_HTTP_OPENAPI,
    HALO_HTTP_SESSION,
    HALO_HTTP_LOGIN,
    HALO_HTTP_LOGOUT,
    HALO_HTTP_SETUP,
    HALO_HTTP_CALL, /* `name` is the method's name */
};

struct halo_http_request {
    const char *method, *path; /* path is percent-decoded, and does not include the query */
    const char *action;        /* value of "action" in the query; NULL: not given */
    /* The values of headers; NULL if absent. In the headers Sec-Fetch-Site (fetch_site) and
     * Sec-Fetch-Dest (fetch_dest), browsers state which site makes the request and for which
     * purpose. */
    const char *host, *origin, *referer, *fetch_site, *fetch_dest, *content_type;
    bool ambiguous; /* the headers can be understood in two ways */
    /* from the settings; hosts and embed are NULL if not given */
    const char *listen, *hosts, *embed;
};

struct halo_http_route {
    enum halo_http_what what;
    enum halo_role role; /* the least role that may ask for it; that of a call is checked later */
    int status;          /* HTTP status code: 200, or the code of the error */
    const char *why;     /* a description of the error in one line; a static string */
    const char *allow;   /* with the status 405: the methods that are allowed */
    /* for HALO_HTTP_STREAM, _SNAPSHOT and _MEDIA: the stream's name; "" means the first stream */
    char stream[65];
    char name[65];
    /* the request comes from a page whose origin is listed in `embed`, so that page may show the
     * answer */
    bool embedded;
};

void halo_http_route(const struct halo_http_request *request, struct halo_http_route *ret);

/* Returns whether `host`, which may include a port, is a name of this machine, the address
 * `listen`, or one of the names in the list `hosts`. */
bool halo_http_is_host(const char *host, const char *listen, const char *hosts);

#endif
