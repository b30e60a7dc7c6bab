/* SPDX-License-Identifier: BSD-2-Clause
 * A connection to the PipeWire server of the user's session. Events are handled by the thread that
 * made the connection, when its descriptor is readable. */
#ifndef HALO_PIPEWIRE_SESSION_H
#define HALO_PIPEWIRE_SESSION_H

#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/pipewire/library.h"

struct halo_pipewire_session {
    const struct halo_pipewire *pw;
    struct pw_loop *loop; /* NULL: the library is not loaded yet */
    struct pw_context *context;
    struct pw_core *core; /* NULL: not connected */
    struct spa_hook listener;
    int asked, answered; /* numbers of requests, see halo_pipewire_session_sync() */
    bool lost;
    char why[200]; /* if lost: the reason */
};

/* Loads the library, if it is not loaded yet, and connects to the server. Returns 0, or -errno with
 * err filled: -ENXIO if this process belongs to no session, -ENOTSUP if the library or its modules
 * are missing, or why the server cannot be reached. The session must be closed in either case. */
int halo_pipewire_session_open(struct halo_pipewire_session *session, struct halo_error *err);
/* Disconnects; everything that was made with session->core must have been destroyed. The descriptor
 * stays open. */
void halo_pipewire_session_close(struct halo_pipewire_session *session);
/* Closes the session and its descriptor. */
void halo_pipewire_session_finish(struct halo_pipewire_session *session);

/* Returns a descriptor that is readable when halo_pipewire_session_turn() has to be called, or -1
 * if the library is not loaded yet. It stays the same until the session is finished. */
int halo_pipewire_session_poll(const struct halo_pipewire_session *session);
/* Handles the events that have arrived, waiting at most timeout_ms for the first one. Returns 0, or
 * -EPIPE with err filled if the connection was lost. */
int halo_pipewire_session_turn(struct halo_pipewire_session *session, int timeout_ms,
                               struct halo_error *err);
/* Waits until the server has answered everything that was requested so far, and its events have
 * been handled. Returns 0, -ETIMEDOUT after two seconds, or -EPIPE, with err filled. */
int halo_pipewire_session_sync(struct halo_pipewire_session *session, struct halo_error *err);
/* Records that the connection cannot be used any more; the first reason is kept. */
void halo_pipewire_session_lose(struct halo_pipewire_session *session, const char *why);

#endif
