/* SPDX-License-Identifier: BSD-2-Clause
 * The connections of HTTP, and how long each may take: libmicrohttpd's own limit begins again with
 * each byte, so a client that sends or takes one now and then would hold its place for ever. A
 * place is worth most to a client that asks at once, as health checks do: where all are taken, the
 * one that has held its place longest without looking at pictures makes room.
 *
 * Loop thread only. */
#ifndef HALO_HTTP_CLIENTS_H
#define HALO_HTTP_CLIENTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HALO_HTTP_REQUEST_MS = 10000, /* until a request is whole, from the answer before it */
    HALO_HTTP_ANSWER_MS = 60000,  /* until an answer that has an end was taken */
};

/* Why clients are cut. */
enum halo_http_cut {
    HALO_HTTP_NO_REQUEST,
    HALO_HTTP_NOT_TAKEN,
    HALO_HTTP_NO_ROOM,
    HALO_HTTP_CUTS,
};

struct halo_http_client;

struct halo_http_clients {
    struct halo_http_client *first;
    int count;
    int64_t cut;
    int unsaid[HALO_HTTP_CUTS]; /* of these, not logged yet */
};

/* MHD_OPTION_NOTIFY_CONNECTION's; now in ms, state: libmicrohttpd's place for the client. */
void halo_http_client_came(struct halo_http_clients *clients, struct MHD_Connection *connection,
                           void **state, uint64_t now);
void halo_http_client_left(struct halo_http_clients *clients, void **state);

/* Its request is whole, or answered. viewing: the answer has no end, and a clock of its own. */
void halo_http_client_asks(struct MHD_Connection *connection, bool viewing, uint64_t now);
void halo_http_client_is_answered(struct MHD_Connection *connection, uint64_t now);

/* Once a second: cuts those whose time is over, who leave when libmicrohttpd runs next, and logs
 * how many were cut since. */
void halo_http_clients_check(struct halo_http_clients *clients, uint64_t now);
/* Cuts the one that has held its place longest; false: all are viewers, or are being cut. */
bool halo_http_clients_make_room(struct halo_http_clients *clients);

#endif
