/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/secrets.h"
#include "daemon/mqtt/announce.h"

/* ---- a switch ---- */

static void show_switch(struct halo_mqtt *mqtt, const struct halo_mqtt_stream *stream,
                        struct halo_mqtt_switch *sw)
{
    char topic[HALO_MQTT_TOPIC];
    if (sw->shown == (int)sw->in_force)
        return;
    halo_mqtt_topic_switch(topic, mqtt->prefix, stream->name, sw->id);
    halo_mqtt_broker_publish(mqtt->broker, topic, sw->in_force ? "ON" : "OFF");
    sw->shown = sw->in_force;
}

static void remove_switch(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream, int index)
{
    struct halo_mqtt_switch *sw = &stream->sw[index];
    halo_mqtt_unannounce_switch(mqtt, stream->name, sw->id);
    free(sw->chain);
    stream->switches--;
    memmove(sw, sw + 1, (size_t)(stream->switches - index) * sizeof *sw);
}

static struct halo_mqtt_switch *add_switch(struct halo_mqtt_stream *stream, const char *id,
                                           const char *chain)
{
    if (stream->switches == HALO_MQTT_SWITCHES || !halo_mqtt_topic_is_id(id))
        return NULL;
    struct halo_mqtt_switch *sw = &stream->sw[stream->switches];
    *sw = (struct halo_mqtt_switch){.chain = strdup(chain), .shown = -1};
    if (!sw->chain)
        return NULL;
    strcpy(sw->id, id); /* its length was checked */
    stream->switches++;
    return sw;
}

static void replace_chain(struct halo_mqtt_switch *sw, const char *chain)
{
    char *copy = strcmp(sw->chain, chain) ? strdup(chain) : NULL;
    if (!copy)
        return;
    free(sw->chain);
    sw->chain = copy;
}

/* Brings the switches up to date. An addition under the shutter's id that is not the shutter does
 * not hide everything. */
static void take_hides(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream, json_t *hides)
{
    const char *shutter = json_string_value(json_object_get(hides, HALO_MQTT_SHUTTER)), *id;
    json_t *chain;
    for (int i = 1; i < stream->switches; i++)
        stream->sw[i].in_force = false;
    stream->sw[0].in_force = shutter && !strcmp(shutter, HALO_MQTT_SHUTTER_CHAIN);
    json_object_foreach (hides, id, chain) {
        if (!strcmp(id, HALO_MQTT_SHUTTER))
            continue;
        struct halo_mqtt_switch *sw = halo_mqtt_find_switch(stream, id);
        if (!sw)
            sw = add_switch(stream, id, json_string_value(chain));
        if (!sw)
            continue;
        sw->in_force = true;
        replace_chain(sw, json_string_value(chain));
    }
    for (int i = stream->switches - 1; i > 0; i--)
        if (!stream->sw[i].in_force && !stream->sw[i].off_here)
            remove_switch(mqtt, stream, i);
}

/* ---- a stream ---- */

static json_t *tenths(const json_t *number)
{
    return json_real(round(json_number_value(number) * 10) / 10);
}

