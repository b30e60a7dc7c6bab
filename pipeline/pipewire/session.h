/* SPDX-License-Identifier: BSD-2-Clause
 * A connection to the PipeWire server of the user's session. Events are handled by the thread that
 * made the connection, when its descriptor is readable. */
#ifndef HALO_PIPEWIRE_SESSION_H
#define HALO_PIPEWIRE_SESSION_H

#include <pipewire/impl.h>
#include <pipewire/pipewire.h>
#include <stdbool.h>

#include "config/base/error.h"

#define HALO_PIPEWIRE_OURS "halod.filtered" /* a property of nodes that halod has made */

/* The functions that are used, without their prefix. */
#define HALO_PIPEWIRE_FUNCTIONS(F)                                                                 \
    F(init)                                                                                        \
    F(log_set_level)                                                                               \
    F(loop_new)                                                                                    \
    F(loop_destroy)                                                                                \
    F(context_new)                                                                                 \
    F(context_load_module)                                                                         \
    F(context_connect)                                                                             \
    F(context_destroy)                                                                             \
    F(core_disconnect)                                                                             \
    F(properties_new)                                                                              \
    F(proxy_add_listener)                                                                          \
    F(proxy_destroy)                                                                               \
    F(stream_new)                                                                                  \
    F(stream_add_listener)                                                                         \
    F(stream_connect)                                                                              \
    F(stream_destroy)                                                                              \
    F(stream_update_params)                                                                        \
    F(stream_dequeue_buffer)                                                                       \
    F(stream_queue_buffer)                                                                         \
    F(stream_is_driving)                                                                           \
    F(stream_get_node_id)                                                                          \
    F(stream_trigger_process)

struct halo_pipewire {
#define HALO_PIPEWIRE_FIELD(name) __typeof__(pw_##name) *name;
    HALO_PIPEWIRE_FUNCTIONS(HALO_PIPEWIRE_FIELD)
#undef HALO_PIPEWIRE_FIELD
};

/* libpipewire is loaded only when a stream needs it, so that halod also runs without it. Returns
 * the library's functions, which remain valid until the process ends, or NULL with err filled if
 * the library is not installed or lacks a function. Any thread; opens files in the library
 * folders. */
const struct halo_pipewire *halo_pipewire_load(struct halo_error *err);

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
