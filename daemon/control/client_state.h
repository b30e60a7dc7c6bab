/* SPDX-License-Identifier: BSD-2-Clause
 * The internals of a client. Only client.c (bytes) and client_answers.c (calls) use them. */
#ifndef HALO_CLIENT_STATE_H
#define HALO_CLIENT_STATE_H

#include <stdint.h>
#include <sys/socket.h>

#include "daemon/control/client.h"
#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"

struct out {
    struct out *next;
    char *text;
    size_t length, sent;
    int fd;
};

struct halo_client {
    struct halo_clients *clients;
    struct halo_client *next;
    int fd;
    struct ucred peer;
    enum halo_role role;
    /* of a call over HTTP, which has no socket (fd is -1) and is not in the list of clients: who
     * made it, and who gets the answer */
    char user[130];
    halo_client_reply *reply;
    void *reply_arg;
    uv_poll_t poll;
    /* during a call, triggers its repeated answers; between calls, runs halo_client_work() */
    uv_timer_t timer;
    /* active while calls that were received completely are held back, to give other clients their
     * turn */
    uv_idle_t rest;
    bool more;   /* fully received calls are waiting */
    int handles; /* number of libuv handles that are not closed yet */
    int events;  /* libuv events for which `poll` is waiting, such as UV_READABLE */
    bool cut, eof, working;

    char *in;
    size_t in_length, in_size;
    struct out *out, **out_last;
    size_t out_bytes;
    uint64_t moved; /* loop time in ms at which bytes were last sent */
    /* loop time in ms of the client's last activity: it connected, or a call was received or
     * answered */
    uint64_t heard;
    bool called; /* the client has made a call */

    bool busy; /* `call` is being answered */
    struct halo_call call;
    struct halo_pending *pending;
    void (*tick)(struct halo_client *client);

    bool subscribed;
    json_t *waiting[HALO_VARLINK_EVENTS]; /* a ring of events */
    int waiting_first, waiting_count;
    int64_t lost;
};

/* client.c: */
void halo_client_work(struct halo_client *client);
void halo_client_flush(struct halo_client *client);
void halo_client_poll(struct halo_client *client);
/* Queues a message. Takes the caller's reference to message. If fd is not -1, a copy of this
 * descriptor is sent with the message. Returns 0 or -ENOMEM. */
int halo_client_send(struct halo_client *client, json_t *message, int fd);

/* client_answers.c: */
void halo_client_begin_call(struct halo_client *client, const char *text, size_t length);
void halo_client_end_call(struct halo_client *client);
/* Called when queued events can be sent again. */
void halo_client_drained(struct halo_client *client);

#endif
