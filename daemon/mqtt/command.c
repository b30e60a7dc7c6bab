/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"

enum { IGNORED_S = 30 };

/* ---- words ---- */

static void ignore(struct halo_mqtt *mqtt, const char *topic, const char *why)
{
    if (mqtt->ignored++ > 0)
        return;
    mqtt->ignored_age = 0;
    halo_log(HALO_LOG_WARNING, "mqtt: a message to %.200s was ignored: %s", topic, why);
}

void halo_mqtt_command_tick(struct halo_mqtt *mqtt)
{
    if (mqtt->ignored == 0 || ++mqtt->ignored_age < IGNORED_S)
        return;
    if (mqtt->ignored > 1)
        halo_log(HALO_LOG_WARNING, "mqtt: %d more messages were ignored", mqtt->ignored - 1);
    mqtt->ignored = 0;
}

/* ---- answers ---- */

static struct halo_mqtt_pending *find_pending(const struct halo_mqtt *mqtt, const char *name,
                                              const char *id)
{
    struct halo_mqtt_pending *p = mqtt->pending;
    while (p && (strcmp(p->name, name) != 0 || strcmp(p->id, id) != 0))
        p = p->next;
    return p;
}

static void unlink_pending(struct halo_mqtt_pending *pending)
{
    struct halo_mqtt_pending **at = &pending->mqtt->pending;
    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
}

static void switch_to(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream,
                      struct halo_mqtt_switch *sw, bool on);

/* The state is published from the stream's status, which says what is in force. */
static void on_answer(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_mqtt_pending *pending = arg;
    struct halo_mqtt *mqtt = pending->mqtt;
    (void)result;
    if (mqtt) {
        unlink_pending(pending);
        struct halo_mqtt_stream *stream = halo_mqtt_find_stream(mqtt, pending->name);
        struct halo_mqtt_switch *sw = stream ? halo_mqtt_find_switch(stream, pending->id) : NULL;
        if (err)
            halo_log(HALO_LOG_WARNING, "mqtt: stream %s: %s of '%s' failed: %s", pending->name,
                     pending->on ? "ON" : "OFF", pending->id, err->text);
        else if (sw && pending->on)
            sw->off_here = false;
        if (sw)
            halo_mqtt_look_soon(mqtt, stream);
        if (sw && pending->then >= 0)
            switch_to(mqtt, stream, sw, pending->then);
    }
    free(pending);
}

void halo_mqtt_command_forget(struct halo_mqtt *mqtt)
{
    for (struct halo_mqtt_pending *p = mqtt->pending; p; p = p->next)
        p->mqtt = NULL;
    mqtt->pending = NULL;
}

/* ---- commands ---- */

/* Whether the addition is there, or was requested. Its present chain may be newer than the one that
 * is remembered here; only the shutter has to be the shutter. */
static bool is_on(const struct halo_mqtt *mqtt, const struct halo_mqtt_stream *stream,
                  const struct halo_mqtt_switch *sw)
{
    json_t *all = halo_supervisor_chain(mqtt->sv, stream->name, NULL);
    const char *chain = json_string_value(json_object_get(json_object_get(all, "hides"), sw->id));
    const bool ret = chain && (sw != &stream->sw[0] || !strcmp(chain, sw->chain));
    json_decref(all);
    return ret;
}

static void switch_to(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream,
                      struct halo_mqtt_switch *sw, bool on)
{
    if (on && is_on(mqtt, stream, sw)) {
        halo_mqtt_look_soon(mqtt, stream);
        return;
    }
    struct halo_mqtt_pending *pending = calloc(1, sizeof *pending);
    struct halo_error err = {0};
    if (!pending) {
        halo_log(HALO_LOG_WARNING, "mqtt: out of memory: a command was ignored");
        return;
    }
    *pending =
        (struct halo_mqtt_pending){.next = mqtt->pending, .mqtt = mqtt, .on = on, .then = -1};
    memcpy(pending->name, stream->name, sizeof pending->name);
    memcpy(pending->id, sw->id, sizeof pending->id);
    mqtt->pending = pending;
    sw->off_here |= !on;
    const struct halo_hide hide = {.id = pending->id, .filters = on ? sw->chain : ""};
    if (halo_supervisor_hide(mqtt->sv, stream->name, &hide, on_answer, pending, &err) < 0)
        on_answer(pending, NULL, &err);
}

static bool is_text(const struct halo_mqtt_message *message, const char *text)
{
    return message->size == strlen(text) && !memcmp(message->payload, text, message->size);
}

void halo_mqtt_command(struct halo_mqtt *mqtt, const struct halo_mqtt_message *message)
{
    char name[HALO_MQTT_NAME], id[HALO_MQTT_ID];
    const bool on = message->size && is_text(message, "ON");
    const bool off = message->size && is_text(message, "OFF");
    struct halo_mqtt_stream *stream = NULL;
    struct halo_mqtt_switch *sw = NULL;
    if (halo_mqtt_topic_parse(message->topic, mqtt->prefix, name, id))
        stream = halo_mqtt_find_stream(mqtt, name);
    if (stream)
        sw = halo_mqtt_find_switch(stream, id);
    if (message->retained)
        ignore(mqtt, message->topic, "a command must not be retained");
    else if (!sw)
        ignore(mqtt, message->topic, "there is no such switch");
    else if (!on && !off)
        ignore(mqtt, message->topic, "a command is ON or OFF");
    else if (find_pending(mqtt, name, id))
        find_pending(mqtt, name, id)->then = on;
    else
        switch_to(mqtt, stream, sw, on);
}

void halo_mqtt_command_subscribe(struct halo_mqtt *mqtt)
{
    char topic[HALO_MQTT_TOPIC];
    snprintf(topic, sizeof topic, "%s/+/hide/set", mqtt->prefix);
    halo_mqtt_broker_subscribe(mqtt->broker, topic);
    snprintf(topic, sizeof topic, "%s/+/hide/+/set", mqtt->prefix);
    halo_mqtt_broker_subscribe(mqtt->broker, topic);
}
