/* SPDX-License-Identifier: BSD-2-Clause
 * The control socket: what haloctl and other programs say to the daemon (varlink.h has the words).
 *
 *   client --messages--> buffer --one call at a time--> table of methods --> supervisor
 *      ^------ replies, in the order of the calls; events and status again and again -----'
 *
 * All is bounded: bytes and calls that wait for each client, clients, events that wait for a
 * subscriber. A client that breaks a bound, or does not read, is cut.
 *
 * Loop thread only. */
#ifndef HALO_CONTROL_H
#define HALO_CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "config/daemon.h"
#include "config/error.h"
#include "daemon/supervisor/supervisor.h"

struct halo_control;

struct halo_control_host {
    struct halo_supervisor *supervisor;
    /* Reads the settings file anew and checks all of it; where `take`, hands it to
     * halo_supervisor_reload(). 0: reply comes, with its result or (not take) NULL. -errno with err
     * filled: nothing has changed, reply does not come; *ret_errors may be an array of all errors
     * as strings, a new reference. */
    int (*reload)(void *arg, bool take, halo_reply *reply, void *reply_arg, json_t **ret_errors,
                  struct halo_error *err);
    void *arg;
    const char *config; /* path of the settings file, for show; must outlive control */
};

/* Listens, 0660. settings and host are copied. A stale socket is replaced; -EADDRINUSE: another
 * daemon serves it; -EEXIST: something else has this name; other -errno. */
int halo_control_create(struct halo_control **ret, uv_loop_t *loop,
                        const struct halo_control_settings *settings,
                        const struct halo_control_host *host, struct halo_error *err);
/* Cuts all clients and removes the socket; before the supervisor is destroyed. Its memory goes when
 * the loop has closed the handles; answers that come later find nobody. NULL: nothing to do. */
void halo_control_destroy(struct halo_control *control);
const char *halo_control_path(const struct halo_control *control);

#endif
