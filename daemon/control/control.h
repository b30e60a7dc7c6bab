/* SPDX-License-Identifier: BSD-2-Clause
 * The control socket, through which haloctl and other programs control the daemon (varlink.h
 * describes the protocol).
 *
 *   client --messages--> buffer --one call at a time--> table of methods --> supervisor
 *      ^------ replies in the order of the calls; repeated events and status ------------'
 *
 * Everything is bounded: the bytes and calls queued for a client, the number of clients, and the
 * events queued for a subscriber. A client that exceeds a limit or does not read is disconnected.
 *
 * Loop thread only. */
#ifndef HALO_CONTROL_H
#define HALO_CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "daemon/supervisor/supervisor.h"

struct halo_control;

/* How a change of the settings is answered. */
struct halo_control_reply {
    halo_reply *reply; /* called on success */
    void *arg;
    json_t **errors; /* set on failure, if the settings have errors: a new reference to a list of
                      * texts */
};

struct halo_control_host {
    struct halo_supervisor *supervisor;
    /* Reads the settings file again and checks all of it; if `take` is set, passes the settings to
     * halo_supervisor_reload(). On success, returns 0, and reply is called with the result. On
     * failure, nothing changes, reply is not called, and the function returns -errno with err
     * filled. */
    int (*reload)(void *arg, bool take, const struct halo_control_reply *reply,
                  struct halo_error *err);
    /* Changes what the overlay says about a stream (config/overlay.h), and reloads. On failure, the
     * overlay is as before, nothing changes, and reply is not called. */
    int (*keep)(void *arg, const char *name, const json_t *settings,
                const struct halo_control_reply *reply, struct halo_error *err);
    void *arg;
    struct halo_access *access; /* users and tokens; NULL: there are none */
    const char *config;         /* path of the settings file, for display; must outlive control */
};

/* Opens the socket with mode 0660. settings and host are copied. A stale socket at the same path is
 * replaced. Returns 0, -EADDRINUSE if another daemon listens on the socket, -EEXIST if the path
 * exists and is not a socket, or another -errno; after an error, err is filled. */
int halo_control_create(struct halo_control **ret, uv_loop_t *loop,
                        const struct halo_control_settings *settings,
                        const struct halo_control_host *host, struct halo_error *err);
/* Disconnects all clients and removes the socket. This function must be called before the
 * supervisor is destroyed. The memory is freed when the event loop has closed the handles; answers
 * that the supervisor gives after this call are discarded. NULL is ignored. */
void halo_control_destroy(struct halo_control *control);
const char *halo_control_path(const struct halo_control *control);
/* For calls over HTTP (client.h), which must end before the control socket is destroyed. */
struct halo_clients;
struct halo_clients *halo_control_clients(struct halo_control *control);

#endif
