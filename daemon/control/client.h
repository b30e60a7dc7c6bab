/* SPDX-License-Identifier: BSD-2-Clause
 * One client of the control socket: bytes in, calls in their order, answers out. Loop thread
 * only. */
#ifndef HALO_CLIENT_H
#define HALO_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "config/error.h"
#include "daemon/control/control.h"

struct halo_client;

/* What the control socket keeps of all clients. */
struct halo_clients {
    uv_loop_t *loop;
    struct halo_control_host host;
    struct halo_facts *facts;
    struct halo_client *first;
    int count;
};

/* fd, accepted and non-blocking, becomes the client's, on failure too. 0 or -errno. */
int halo_client_create(struct halo_clients *clients, int fd);
/* Gone at once for everybody else; memory goes when the loop has closed its handles. why: for the
 * log, NULL: it left by itself. */
void halo_client_cut(struct halo_client *client, const char *why);
/* Once a second: cuts it where nothing of what waits went out for HALO_VARLINK_STUCK_MS, where no
 * call has come whole for HALO_VARLINK_CALL_MS, or none at all for HALO_VARLINK_IDLE_MS. */
void halo_client_check(struct halo_client *client);
/* Cuts the one that has been silent longest, of those that wait for no answer. False: all do. */
bool halo_clients_make_room(struct halo_clients *clients);
struct halo_client *halo_client_next(const struct halo_client *client);

/* For methods. */
struct halo_clients *halo_client_all(const struct halo_client *client);
bool halo_client_wants_more(const struct halo_client *client);

/* The one answer to the present call. parameters: taken over, NULL: {}. fd: sent as a copy, or
 * -1. */
void halo_client_answer(struct halo_client *client, json_t *parameters, int fd);
void halo_client_refuse(struct halo_client *client, const char *error, const char *what,
                        const char *key, const char *value);
/* The same with a list of strings, taken over; NULL: empty. */
void halo_client_refuse_list(struct halo_client *client, const char *error, const char *what,
                             const char *key, json_t *list);
void halo_client_fail(struct halo_client *client, const struct halo_error *err);

/* One of several answers to the present call. parameters is taken over. */
void halo_client_continue(struct halo_client *client, json_t *parameters);
/* The present call is answered again and again, until the client leaves: every `interval` ms, and
 * (0: only) for each event; not while an answer before it has not gone out. */
void halo_client_repeat(struct halo_client *client, void (*tick)(struct halo_client *client),
                        int interval_ms);
json_t *halo_client_parameters(const struct halo_client *client); /* borrowed, until its end */
void halo_client_subscribe(struct halo_client *client);
/* To all who listen: subscribers, and whose call is repeated. event is borrowed. */
void halo_clients_notify(struct halo_clients *clients, json_t *event);

/* The present call will be answered later: by the token, which outlives the client. */
struct halo_pending {
    struct halo_client *client; /* NULL: it has left */
};
struct halo_pending *halo_client_wait(struct halo_client *client); /* or NULL */
/* Frees it and returns the client, NULL: nobody is there any more. */
struct halo_client *halo_pending_end(struct halo_pending *pending);

#endif
