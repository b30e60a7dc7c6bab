/* SPDX-License-Identifier: BSD-2-Clause
 * Who makes a request, by its cookie or token, and from which address. Loop thread only. */
#ifndef HALO_HTTP_ACCESS_H
#define HALO_HTTP_ACCESS_H

#include <microhttpd.h>
#include <stdbool.h>

#include "daemon/access/access.h"

enum { HALO_HTTP_ADDRESS = 48, HALO_HTTP_COOKIE = 64 };

struct halo_http_gate {
    struct halo_access *access;
    char cookie[HALO_HTTP_COOKIE]; /* the cookie's name */
    const char *proxy;             /* addresses of proxies, or NULL */
    bool tls;                      /* this server has TLS itself */
    bool page;                     /* the page is served */
    bool metrics;                  /* everybody may read /metrics and /healthz */
};

struct halo_http_who {
    enum halo_role role;
    char name[65];                 /* of the user or token; "": nobody has logged in */
    char cookie[HALO_SECRET_SIZE]; /* of the session; "": there is none */
    char token[HALO_SECRET_SIZE];  /* of the session */
    char
        secret[HALO_SECRET_SIZE]; /* of a token, which no page can make use of; "": there is none */
    bool forwarded;               /* a proxy said where the request comes from */
    bool relayed;                 /* a proxy that the settings do not name passed the request on */
    bool exposed;                 /* it came from another machine, without TLS or a proxy */
    bool tls;                     /* the browser's connection is encrypted */
    char address[HALO_HTTP_ADDRESS];
};

/* Returns the value of a header, or NULL. */
const char *halo_http_header(struct MHD_Connection *connection, const char *name);

/* Finds out who makes the request. As long as there are no users, this machine may view. */
void halo_http_who(const struct halo_http_gate *gate, struct MHD_Connection *connection,
                   struct halo_http_who *ret);
/* Returns whether the request carries the session's token, which only the page knows, or needs
 * none. */
bool halo_http_has_token(const struct halo_http_who *who, struct MHD_Connection *connection);
/* Returns whether this address may connect: without TLS, only proxies and this machine, unless
 * others may read the metrics. */
bool halo_http_lets_in(const struct halo_http_gate *gate, const struct sockaddr *from);

/* Looks the role up again, for answers that last. */
enum halo_role halo_http_role_now(const struct halo_http_gate *gate,
                                  const struct halo_http_who *who);

#endif
