/* SPDX-License-Identifier: BSD-2-Clause
 * One client of the control socket: reads its calls, runs them in order and sends the answers. Loop
 * thread only. */
#ifndef HALO_CLIENT_H
#define HALO_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/role.h"
#include "daemon/control/control.h"

struct halo_client;
struct halo_method;

/* Who makes a call over HTTP. */
struct halo_client_user {
    enum halo_role role;
    const char *name;    /* of the user or token; "": nobody has logged in */
    const char *address; /* where the request comes from */
};

/* Receives the only answer to a call: {"parameters": ...} or {"error": ..., "parameters": ...},
 * borrowed; NULL: out of memory. fd: a descriptor that belongs to it, borrowed; -1: none. */
typedef void halo_client_reply(void *arg, const json_t *message, int fd);

/* Data that all clients of the control socket share. */
struct halo_clients {
    uv_loop_t *loop;
    const struct halo_method *methods; /* methods.h */
    struct halo_control_host host;
    struct halo_facts *facts;
    struct halo_history *history;
    struct halo_client *first;
    int count;
    /* also receives each event; NULL: nobody does */
    void (*watch)(void *arg, json_t *event);
    void *watch_arg;
};

/* Creates a client for fd, an accepted non-blocking socket. Takes ownership of fd, even on failure.
 * Returns 0 or -errno. */
int halo_client_create(struct halo_clients *clients, int fd, enum halo_role role);
/* Makes one call for a user of this process's HTTP server, and calls reply(arg) with the answer, at
 * once or later. message is borrowed. Returns the client, which exists until reply has been called
 * or halo_client_cut() ends the call, or NULL, after reply was called. Calls that need "more" are
 * not supported. */
struct halo_client *halo_client_call(struct halo_clients *clients,
                                     const struct halo_client_user *user, json_t *message,
                                     halo_client_reply *reply, void *arg);
/* Disconnects the client. The client is removed from the list at once; its memory is freed when the
 * event loop has closed its handles. `why` is the reason that is logged, or NULL if the client has
 * disconnected by itself. */
void halo_client_cut(struct halo_client *client, const char *why);
/* Called once a second. Disconnects the client if nothing could be sent from its queue of answers
 * for HALO_VARLINK_STUCK_MS, if it did not complete a call (or make its first call) within
 * HALO_VARLINK_CALL_MS, or if it made no call for HALO_VARLINK_IDLE_MS. */
void halo_client_check(struct halo_client *client);
/* Disconnects one of the clients that are not waiting for an answer: the client that has been
 * silent longest. Returns false if all clients are waiting for an answer. */
bool halo_clients_make_room(struct halo_clients *clients);
struct halo_client *halo_client_next(const struct halo_client *client);

/* For methods. */
struct halo_clients *halo_client_all(const struct halo_client *client);
enum halo_role halo_client_role(const struct halo_client *client);
bool halo_client_wants_more(const struct halo_client *client);

/* Sends the one and only answer to the current call. Takes the caller's reference to parameters
 * (NULL means {}). If fd is not -1, a copy of this descriptor is sent with the answer. */
void halo_client_answer(struct halo_client *client, json_t *parameters, int fd);
void halo_client_refuse(struct halo_client *client, const char *error, const char *what,
                        const char *key, const char *value);
/* Answers the current call with an error whose further fields are the members of the object. Takes
 * the caller's reference to fields. */
void halo_client_refuse_with(struct halo_client *client, const char *error, const char *what,
                             json_t *fields);
void halo_client_fail(struct halo_client *client, const struct halo_error *err);

/* Sends one of several answers to the current call. Takes the caller's reference to parameters. */
void halo_client_continue(struct halo_client *client, json_t *parameters);
/* Answers the current call repeatedly until the client disconnects. Each answer is sent by tick,
 * which is called at each event and every interval_ms milliseconds (0: only at events), but never
 * before the previous answer has been sent. */
void halo_client_repeat(struct halo_client *client, void (*tick)(struct halo_client *client),
                        int interval_ms);
/* Returns the parameters of the current call, as a borrowed reference that is valid until the call
 * ends. */
json_t *halo_client_parameters(const struct halo_client *client);
/* Returns a text in the parameters of a call, or NULL if it is not there. */
const char *halo_parameter_text(const json_t *parameters, const char *field);
void halo_client_subscribe(struct halo_client *client);
/* Sends the event to all subscribers, and notifies all clients whose calls are answered repeatedly.
 * `event` is borrowed. */
void halo_clients_notify(struct halo_clients *clients, json_t *event);

/* A token for a call that will be answered later. The token remains valid even if the client
 * disconnects. */
struct halo_pending {
    struct halo_client *client; /* NULL: the client has disconnected */
};
/* Returns NULL if out of memory; the call has then been refused. */
struct halo_pending *halo_client_wait(struct halo_client *client);
/* Frees the token and returns the client, or NULL if the client has disconnected. */
struct halo_client *halo_pending_end(struct halo_pending *pending);

#endif
