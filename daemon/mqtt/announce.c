/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/announce.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 1 << 20 };

static void publish_entity(struct halo_mqtt *mqtt, const char *name, const char *id, bool there)
{
    char topic[HALO_MQTT_TOPIC];
    if (!mqtt->discovery)
        return;
    char *text = there ? halo_mqtt_topic_message(mqtt->prefix, name, id) : NULL;
    halo_mqtt_topic_discovery(topic, mqtt->discovery, mqtt->prefix, name, id);
    if (text || !there)
        halo_mqtt_broker_publish(mqtt->broker, topic, text);
    free(text);
}

void halo_mqtt_announce(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream)
{
    if (!stream->announced)
        publish_entity(mqtt, stream->name, NULL, true);
    mqtt->unannounced |= !stream->announced;
    stream->announced = true;
    for (int i = 0; i < stream->switches; i++) {
        struct halo_mqtt_switch *sw = &stream->sw[i];
        if (sw->announced)
            continue;
        publish_entity(mqtt, stream->name, sw->id, true);
        mqtt->unannounced = true;
        sw->announced = true;
    }
}

/* {"STREAM": ["ID", ...]} */
void halo_mqtt_announce_list(struct halo_mqtt *mqtt)
{
    char topic[HALO_MQTT_TOPIC];
    if (!mqtt->unannounced)
        return;
    json_t *list = json_object();
    for (const struct halo_mqtt_stream *s = mqtt->streams; s; s = s->next) {
        json_t *ids = json_array();
        for (int i = 0; i < s->switches; i++)
            json_array_append_new(ids, json_string(s->sw[i].id));
        json_object_set_new(list, s->name, ids);
    }
    char *text = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(list);
    halo_mqtt_topic_announced(topic, mqtt->prefix);
    if (text)
        halo_mqtt_broker_publish(mqtt->broker, topic, text);
    mqtt->unannounced = !text;
    free(text);
}

/* ---- removing ---- */

void halo_mqtt_unannounce_switch(struct halo_mqtt *mqtt, const char *name, const char *id)
{
    char topic[HALO_MQTT_TOPIC];
    publish_entity(mqtt, name, id, false);
    halo_mqtt_topic_switch(topic, mqtt->prefix, name, id);
    halo_mqtt_broker_publish(mqtt->broker, topic, NULL);
    mqtt->unannounced = true;
}

void halo_mqtt_unannounce_stream(struct halo_mqtt *mqtt, const char *name)
{
    char topic[HALO_MQTT_TOPIC];
    publish_entity(mqtt, name, NULL, false);
    halo_mqtt_topic_state(topic, mqtt->prefix, name);
    halo_mqtt_broker_publish(mqtt->broker, topic, NULL);
    mqtt->unannounced = true;
}

static void remove_old_stream(struct halo_mqtt *mqtt, const char *name, json_t *ids)
{
    struct halo_mqtt_stream *stream = halo_mqtt_find_stream(mqtt, name);
    json_t *one;
    size_t i;
    json_array_foreach (ids, i, one) {
        const char *id = json_string_value(one);
        if (id && halo_mqtt_topic_is_id(id) && !(stream && halo_mqtt_find_switch(stream, id)))
            halo_mqtt_unannounce_switch(mqtt, name, id);
    }
    if (!stream)
        halo_mqtt_unannounce_stream(mqtt, name);
}

void halo_mqtt_remove_old(struct halo_mqtt *mqtt)
{
    const char *name;
    json_t *ids;
    json_object_foreach (mqtt->old, name, ids)
        if (halo_is_name(name, strlen(name)))
            remove_old_stream(mqtt, name, ids);
    json_decref(mqtt->old);
    mqtt->old = NULL;
}

void halo_mqtt_take_old(struct halo_mqtt *mqtt, const struct halo_mqtt_message *message)
{
    if (message->size == 0 || message->size > LIST_MAX)
        return;
    json_decref(mqtt->old);
    mqtt->old = json_loadb(message->payload, message->size, 0, NULL);
}
