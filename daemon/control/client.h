/* SPDX-License-Identifier: BSD-2-Clause
 * One client of the control socket: reads its calls, runs them in order and sends the answers. Loop
 * thread only. */
#ifndef HALO_CLIENT_H
#define HALO_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "config/error.h"
#include "daemon/control/control.h"

struct halo_client;

/* Data that all clients of the control socket share. */
struct halo_clients {
    uv_loop_t *loop;
    struct halo_control_host host;
    struct halo_facts *facts;
    struct halo_client *first;
    int count;
};

/* Takes ownership of fd, an accepted non-blocking socket, even on failure. 0 or -errno. */
int halo_client_create(struct halo_clients *clients, int fd);
/* Disconnects the client. It is off the list at once; its memory is freed when the loop has closed
 * its handles. why: for the log; NULL: it left by itself. */
void halo_client_cut(struct halo_client *client, const char *why);
/* Called once a second: disconnects the client if none of its queued answers could be sent for
 * HALO_VARLINK_STUCK_MS, if a call (or its first one) was not complete within HALO_VARLINK_CALL_MS,
 * or if it made no call for HALO_VARLINK_IDLE_MS. */
void halo_client_check(struct halo_client *client);
/* Disconnects the client that has been silent longest, among those that wait for no answer. False:
 * all of them wait for one. */
bool halo_clients_make_room(struct halo_clients *clients);
struct halo_client *halo_client_next(const struct halo_client *client);

/* For methods. */
struct halo_clients *halo_client_all(const struct halo_client *client);
bool halo_client_wants_more(const struct halo_client *client);

/* Sends the only answer to the present call. Takes the caller's reference to parameters (NULL: {}).
 * fd: a descriptor of which a copy is sent, or -1. */
void halo_client_answer(struct halo_client *client, json_t *parameters, int fd);
void halo_client_refuse(struct halo_client *client, const char *error, const char *what,
                        const char *key, const char *value);
/* The same with a list of strings, whose reference is taken; NULL: empty. */
void halo_client_refuse_list(struct halo_client *client, const char *error, const char *what,
                             const char *key, json_t *list);
void halo_client_fail(struct halo_client *client, const struct halo_error *err);

/* Sends one of several answers to the present call. Takes the caller's reference to parameters. */
void halo_client_continue(struct halo_client *client, json_t *parameters);
/* The present call is answered repeatedly until the client leaves: every `interval_ms` (0: never),
 * and at each event, but not while an earlier answer has not been sent yet. */
void halo_client_repeat(struct halo_client *client, void (*tick)(struct halo_client *client),
                        int interval_ms);
/* borrowed, until the call ends */
json_t *halo_client_parameters(const struct halo_client *client);
void halo_client_subscribe(struct halo_client *client);
/* Notifies all subscribers, and all clients whose call is answered repeatedly. event is
 * borrowed. */
void halo_clients_notify(struct halo_clients *clients, json_t *event);

/* A token for a call that will be answered later. It outlives the client. */
struct halo_pending {
    struct halo_client *client; /* NULL: it has left */
};
struct halo_pending *halo_client_wait(struct halo_client *client); /* or NULL */
/* Frees the token and returns the client; NULL: the client has left. */
struct halo_client *halo_pending_end(struct halo_pending *pending);

#endif
