/* SPDX-License-Identifier: BSD-2-Clause
 * Decides which page a request asks for, and whether it is allowed. Uses no sockets and no state,
 * only the data passed in, so that it can be fuzzed. Any thread. */
#ifndef HALO_HTTP_REQUEST_H
#define HALO_HTTP_REQUEST_H

#include <stdbool.h>

enum halo_http_what {
    HALO_HTTP_ERROR, /* status holds the code */
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
    /* Headers; NULL: absent. fetch_*: Sec-Fetch-Site and Sec-Fetch-Dest, with which browsers state
     * which site makes the request, and for what purpose. */
    const char *host, *origin, *referer, *fetch_site, *fetch_dest;
    const char *listen, *hosts, *embed; /* from the settings; hosts, embed: NULL if not given */
};

struct halo_http_route {
    enum halo_http_what what;
    int status;      /* 200, or the error's code */
    const char *why; /* the error in one line; static */
    char stream[65]; /* for STREAM, SNAPSHOT: its name; "": the first one */
    bool embedded;   /* requested by a page listed in http: embed:, which may show the answer */
};

void halo_http_route(const struct halo_http_request *request, struct halo_http_route *ret);

/* Whether host, with or without a port, is a name of this machine, the listen address or one of
 * hosts. */
bool halo_http_is_host(const char *host, const char *listen, const char *hosts);

#endif
