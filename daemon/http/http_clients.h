/* SPDX-License-Identifier: BSD-2-Clause
 * The HTTP connections and their time limits. libmicrohttpd's own timeout restarts with each byte,
 * so a client that sends or reads a byte now and then could keep its connection indefinitely.
 * Clients with short requests, such as health checks, must always get a connection: if all
 * connections are in use, the client that has held its connection longest without viewing a stream
 * is disconnected.
 *
 * Loop thread only. */
#ifndef HALO_HTTP_CLIENTS_H
#define HALO_HTTP_CLIENTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* time limit for a complete request; it begins when the client connects, and again after each
     * answer */
    HALO_HTTP_REQUEST_MS = 10000,
    /* time limit for a client to read an answer; it does not apply to endless answers */
    HALO_HTTP_ANSWER_MS = 60000,
};

/* The reasons for which clients are disconnected. */
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
    /* for each reason, the number of disconnected clients that have not been logged yet */
    int unsaid[HALO_HTTP_CUTS];
};

/* halo_http_client_came() records that a client has connected, halo_http_client_left() that it has
 * disconnected. These functions must be called from the callback that is set with
 * MHD_OPTION_NOTIFY_CONNECTION. `now` is in ms; libmicrohttpd keeps the client in *state. */
void halo_http_client_came(struct halo_http_clients *clients, struct MHD_Connection *connection,
                           void **state, uint64_t now);
void halo_http_client_left(struct halo_http_clients *clients, void **state);

/* halo_http_client_asks() records that a request is complete, halo_http_client_is_answered() that
 * it was answered. `viewing` is true if the answer is endless; such an answer has its own
 * timeout. */
void halo_http_client_asks(struct MHD_Connection *connection, bool viewing, uint64_t now);
void halo_http_client_is_answered(struct MHD_Connection *connection, uint64_t now);

/* Called once a second. Disconnects the clients that have exceeded a time limit (libmicrohttpd
 * removes them when it next runs), and logs how many clients were disconnected since the last
 * call. */
void halo_http_clients_check(struct halo_http_clients *clients, uint64_t now);
/* Disconnects the client that has held its connection longest without viewing a stream. Returns
 * false if all clients are viewers or already disconnected. */
bool halo_http_clients_make_room(struct halo_http_clients *clients);

#endif
