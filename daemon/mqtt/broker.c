/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/broker.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/mqtt/library.h"

struct halo_mqtt_broker {
    uv_loop_t *loop; /* NULL until it is started */
    const struct halo_mosquitto *library;
    const struct halo_mqtt_broker_ops *ops;
    void *arg;
    char *server, *host, *user, *password, *tls_ca, *will_topic;
    char id[80];
    int port;
    struct halo_mqtt_session *session; /* NULL: the next attempt is in `wait` seconds */
    int wait, pause;
    int age;        /* of an accepted session, in seconds; -1: it is not accepted */
    char said[400]; /* the last failure that was logged since a session began */
};

/* ---- session ---- */

static void on_accepted(void *arg)
{
    struct halo_mqtt_broker *broker = arg;
    broker->age = 0;
    broker->said[0] = '\0';
    halo_log(HALO_LOG_INFO, "mqtt: connected to %s", broker->server);
    broker->ops->accepted(broker->arg);
}

static void on_message(void *arg, const struct halo_mqtt_message *message)
{
    struct halo_mqtt_broker *broker = arg;
    broker->ops->message(broker->arg, message);
}

/* A reason is logged once, not at every attempt. */
static void say(struct halo_mqtt_broker *broker, const char *why)
{
    if (!strcmp(broker->said, why))
        return;
    snprintf(broker->said, sizeof broker->said, "%s", why);
    halo_log(HALO_LOG_WARNING, "mqtt: %s: %s; trying again at least every %d s", broker->server,
             why, HALO_MQTT_PAUSE_MAX_S);
}

static void on_lost(void *arg, const char *why)
{
    struct halo_mqtt_broker *broker = arg;
    say(broker, why);
    halo_mqtt_session_destroy(broker->session);
    broker->session = NULL;
    if (broker->age >= HALO_MQTT_PAUSE_MAX_S)
        broker->pause = HALO_MQTT_PAUSE_MIN_S;
    broker->wait = broker->pause;
    broker->pause *= 2;
    if (broker->pause > HALO_MQTT_PAUSE_MAX_S)
        broker->pause = HALO_MQTT_PAUSE_MAX_S;
    broker->age = -1;
}

static const struct halo_mqtt_session_ops session_ops = {on_accepted, on_message, on_lost};

static void begin(struct halo_mqtt_broker *broker)
{
    const struct halo_mqtt_target target = {
        .host = broker->host,
        .port = broker->port,
        .id = broker->id,
        .user = broker->user,
        .password = broker->password,
        .tls_ca = broker->tls_ca,
        .will_topic = broker->will_topic,
        .will_text = "offline",
    };
    if (halo_mqtt_session_create(&broker->session, broker->loop, broker->library, &target,
                                 &session_ops, broker) < 0)
        on_lost(broker, "out of memory");
}

/* ---- settings ---- */

static char *copy_text(const char *text, bool *fine)
{
    char *copy = text ? strdup(text) : NULL;
    *fine &= copy || !text;
    return copy;
}

/* Splits HOST:PORT or [HOST]:PORT, whose form the loader has checked. */
static void split_server(struct halo_mqtt_broker *broker)
{
    char *colon = strrchr(broker->host, ':');
    *colon = '\0';
    broker->port = atoi(colon + 1);
    const size_t length = strlen(broker->host);
    if (broker->host[0] == '[') {
        memmove(broker->host, broker->host + 1, length - 2);
        broker->host[length - 2] = '\0';
    }
}

/* The same at every connection, so that the broker ends a stale one, and its last will comes before
 * the new session. */
static void name_client(struct halo_mqtt_broker *broker, const char *prefix)
{
    snprintf(broker->id, sizeof broker->id, "halod-%s", prefix);
    for (char *c = broker->id; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '-';
}

static int copy_settings(struct halo_mqtt_broker *broker, const struct halo_mqtt_settings *settings,
                         const char *will_topic)
{
    bool fine = true;
    broker->server = copy_text(settings->server, &fine);
    broker->host = copy_text(settings->server, &fine);
    broker->user = copy_text(settings->user, &fine);
    broker->password = copy_text(settings->password, &fine);
    broker->tls_ca = copy_text(settings->tls_ca, &fine);
    broker->will_topic = copy_text(will_topic, &fine);
    if (!fine)
        return -ENOMEM;
    split_server(broker);
    name_client(broker, settings->prefix ? settings->prefix : HALO_MQTT_PREFIX);
    return 0;
}

int halo_mqtt_broker_create(struct halo_mqtt_broker **ret,
                            const struct halo_mqtt_settings *settings, const char *will_topic,
                            const struct halo_mqtt_broker_ops *ops, void *arg,
                            struct halo_error *err)
{
    const struct halo_mosquitto *library = halo_mosquitto_load(err);
    if (!library)
        return err->code;
    struct halo_mqtt_broker *broker = calloc(1, sizeof *broker);
    if (!broker || copy_settings(broker, settings, will_topic) < 0) {
        halo_mqtt_broker_destroy(broker);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    broker->library = library;
    broker->ops = ops;
    broker->arg = arg;
    broker->pause = HALO_MQTT_PAUSE_MIN_S;
    broker->age = -1;
    *ret = broker;
    return 0;
}

void halo_mqtt_broker_destroy(struct halo_mqtt_broker *broker)
{
    if (!broker)
        return;
    halo_mqtt_broker_publish(broker, broker->will_topic, "offline");
    halo_mqtt_session_destroy(broker->session);
    char *const texts[] = {broker->server,   broker->host,   broker->user,
                           broker->password, broker->tls_ca, broker->will_topic};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    free(broker);
}

/* ---- use ---- */

void halo_mqtt_broker_start(struct halo_mqtt_broker *broker, uv_loop_t *loop)
{
    broker->loop = loop;
    begin(broker);
}

void halo_mqtt_broker_tick(struct halo_mqtt_broker *broker)
{
    if (broker->age >= 0)
        broker->age++;
    if (broker->session)
        halo_mqtt_session_tick(broker->session);
    else if (--broker->wait <= 0)
        begin(broker);
}

bool halo_mqtt_broker_is_idle(const struct halo_mqtt_broker *broker)
{
    return broker->session && halo_mqtt_session_is_idle(broker->session);
}

void halo_mqtt_broker_publish(struct halo_mqtt_broker *broker, const char *topic, const char *text)
{
    if (broker->session)
        halo_mqtt_session_publish(broker->session, topic, text);
}

void halo_mqtt_broker_subscribe(struct halo_mqtt_broker *broker, const char *topic)
{
    if (broker->session)
        halo_mqtt_session_subscribe(broker->session, topic);
}
