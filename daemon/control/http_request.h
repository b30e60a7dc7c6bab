/* SPDX-License-Identifier: BSD-2-Clause
 * Decides which page a request asks for, and whether the request is allowed. This uses only the
 * data passed to it, neither sockets nor state, so that it can be fuzzed. Any thread. */
#ifndef HALO_HTTP_REQUEST_H
#define HALO_HTTP_REQUEST_H

#include <stdbool.h>

enum halo_http_what {
    HALO_HTTP_ERROR, /* the field `status` holds the code */
    HALO_HTTP_INDEX,
    HALO_HTTP_STREAM,
    HALO_HTTP_SNAPSHOT,
    HALO_HTTP_METRICS,
    HALO_HTTP_HEALTH,
    HALO_HTTP_STATUS,
};

struct halo_http_request {
    const char *method, *path; /* path: without the query, percent-decoded */
    const char *action;        /* value of ?action=; NULL: none */
    /* Headers; NULL if absent. fetch_* are Sec-Fetch-Site and Sec-Fetch-Dest, in which browsers
     * state which site makes the request and for what purpose. */
    const char *host, *origin, *referer, *fetch_site, *fetch_dest;
    /* from the settings; hosts and embed are NULL if not given */
    const char *listen, *hosts, *embed;
};

struct halo_http_route {
    enum halo_http_what what;
    int status;      /* 200, or the error's code */
    const char *why; /* the error in one line; static */
    char stream[65]; /* for STREAM and SNAPSHOT: the stream's name; "" means the first stream */
    /* the request comes from a page listed in http: embed:, which may show the answer */
    bool embedded;
};

void halo_http_route(const struct halo_http_request *request, struct halo_http_route *ret);

/* Returns whether host, with or without a port, is a name of this machine, the listen address or
 * one of hosts. */
bool halo_http_is_host(const char *host, const char *listen, const char *hosts);

#endif
