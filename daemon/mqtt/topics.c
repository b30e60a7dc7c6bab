/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/topics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config/daemon.h"
#include "kernels/version.h"

static bool is_shutter(const char *id)
{
    return !strcmp(id, HALO_MQTT_SHUTTER);
}

void halo_mqtt_topic_status(char ret[HALO_MQTT_TOPIC], const char *prefix)
{
    snprintf(ret, HALO_MQTT_TOPIC, "%s/status", prefix);
}

void halo_mqtt_topic_announced(char ret[HALO_MQTT_TOPIC], const char *prefix)
{
    snprintf(ret, HALO_MQTT_TOPIC, "%s/announced", prefix);
}

void halo_mqtt_topic_state(char ret[HALO_MQTT_TOPIC], const char *prefix, const char *name)
{
    snprintf(ret, HALO_MQTT_TOPIC, "%s/%s/state", prefix, name);
}

void halo_mqtt_topic_switch(char ret[HALO_MQTT_TOPIC], const char *prefix, const char *name,
                            const char *id)
{
    const bool shutter = is_shutter(id);
    snprintf(ret, HALO_MQTT_TOPIC, "%s/%s/hide%s%s", prefix, name, shutter ? "" : "/",
             shutter ? "" : id);
}

bool halo_mqtt_topic_is_id(const char *id)
{
    const size_t length = strlen(id);
    return length < HALO_MQTT_ID && halo_is_name(id, length) && strcmp(id, "set") != 0;
}

/* ---- commands ---- */

/* Moves past the text if `at` begins with it. */
static bool skip(const char **at, const char *text)
{
    const size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

/* Copies the part of the topic up to the next slash, which is also skipped. */
static bool take_part(const char **at, char *ret, size_t size)
{
    const size_t length = strcspn(*at, "/");
    if (length == 0 || length >= size || !(*at)[length])
        return false;
    memcpy(ret, *at, length);
    ret[length] = '\0';
    *at += length + 1;
    return true;
}

bool halo_mqtt_topic_parse(const char *topic, const char *prefix, char ret_name[HALO_MQTT_NAME],
                           char ret_id[HALO_MQTT_ID])
{
    const char *at = topic;
    if (!skip(&at, prefix) || !skip(&at, "/") || !take_part(&at, ret_name, HALO_MQTT_NAME) ||
        !skip(&at, "hide/"))
        return false;
    if (!strcmp(at, "set"))
        return strcpy(ret_id, HALO_MQTT_SHUTTER);
    return take_part(&at, ret_id, HALO_MQTT_ID) && !strcmp(at, "set") &&
           halo_mqtt_topic_is_id(ret_id) && !is_shutter(ret_id);
}

/* ---- discovery ---- */

void halo_mqtt_topic_discovery(char ret[HALO_MQTT_TOPIC], const char *discovery, const char *prefix,
                               const char *name, const char *id)
{
    char node[72];
    snprintf(node, sizeof node, "%s", prefix);
    for (char *c = node; *c; c++)
        if (*c == '/')
            *c = '_';
    if (!id)
        snprintf(ret, HALO_MQTT_TOPIC, "%s/sensor/%s_%s/state/config", discovery, node, name);
    else if (is_shutter(id))
        snprintf(ret, HALO_MQTT_TOPIC, "%s/switch/%s_%s/hide/config", discovery, node, name);
    else
        snprintf(ret, HALO_MQTT_TOPIC, "%s/switch/%s_%s/hide_%s/config", discovery, node, name, id);
}

static void describe_sensor(json_t *to, const char *topic)
{
    json_object_set_new(to, "name", json_string("State"));
    json_object_set_new(to, "icon", json_string("mdi:cctv"));
    json_object_set_new(to, "value_template", json_string("{{ value_json.state }}"));
    json_object_set_new(to, "json_attributes_topic", json_string(topic));
}

static void describe_switch(json_t *to, const char *topic, const char *id)
{
    json_object_set_new(to, "name",
                        is_shutter(id) ? json_string("Hide all") : json_sprintf("Hide %s", id));
    json_object_set_new(to, "icon", json_string(is_shutter(id) ? "mdi:camera-off" : "mdi:blur"));
    json_object_set_new(to, "command_topic", json_sprintf("%s/set", topic));
    json_object_set_new(to, "optimistic", json_false());
    json_object_set_new(to, "retain", json_false()); /* such commands are ignored */
}

char *halo_mqtt_topic_message(const char *prefix, const char *name, const char *id)
{
    char topic[HALO_MQTT_TOPIC], status[HALO_MQTT_TOPIC];
    halo_mqtt_topic_status(status, prefix);
    if (id)
        halo_mqtt_topic_switch(topic, prefix, name, id);
    else
        halo_mqtt_topic_state(topic, prefix, name);
    json_t *to = json_pack("{s:s, s:s, s:s, s:{s:[s+++], s:s++, s:s, s:s, s:s}, s:{s:s, s:s}}",
                           "unique_id", topic, "state_topic", topic, "availability_topic", status,
                           "device", "identifiers", prefix, "/", name, "", "name", "halod ", name,
                           "", "manufacturer", "halod", "model", "video stream", "sw_version",
                           HALO_VERSION, "origin", "name", "halod", "sw_version", HALO_VERSION);
    if (id)
        describe_switch(to, topic, id);
    else
        describe_sensor(to, topic);
    char *text = json_dumps(to, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(to);
    return text;
}
