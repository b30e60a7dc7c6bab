/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/mqtt.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/mqtt/announce.h"
#include "daemon/mqtt/command.h"
#include "daemon/mqtt/data.h"
#include "daemon/mqtt/show.h"

enum { TICK_MS = 1000, SOON_MS = 50, HANDLES = 2 };

/* ---- data ---- */

struct halo_mqtt_stream *halo_mqtt_find_stream(const struct halo_mqtt *mqtt, const char *name)
{
    struct halo_mqtt_stream *stream = mqtt->streams;
    while (stream && strcmp(stream->name, name) != 0)
        stream = stream->next;
    return stream;
}

struct halo_mqtt_switch *halo_mqtt_find_switch(struct halo_mqtt_stream *stream, const char *id)
{
    for (int i = 0; i < stream->switches; i++)
        if (!strcmp(stream->sw[i].id, id))
            return &stream->sw[i];
    return NULL;
}

/* ---- when to publish ---- */

/* While the broker is absent or slow, nothing piles up: what has changed is published later. */
static void show(struct halo_mqtt *mqtt)
{
    if (halo_mqtt_broker_is_idle(mqtt->broker))
        halo_mqtt_show(mqtt);
}

static void on_soon(uv_timer_t *timer)
{
    show(timer->data);
}

/* Several events in a row cause one message. */
static void show_soon(struct halo_mqtt *mqtt)
{
    if (!uv_is_active((uv_handle_t *)&mqtt->soon))
        uv_timer_start(&mqtt->soon, on_soon, SOON_MS, 0);
}

void halo_mqtt_look_soon(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream)
{
    stream->due = true;
    show_soon(mqtt);
}

static void on_event(struct halo_listener *listener, json_t *event)
{
    struct halo_mqtt *mqtt =
        (struct halo_mqtt *)((char *)listener - offsetof(struct halo_mqtt, listener));
    const char *what = json_string_value(json_object_get(event, "event"));
    const char *name = json_string_value(json_object_get(event, "stream"));
    struct halo_mqtt_stream *stream = name ? halo_mqtt_find_stream(mqtt, name) : NULL;
    if (what && !strcmp(what, "reload")) {
        halo_mqtt_show_list(mqtt);
        show_soon(mqtt);
    }
    if (stream)
        halo_mqtt_look_soon(mqtt, stream);
}

static void on_tick(uv_timer_t *timer)
{
    struct halo_mqtt *mqtt = timer->data;
    halo_mqtt_broker_tick(mqtt->broker);
    halo_mqtt_command_tick(mqtt);
    for (struct halo_mqtt_stream *s = mqtt->streams; s; s = s->next)
        s->due |= ++s->age >= HALO_MQTT_STATE_S;
    show(mqtt);
}

/* ---- the broker ---- */

/* The list of the earlier run is requested before it is replaced. halod is online once commands are
 * obeyed. */
static void on_accepted(void *arg)
{
    struct halo_mqtt *mqtt = arg;
    char topic[HALO_MQTT_TOPIC];
    halo_mqtt_topic_announced(topic, mqtt->prefix);
    halo_mqtt_broker_subscribe(mqtt->broker, topic);
    halo_mqtt_command_subscribe(mqtt);
    halo_mqtt_show_forget(mqtt);
    halo_mqtt_show(mqtt);
    halo_mqtt_topic_status(topic, mqtt->prefix);
    halo_mqtt_broker_publish(mqtt->broker, topic, "online");
}

static void on_message(void *arg, const struct halo_mqtt_message *message)
{
    struct halo_mqtt *mqtt = arg;
    char announced[HALO_MQTT_TOPIC];
    halo_mqtt_topic_announced(announced, mqtt->prefix);
    if (strcmp(message->topic, announced) != 0)
        halo_mqtt_command(mqtt, message);
    else if (message->retained)
        halo_mqtt_take_old(mqtt, message);
    if (mqtt->old)
        show_soon(mqtt);
}

static const struct halo_mqtt_broker_ops broker_ops = {on_accepted, on_message};

/* ---- beginning and end ---- */

static void finish(struct halo_mqtt *mqtt)
{
    while (mqtt->streams) {
        struct halo_mqtt_stream *stream = mqtt->streams;
        mqtt->streams = stream->next;
        halo_mqtt_stream_destroy(stream);
    }
    json_decref(mqtt->old);
    free(mqtt->prefix);
    free(mqtt->discovery);
    free(mqtt);
}

static void free_closed(uv_handle_t *handle)
{
    struct halo_mqtt *mqtt = handle->data;
    if (--mqtt->handles == 0)
        finish(mqtt);
}

static int copy_settings(struct halo_mqtt *mqtt, const struct halo_mqtt_settings *settings,
                         struct halo_error *err)
{
    const char *discovery = settings->discovery ? settings->discovery : HALO_MQTT_DISCOVERY;
    const bool off = !strcmp(discovery, "off");
    mqtt->prefix = strdup(settings->prefix ? settings->prefix : HALO_MQTT_PREFIX);
    mqtt->discovery = off ? NULL : strdup(discovery);
    if (!mqtt->prefix || (!off && !mqtt->discovery))
        return halo_fail(err, -ENOMEM, "out of memory");
    char status[HALO_MQTT_TOPIC];
    halo_mqtt_topic_status(status, mqtt->prefix);
    return halo_mqtt_broker_create(&mqtt->broker, settings, status, &broker_ops, mqtt, err);
}

static void start(struct halo_mqtt *mqtt, uv_loop_t *loop)
{
    uv_timer_init(loop, &mqtt->tick);
    uv_timer_init(loop, &mqtt->soon);
    mqtt->handles = HANDLES;
    mqtt->tick.data = mqtt->soon.data = mqtt;
    uv_timer_start(&mqtt->tick, on_tick, TICK_MS, TICK_MS);
    mqtt->listener.event = on_event;
    halo_supervisor_listen(mqtt->sv, &mqtt->listener);
    halo_mqtt_show_list(mqtt);
    halo_mqtt_broker_start(mqtt->broker, loop);
}

int halo_mqtt_create(struct halo_mqtt **ret, uv_loop_t *loop, struct halo_supervisor *sv,
                     const struct halo_mqtt_settings *settings, struct halo_error *err)
{
    struct halo_error why = {0};
    *ret = NULL;
    if (!settings->server)
        return 0;
    struct halo_mqtt *mqtt = calloc(1, sizeof *mqtt);
    if (!mqtt)
        return halo_fail(err, -ENOMEM, "out of memory");
    mqtt->sv = sv;
    const int code = copy_settings(mqtt, settings, &why);
    if (code < 0) {
        finish(mqtt);
        if (code == -ENOMEM)
            return halo_fail(err, code, "%s", why.text);
        halo_log(HALO_LOG_WARNING, "mqtt is off: %s", why.text);
        return 0;
    }
    start(mqtt, loop);
    *ret = mqtt;
    return 0;
}

void halo_mqtt_destroy(struct halo_mqtt *mqtt)
{
    if (!mqtt)
        return;
    halo_supervisor_unlisten(mqtt->sv, &mqtt->listener);
    halo_mqtt_command_forget(mqtt);
    halo_mqtt_broker_destroy(mqtt->broker);
    uv_close((uv_handle_t *)&mqtt->tick, free_closed);
    uv_close((uv_handle_t *)&mqtt->soon, free_closed);
}
