/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of this folder share. Loop thread only. */
#ifndef HALO_HTTP_PRIVATE_H
#define HALO_HTTP_PRIVATE_H

#include <microhttpd.h>
#include <uv.h>

#include "config/daemon.h"
#include "daemon/control/client.h"
#include "daemon/http/http.h"
#include "daemon/http/http_access.h"
#include "daemon/http/http_clients.h"
#include "daemon/http/http_files.h"
#include "daemon/http/http_request.h"
#include "daemon/http/http_viewer.h"
#include "daemon/view/listen.h"

enum { HALO_HTTP_HANDLES = 5 };

struct halo_http_live;
struct halo_http_wait;

/* What is the same for all who ask in one turn of the loop, or always. NULL: not made yet. */
struct halo_http_made {
    uint64_t turn; /* the loop's time, in ms */
    json_t *status;
    char *shown[HALO_ROLES]; /* the status, as each role may see it */
    char *metrics;
    char *filters, *openapi; /* these never change */
};

struct halo_http {
    struct halo_supervisor *sv;
    struct halo_clients *control; /* makes the calls of the API; NULL: there is no API */
    uv_loop_t *loop;
    char *listen, *hosts, *embed, *proxy;
    char *policy; /* the header Content-Security-Policy */
    bool stopping;
    struct halo_http_gate gate;
    struct halo_http_files *files; /* of the page; NULL: there is no page */
    struct MHD_Daemon *daemon;
    void (*wake)(void *http); /* makes libmicrohttpd run soon, after a connection was resumed */
    char *certificate, *key;  /* PEM; NULL: no TLS */
    struct halo_http_clients clients;
    struct halo_http_viewers viewers;
    struct halo_http_live *lives; /* connections that show several streams and events */
    int live_count;
    struct halo_http_made made;
    /* requests that cost much and were begun in this turn, and those that wait for the next one */
    int worked;
    struct halo_http_asked *later, **later_last;
    struct halo_http_wait *waits; /* requests that wait for an answer */
    uv_poll_t listening, poll;
    uv_timer_t timeout; /* when libmicrohttpd wants to be called ... */
    uv_idle_t again;    /* ... and this one if at once */
    uv_timer_t tick;
    uv_handle_t *handle[HALO_HTTP_HANDLES];
    int handles;
    struct halo_listen door; /* socket of the setting unix: */
};

/* One request; libmicrohttpd keeps it between its calls. */
struct halo_http_asked {
    struct halo_http_asked *later; /* the next one that waits for a turn of the loop */
    struct halo_http_pause turn;   /* suspended while it waits for one */
    bool had_turn;
    bool head;    /* only the header of the answer is wanted */
    bool answers; /* in JSON, errors too */
    struct halo_http_route route;
    struct halo_http_who who;
    struct halo_http_viewer *viewer;
    struct halo_http_live *live;
    struct halo_http_wait *wait;
    char *body;
    size_t body_size;
    bool too_long;
};

#endif
