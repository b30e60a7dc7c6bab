/* SPDX-License-Identifier: BSD-2-Clause
 * The HTTP connections in a list, newest first. */
#include "daemon/http/http_clients.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "config/base/log.h"

struct halo_http_client {
    struct halo_http_client *next;
    int fd;
    uint64_t since; /* ms: when its present state began */
    enum { SILENT, ASKING, VIEWING, CUT } state;
};

void halo_http_client_came(struct halo_http_clients *clients, struct MHD_Connection *connection,
                           void **state, uint64_t now)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct halo_http_client *client = calloc(1, sizeof *client);
    clients->count++;
    *state = client;
    if (!client)
        return; /* only libmicrohttpd's own limits apply */
    *client = (struct halo_http_client){
        .next = clients->first, .fd = info ? info->connect_fd : -1, .since = now};
    clients->first = client;
}

void halo_http_client_left(struct halo_http_clients *clients, void **state)
{
    struct halo_http_client *client = *state, **at = &clients->first;
    clients->count--;
    if (!client)
        return;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    free(client);
    *state = NULL;
}

static void set_state(struct MHD_Connection *connection, int state, uint64_t now)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct halo_http_client *client = info ? info->socket_context : NULL;
    if (!client || client->state == CUT)
        return;
    client->state = state;
    client->since = now;
}

void halo_http_client_asks(struct MHD_Connection *connection, bool viewing, uint64_t now)
{
    set_state(connection, viewing ? VIEWING : ASKING, now);
}

void halo_http_client_is_answered(struct MHD_Connection *connection, uint64_t now)
{
    set_state(connection, SILENT, now);
}

/* Disconnects a client: libmicrohttpd sees the end of its socket and closes the connection. */
static void cut(struct halo_http_clients *clients, struct halo_http_client *client,
                enum halo_http_cut why)
{
    client->state = CUT;
    clients->cut++;
    clients->unsaid[why]++;
    shutdown(client->fd, SHUT_RDWR);
}

static void say_cuts(struct halo_http_clients *clients)
{
    static const char *const why[] = {
        [HALO_HTTP_NO_REQUEST] = "no complete request arrived within 10 seconds",
        [HALO_HTTP_NOT_TAKEN] = "the response was not read within 60 seconds",
        [HALO_HTTP_NO_ROOM] = "too many clients were connected, and these were the slowest",
    };
    for (int i = 0; i < HALO_HTTP_CUTS; i++) {
        if (clients->unsaid[i] > 0)
            halo_log(HALO_LOG_WARNING, "http: %d client%s disconnected: %s", clients->unsaid[i],
                     clients->unsaid[i] == 1 ? " was" : "s were", why[i]);
        clients->unsaid[i] = 0;
    }
}

void halo_http_clients_check(struct halo_http_clients *clients, uint64_t now)
{
    for (struct halo_http_client *client = clients->first; client; client = client->next) {
        const uint64_t age = now - client->since;
        if (client->state == SILENT && age > HALO_HTTP_REQUEST_MS)
            cut(clients, client, HALO_HTTP_NO_REQUEST);
        else if (client->state == ASKING && age > HALO_HTTP_ANSWER_MS)
            cut(clients, client, HALO_HTTP_NOT_TAKEN);
    }
    say_cuts(clients);
}

bool halo_http_clients_make_room(struct halo_http_clients *clients)
{
    struct halo_http_client *oldest = NULL;
    for (struct halo_http_client *client = clients->first; client; client = client->next)
        if ((client->state == SILENT || client->state == ASKING) &&
            (!oldest || client->since <= oldest->since))
            oldest = client;
    if (oldest)
        cut(clients, oldest, HALO_HTTP_NO_ROOM);
    return oldest;
}
