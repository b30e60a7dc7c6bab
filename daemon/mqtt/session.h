/* SPDX-License-Identifier: BSD-2-Clause
 * One connection to the broker, from the attempt to connect until it is lost. Loop thread only.
 *
 * libmosquitto resolves names and connects with calls that block, so these calls run on a thread of
 * libuv's pool. Afterwards the socket is polled, and libmosquitto is called only on the event loop.
 * A session whose connection is lost is destroyed, and the next attempt is made by a new one. */
#ifndef HALO_MQTT_SESSION_H
#define HALO_MQTT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/mqtt/library.h"

/* What a session needs; borrowed, and copied by halo_mqtt_session_create(). */
struct halo_mqtt_target {
    const char *host; /* a name or an address, without brackets */
    int port;
    const char *id;                     /* the client's name for the broker */
    const char *user, *password;        /* may be NULL */
    const char *tls_ca;                 /* NULL: no TLS */
    const char *will_topic, *will_text; /* published by the broker when the connection is lost */
};

struct halo_mqtt_message {
    const char *topic;
    const void *payload; /* `size` bytes; NULL if size is 0 */
    size_t size;
    bool retained; /* it was kept by the broker, and was sent before this connection was made */
};

/* Functions that the session calls, all with the same `arg`. None of them may destroy the session,
 * except `lost`. */
struct halo_mqtt_session_ops {
    void (*accepted)(void *arg); /* the broker has accepted the user; publishing is possible */
    void (*message)(void *arg, const struct halo_mqtt_message *message);
    /* The connection could not be made, or was lost; `why` is one line. The session must not be
     * used any more, except to destroy it. */
    void (*lost)(void *arg, const char *why);
};

struct halo_mqtt_session;

/* Begins to connect. The library and ops are borrowed until the session is destroyed. Returns 0, or
 * -ENOMEM. */
int halo_mqtt_session_create(struct halo_mqtt_session **ret, uv_loop_t *loop,
                             const struct halo_mosquitto *library,
                             const struct halo_mqtt_target *target,
                             const struct halo_mqtt_session_ops *ops, void *arg);
/* Disconnects. If a thread is still connecting, the memory is freed when that ends, which may take
 * minutes. NULL is ignored. */
void halo_mqtt_session_destroy(struct halo_mqtt_session *session);

/* Called once a second: keeps the connection alive, and calls `lost` if the broker does not
 * answer. */
void halo_mqtt_session_tick(struct halo_mqtt_session *session);
/* Returns whether the broker has accepted the connection, and nothing waits to be sent. */
bool halo_mqtt_session_is_idle(const struct halo_mqtt_session *session);
/* Publishes a retained message, or, if text is NULL, removes it. Messages are lost
 * if the connection is; there is no repetition. */
void halo_mqtt_session_publish(struct halo_mqtt_session *session, const char *topic,
                               const char *text);
void halo_mqtt_session_subscribe(struct halo_mqtt_session *session, const char *topic);

#endif
