/* SPDX-License-Identifier: BSD-2-Clause
 * The broker: keeps a session with it, and makes a new one after a pause if it is lost. Loop thread
 * only; nothing blocks. */
#ifndef HALO_MQTT_BROKER_H
#define HALO_MQTT_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"

/* The pause before a new attempt doubles with each failure, from the first to the last of these. It
 * begins again at the first after a session that lasted for HALO_MQTT_PAUSE_MAX_S. */
enum { HALO_MQTT_PAUSE_MIN_S = 1, HALO_MQTT_PAUSE_MAX_S = 30 };

struct halo_mqtt_broker;

struct halo_mqtt_message {
    const char *topic;
    const void *payload; /* `size` bytes; NULL if size is 0 */
    size_t size;
    bool retained; /* it was kept by the broker, and was sent before this connection was made */
};

struct halo_mqtt_broker_ops {
    void (*accepted)(void *arg); /* a session began: everything has to be published again */
    void (*message)(void *arg, const struct halo_mqtt_message *message);
};

/* Begins to connect. settings is copied; ops is borrowed until the broker is destroyed. will_topic
 * is the topic to which "offline" is published when the session ends. Returns 0, -ENOENT if
 * libmosquitto is not installed, or another -errno; on failure, err is filled. */
int halo_mqtt_broker_create(struct halo_mqtt_broker **ret,
                            const struct halo_mqtt_settings *settings, const char *will_topic,
                            const struct halo_mqtt_broker_ops *ops, void *arg,
                            struct halo_error *err);
/* Publishes "offline", and disconnects. NULL is ignored. */
void halo_mqtt_broker_destroy(struct halo_mqtt_broker *broker);

/* Makes the first attempt at once. Must be called once, after *ret of halo_mqtt_broker_create() has
 * been stored. */
void halo_mqtt_broker_start(struct halo_mqtt_broker *broker, uv_loop_t *loop);
/* Called once a second. */
void halo_mqtt_broker_tick(struct halo_mqtt_broker *broker);

/* Returns whether the broker has accepted the connection, and nothing waits to be sent. */
bool halo_mqtt_broker_is_idle(const struct halo_mqtt_broker *broker);
/* Publishes a retained message, or, if text is NULL, removes it. Without a connection, this and
 * halo_mqtt_broker_subscribe() do nothing; messages are lost if the connection is. */
void halo_mqtt_broker_publish(struct halo_mqtt_broker *broker, const char *topic, const char *text);
void halo_mqtt_broker_subscribe(struct halo_mqtt_broker *broker, const char *topic);

#endif