static char *state_of(const json_t *status)
{
    const json_t *total = json_object_get(json_object_get(status, "stages"), "total");
    const char *words =
        json_string_value(json_object_get(json_object_get(status, "coverage"), "words"));
    const char *why = json_string_value(json_object_get(status, "why"));
    char *shown = strdup(why ? why : ""); /* brokers show it to everybody, and keep it */
    if (shown)
        halo_hide_paths(shown);
    json_t *to = json_pack("{s:O?, s:s?, s:O?}", "state", json_object_get(status, "state"), "why",
                           shown, "viewers", json_object_get(status, "viewers"));
    free(shown);
    json_object_set_new(to, "rate", tenths(json_object_get(status, "rate")));
    json_object_set_new(to, "latency_p50_ms", tenths(json_object_get(total, "p50")));
    json_object_set_new(to, "latency_p99_ms", tenths(json_object_get(total, "p99")));
    if (words)
        json_object_set_new(to, "coverage", json_string(words));
    char *text = json_dumps(to, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    json_decref(to);
    return text;
}

static void show_state(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream,
                       const json_t *status)
{
    char topic[HALO_MQTT_TOPIC];
    char *text = state_of(status);
    if (!text || (stream->shown && !strcmp(stream->shown, text))) {
        free(text);
        return;
    }
    halo_mqtt_topic_state(topic, mqtt->prefix, stream->name);
    halo_mqtt_broker_publish(mqtt->broker, topic, text);
    free(stream->shown);
    stream->shown = text;
}

static void look(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream)
{
    json_t *status = halo_supervisor_stream(mqtt->sv, stream->name, NULL);
    stream->due = false;
    stream->age = 0;
    if (!status)
        return;
    take_hides(mqtt, stream, json_object_get(status, "hides"));
    show_state(mqtt, stream, status);
    for (int i = 0; i < stream->switches; i++)
        show_switch(mqtt, stream, &stream->sw[i]);
    halo_mqtt_announce(mqtt, stream);
    json_decref(status);
}

void halo_mqtt_stream_destroy(struct halo_mqtt_stream *stream)
{
    for (int i = 0; i < stream->switches; i++)
        free(stream->sw[i].chain);
    free(stream->shown);
    free(stream);
}

/* ---- all streams ---- */

static void remove_streams(struct halo_mqtt *mqtt, const struct halo_daemon_settings *settings)
{
    for (struct halo_mqtt_stream **at = &mqtt->streams; *at;) {
        struct halo_mqtt_stream *stream = *at;
        if (halo_daemon_stream(settings, stream->name)) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        for (int i = 0; i < stream->switches; i++)
            halo_mqtt_unannounce_switch(mqtt, stream->name, stream->sw[i].id);
        halo_mqtt_unannounce_stream(mqtt, stream->name);
        halo_mqtt_stream_destroy(stream);
    }
}

/* If there is no memory for a stream, it is tried again at the next reload. */
static void add_streams(struct halo_mqtt *mqtt, const struct halo_daemon_settings *settings)
{
    for (int i = 0; i < settings->streams; i++) {
        const char *name = settings->stream[i].name;
        struct halo_mqtt_stream *stream =
            halo_mqtt_find_stream(mqtt, name) ? NULL : calloc(1, sizeof *stream);
        if (!stream)
            continue;
        strcpy(stream->name, name); /* the loader checked its length */
        stream->due = true;
        if (add_switch(stream, HALO_MQTT_SHUTTER, HALO_MQTT_SHUTTER_CHAIN)) {
            stream->next = mqtt->streams;
            mqtt->streams = stream;
        } else {
            halo_mqtt_stream_destroy(stream);
        }
    }
}

void halo_mqtt_show_list(struct halo_mqtt *mqtt)
{
    const struct halo_daemon_settings *settings = halo_supervisor_settings(mqtt->sv);
    remove_streams(mqtt, settings);
    add_streams(mqtt, settings);
}

void halo_mqtt_show(struct halo_mqtt *mqtt)
{
    for (struct halo_mqtt_stream *s = mqtt->streams; s; s = s->next)
        if (s->due)
            look(mqtt, s);
    halo_mqtt_remove_old(mqtt);
    halo_mqtt_announce_list(mqtt);
}

void halo_mqtt_show_forget(struct halo_mqtt *mqtt)
{
    mqtt->unannounced = true;
    for (struct halo_mqtt_stream *s = mqtt->streams; s; s = s->next) {
        s->due = true;
        s->announced = false;
        free(s->shown);
        s->shown = NULL;
        for (int i = 0; i < s->switches; i++) {
            s->sw[i].shown = -1;
            s->sw[i].announced = false;
        }
    }
}
