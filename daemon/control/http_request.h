/* SPDX-License-Identifier: BSD-2-Clause
 * What a request asks for, and whether it may: no sockets, no state; from memory, so that it can be
 * fuzzed. Any thread. */
#ifndef HALO_HTTP_REQUEST_H
#define HALO_HTTP_REQUEST_H

#include <stdbool.h>

enum halo_http_what {
    HALO_HTTP_ERROR, /* status says which */
    HALO_HTTP_INDEX,
    HALO_HTTP_STREAM,
    HALO_HTTP_SNAPSHOT,
    HALO_HTTP_METRICS,
    HALO_HTTP_HEALTH,
    HALO_HTTP_STATUS,
};

struct halo_http_request {
    const char *method, *path; /* path without ?, escapes resolved */
    const char *action;        /* value of ?action=; NULL: none */
    /* Headers; NULL: absent. fetch_*: Sec-Fetch-Site and Sec-Fetch-Dest, in which browsers say
     * whose page asks, and for what. */
    const char *host, *origin, *referer, *fetch_site, *fetch_dest;
    const char *listen, *hosts, *embed; /* of the settings; NULL but for listen: not given */
};

struct halo_http_route {
    enum halo_http_what what;
    int status;      /* 200, or of the error */
    const char *why; /* of the error, one line; static */
    char stream[65]; /* STREAM, SNAPSHOT: its name; "": the first one */
    bool embedded;   /* a page of one of http: embed: asks, and may show the answer */
};

void halo_http_route(const struct halo_http_request *request, struct halo_http_route *ret);

/* Whether host, with or without a port, is this machine's, the listen address or one of hosts. */
bool halo_http_is_host(const char *host, const char *listen, const char *hosts);

#endif
