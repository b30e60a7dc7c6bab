/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/mqtt.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/secrets.h"
#include "daemon/mqtt/broker.h"
#include "daemon/mqtt/topics.h"

enum {
    TICK_MS = 1000,
    SOON_MS = 50,
    HANDLES = 2,
    LIST_MAX = 1 << 20,
    IGNORED_S = 30,
    SWITCHES = 32, /* per stream; further additions get no switch */
    STATE_S = 10,  /* between two messages in which only numbers differ */
};

/* A switch that adds filters and removes them. The first switch of each stream is the shutter. */
struct hide_switch {
    char id[HALO_MQTT_ID];
    char *chain;    /* what ON adds; owned */
    bool in_force;  /* according to the supervisor */
    bool off_here;  /* it was switched off by MQTT, so it is remembered */
    int shown;      /* the published state: 0 or 1; -1: none */
    bool announced; /* to Home Assistant */
};

struct stream {
    struct stream *next;
    char name[HALO_MQTT_NAME];
    struct hide_switch sw[SWITCHES];
    int switches;
    bool due;       /* its status has to be looked at */
    int age;        /* seconds since that was done */
    bool announced; /* to Home Assistant */
    char *shown;    /* the published state; NULL: none; owned */
};

/* A command that the supervisor has not answered yet. */
struct pending {
    struct pending *next;
    struct halo_mqtt *mqtt; /* NULL: it was destroyed */
    char name[HALO_MQTT_NAME], id[HALO_MQTT_ID];
    bool on;
    int then; /* what was requested meanwhile: 0 or 1; -1: nothing */
};

struct halo_mqtt {
    struct halo_supervisor *sv;
    struct halo_listener listener;
    struct halo_mqtt_broker *broker;
    uv_timer_t tick, soon;
    int handles;
    char *prefix, *discovery; /* discovery is NULL if it is off */
    struct stream *streams;
    struct pending *pending;
    json_t *old;      /* list of an earlier run that was not handled yet; NULL: none */
    bool unannounced; /* the list of what was announced has to be published */
    int ignored;      /* messages that were ignored since one was logged */
    int ignored_age;  /* seconds since then */
};

static struct stream *find_stream(const struct halo_mqtt *mqtt, const char *name)
{
    struct stream *stream = mqtt->streams;
    while (stream && strcmp(stream->name, name) != 0)
        stream = stream->next;
    return stream;
}

static struct hide_switch *find_switch(struct stream *stream, const char *id)
{
    for (int i = 0; i < stream->switches; i++)
        if (!strcmp(stream->sw[i].id, id))
            return &stream->sw[i];
    return NULL;
}

/* ---- Home Assistant ----
 * What was announced is also published as a list, so that a later run of halod, which may have
 * other streams, can remove the rest. */

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

/* Announces the stream and its switches, except what was announced already. */
static void announce(struct halo_mqtt *mqtt, struct stream *stream)
{
    if (!stream->announced)
        publish_entity(mqtt, stream->name, NULL, true);
    mqtt->unannounced |= !stream->announced;
    stream->announced = true;
    for (int i = 0; i < stream->switches; i++) {
        struct hide_switch *sw = &stream->sw[i];
        if (sw->announced)
            continue;
        publish_entity(mqtt, stream->name, sw->id, true);
        mqtt->unannounced = true;
        sw->announced = true;
    }
}

/* Publishes the list if it has changed: {"STREAM": ["ID", ...]}. */
static void announce_list(struct halo_mqtt *mqtt)
{
    char topic[HALO_MQTT_TOPIC];
    if (!mqtt->unannounced)
        return;
    json_t *list = json_object();
    for (const struct stream *s = mqtt->streams; s; s = s->next) {
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

/* Remove all retained messages of a switch, or of a stream except its switches. */
static void unannounce_switch(struct halo_mqtt *mqtt, const char *name, const char *id)
{
    char topic[HALO_MQTT_TOPIC];
    publish_entity(mqtt, name, id, false);
    halo_mqtt_topic_switch(topic, mqtt->prefix, name, id);
    halo_mqtt_broker_publish(mqtt->broker, topic, NULL);
    mqtt->unannounced = true;
}

static void unannounce_stream(struct halo_mqtt *mqtt, const char *name)
{
    char topic[HALO_MQTT_TOPIC];
    publish_entity(mqtt, name, NULL, false);
    halo_mqtt_topic_state(topic, mqtt->prefix, name);
    halo_mqtt_broker_publish(mqtt->broker, topic, NULL);
    mqtt->unannounced = true;
}

static void remove_old_stream(struct halo_mqtt *mqtt, const char *name, json_t *ids)
{
    struct stream *stream = find_stream(mqtt, name);
    json_t *one;
    size_t i;
    json_array_foreach (ids, i, one) {
        const char *id = json_string_value(one);
        if (id && halo_mqtt_topic_is_id(id) && !(stream && find_switch(stream, id)))
            unannounce_switch(mqtt, name, id);
    }
    if (!stream)
        unannounce_stream(mqtt, name);
}

/* Removes the streams and switches of the old list that no longer exist. All streams must have been
 * looked at. */
static void remove_old(struct halo_mqtt *mqtt)
{
    const char *name;
    json_t *ids;
    json_object_foreach (mqtt->old, name, ids)
        if (halo_is_name(name, strlen(name)))
            remove_old_stream(mqtt, name, ids);
    json_decref(mqtt->old);
    mqtt->old = NULL;
}

/* Keeps the list of an earlier run, unless the message is malformed. */
static void take_old(struct halo_mqtt *mqtt, const struct halo_mqtt_message *message)
{
    if (message->size == 0 || message->size > LIST_MAX)
        return;
    json_decref(mqtt->old);
    mqtt->old = json_loadb(message->payload, message->size, 0, NULL);
}

/* ---- a switch ---- */

static void show_switch(struct halo_mqtt *mqtt, const struct stream *stream, struct hide_switch *sw)
{
    char topic[HALO_MQTT_TOPIC];
    if (sw->shown == (int)sw->in_force)
        return;
    halo_mqtt_topic_switch(topic, mqtt->prefix, stream->name, sw->id);
    halo_mqtt_broker_publish(mqtt->broker, topic, sw->in_force ? "ON" : "OFF");
    sw->shown = sw->in_force;
}

static void remove_switch(struct halo_mqtt *mqtt, struct stream *stream, int index)
{
    struct hide_switch *sw = &stream->sw[index];
    unannounce_switch(mqtt, stream->name, sw->id);
    free(sw->chain);
    stream->switches--;
    memmove(sw, sw + 1, (size_t)(stream->switches - index) * sizeof *sw);
}

static struct hide_switch *add_switch(struct stream *stream, const char *id, const char *chain)
{
    if (stream->switches == SWITCHES || !halo_mqtt_topic_is_id(id))
        return NULL;
    struct hide_switch *sw = &stream->sw[stream->switches];
    *sw = (struct hide_switch){.chain = strdup(chain), .shown = -1};
    if (!sw->chain)
        return NULL;
    strcpy(sw->id, id); /* its length was checked */
    stream->switches++;
    return sw;
}

static void replace_chain(struct hide_switch *sw, const char *chain)
{
    char *copy = strcmp(sw->chain, chain) ? strdup(chain) : NULL;
    if (!copy)
        return;
    free(sw->chain);
    sw->chain = copy;
}

/* Brings the switches up to date. An addition under the shutter's id that is not the shutter does
 * not hide everything. */
static void take_hides(struct halo_mqtt *mqtt, struct stream *stream, json_t *hides)
{
    const char *shutter = json_string_value(json_object_get(hides, HALO_MQTT_SHUTTER)), *id;
    json_t *chain;
    for (int i = 1; i < stream->switches; i++)
        stream->sw[i].in_force = false;
    stream->sw[0].in_force = shutter && !strcmp(shutter, HALO_MQTT_SHUTTER_CHAIN);
    json_object_foreach (hides, id, chain) {
        if (!strcmp(id, HALO_MQTT_SHUTTER))
            continue;
        struct hide_switch *sw = find_switch(stream, id);
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

static void show_state(struct halo_mqtt *mqtt, struct stream *stream, const json_t *status)
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

static void look(struct halo_mqtt *mqtt, struct stream *stream)
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
    announce(mqtt, stream);
    json_decref(status);
}

static void destroy_stream(struct stream *stream)
{
    for (int i = 0; i < stream->switches; i++)
        free(stream->sw[i].chain);
    free(stream->shown);
    free(stream);
}

/* ---- all streams ---- */

static void remove_streams(struct halo_mqtt *mqtt, const struct halo_daemon_settings *settings)
{
    for (struct stream **at = &mqtt->streams; *at;) {
        struct stream *stream = *at;
        if (halo_daemon_stream(settings, stream->name)) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        for (int i = 0; i < stream->switches; i++)
            unannounce_switch(mqtt, stream->name, stream->sw[i].id);
        unannounce_stream(mqtt, stream->name);
        destroy_stream(stream);
    }
}

/* If there is no memory for a stream, it is tried again at the next reload. */
static void add_streams(struct halo_mqtt *mqtt, const struct halo_daemon_settings *settings)
{
    for (int i = 0; i < settings->streams; i++) {
        const char *name = settings->stream[i].name;
        struct stream *stream = find_stream(mqtt, name) ? NULL : calloc(1, sizeof *stream);
        if (!stream)
            continue;
        strcpy(stream->name, name); /* the loader checked its length */
        stream->due = true;
        if (add_switch(stream, HALO_MQTT_SHUTTER, HALO_MQTT_SHUTTER_CHAIN)) {
            stream->next = mqtt->streams;
            mqtt->streams = stream;
        } else {
            destroy_stream(stream);
        }
    }
}

/* Brings the list of streams up to date with the settings, and removes what was published of
 * streams that they no longer contain. */
static void update_list(struct halo_mqtt *mqtt)
{
    const struct halo_daemon_settings *settings = halo_supervisor_settings(mqtt->sv);
    remove_streams(mqtt, settings);
    add_streams(mqtt, settings);
}

/* Looks at the streams that are due, publishes what has changed, and announces what is new to Home
 * Assistant. */
static void publish(struct halo_mqtt *mqtt)
{
    for (struct stream *s = mqtt->streams; s; s = s->next)
        if (s->due)
            look(mqtt, s);
    remove_old(mqtt);
    announce_list(mqtt);
}

/* Forgets all that was published, so that everything is published again. */
static void forget_published(struct halo_mqtt *mqtt)
{
    mqtt->unannounced = true;
    for (struct stream *s = mqtt->streams; s; s = s->next) {
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

/* ---- when to publish ---- */

/* While the broker is absent or slow, nothing piles up: what has changed is published later. */
static void show(struct halo_mqtt *mqtt)
{
    if (halo_mqtt_broker_is_idle(mqtt->broker))
        publish(mqtt);
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

static void look_soon(struct halo_mqtt *mqtt, struct stream *stream)
{
    stream->due = true;
    show_soon(mqtt);
}

/* ---- commands ----
 * ON and OFF. For each switch, at most one command is with the supervisor; of those that arrive
 * meanwhile, the last one follows. */

static void ignore(struct halo_mqtt *mqtt, const char *topic, const char *why)
{
    if (mqtt->ignored++ > 0)
        return;
    mqtt->ignored_age = 0;
    halo_log(HALO_LOG_WARNING, "mqtt: a message to %.200s was ignored: %s", topic, why);
}

static void say_ignored(struct halo_mqtt *mqtt)
{
    if (mqtt->ignored == 0 || ++mqtt->ignored_age < IGNORED_S)
        return;
    if (mqtt->ignored > 1)
        halo_log(HALO_LOG_WARNING, "mqtt: %d more messages were ignored", mqtt->ignored - 1);
    mqtt->ignored = 0;
}

static struct pending *find_pending(const struct halo_mqtt *mqtt, const char *name, const char *id)
{
    struct pending *p = mqtt->pending;
    while (p && (strcmp(p->name, name) != 0 || strcmp(p->id, id) != 0))
        p = p->next;
    return p;
}

static void unlink_pending(struct pending *pending)
{
    struct pending **at = &pending->mqtt->pending;
    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
}

static void switch_to(struct halo_mqtt *mqtt, struct stream *stream, struct hide_switch *sw,
                      bool on);

/* The state is published from the stream's status, which says what is in force. */
static void on_answer(void *arg, json_t *result, const struct halo_error *err)
{
    struct pending *pending = arg;
    struct halo_mqtt *mqtt = pending->mqtt;
    (void)result;
    if (mqtt) {
        unlink_pending(pending);
        struct stream *stream = find_stream(mqtt, pending->name);
        struct hide_switch *sw = stream ? find_switch(stream, pending->id) : NULL;
        if (err)
            halo_log(HALO_LOG_WARNING, "mqtt: stream %s: %s of '%s' failed: %s", pending->name,
                     pending->on ? "ON" : "OFF", pending->id, err->text);
        else if (sw && pending->on)
            sw->off_here = false;
        if (sw)
            look_soon(mqtt, stream);
        if (sw && pending->then >= 0)
            switch_to(mqtt, stream, sw, pending->then);
    }
    free(pending);
}

/* Has answers that are still to come discarded. */
static void forget_pending(struct halo_mqtt *mqtt)
{
    for (struct pending *p = mqtt->pending; p; p = p->next)
        p->mqtt = NULL;
    mqtt->pending = NULL;
}

/* Whether the addition is there, or was requested. Its present chain may be newer than the one that
 * is remembered here; only the shutter has to be the shutter. */
static bool is_on(const struct halo_mqtt *mqtt, const struct stream *stream,
                  const struct hide_switch *sw)
{
    json_t *all = halo_supervisor_chain(mqtt->sv, stream->name, NULL);
    const char *chain = json_string_value(json_object_get(json_object_get(all, "hides"), sw->id));
    const bool ret = chain && (sw != &stream->sw[0] || !strcmp(chain, sw->chain));
    json_decref(all);
    return ret;
}

static void switch_to(struct halo_mqtt *mqtt, struct stream *stream, struct hide_switch *sw,
                      bool on)
{
    if (on && is_on(mqtt, stream, sw)) {
        look_soon(mqtt, stream);
        return;
    }
    struct pending *pending = calloc(1, sizeof *pending);
    struct halo_error err = {0};
    if (!pending) {
        halo_log(HALO_LOG_WARNING, "mqtt: out of memory: a command was ignored");
        return;
    }
    *pending = (struct pending){.next = mqtt->pending, .mqtt = mqtt, .on = on, .then = -1};
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

/* Carries out a command. A message that is not a command, or is retained, is ignored; now and then,
 * such a message is logged. Retained commands are sent again at every connection, so an old OFF
 * would open the shutter. */
static void obey(struct halo_mqtt *mqtt, const struct halo_mqtt_message *message)
{
    char name[HALO_MQTT_NAME], id[HALO_MQTT_ID];
    const bool on = message->size && is_text(message, "ON");
    const bool off = message->size && is_text(message, "OFF");
    struct stream *stream = NULL;
    struct hide_switch *sw = NULL;
    if (halo_mqtt_topic_parse(message->topic, mqtt->prefix, name, id))
        stream = find_stream(mqtt, name);
    if (stream)
        sw = find_switch(stream, id);
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

static void subscribe_commands(struct halo_mqtt *mqtt)
{
    char topic[HALO_MQTT_TOPIC];
    snprintf(topic, sizeof topic, "%s/+/hide/set", mqtt->prefix);
    halo_mqtt_broker_subscribe(mqtt->broker, topic);
    snprintf(topic, sizeof topic, "%s/+/hide/+/set", mqtt->prefix);
    halo_mqtt_broker_subscribe(mqtt->broker, topic);
}

/* ---- events ---- */

static void on_event(struct halo_listener *listener, json_t *event)
{
    struct halo_mqtt *mqtt =
        (struct halo_mqtt *)((char *)listener - offsetof(struct halo_mqtt, listener));
    const char *what = json_string_value(json_object_get(event, "event"));
    const char *name = json_string_value(json_object_get(event, "stream"));
    struct stream *stream = name ? find_stream(mqtt, name) : NULL;
    if (what && !strcmp(what, "reload")) {
        update_list(mqtt);
        show_soon(mqtt);
    }
    if (stream)
        look_soon(mqtt, stream);
}

static void on_tick(uv_timer_t *timer)
{
    struct halo_mqtt *mqtt = timer->data;
    halo_mqtt_broker_tick(mqtt->broker);
    say_ignored(mqtt);
    for (struct stream *s = mqtt->streams; s; s = s->next)
        s->due |= ++s->age >= STATE_S;
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
    subscribe_commands(mqtt);
    forget_published(mqtt);
    publish(mqtt);
    halo_mqtt_topic_status(topic, mqtt->prefix);
    halo_mqtt_broker_publish(mqtt->broker, topic, "online");
}

static void on_message(void *arg, const struct halo_mqtt_message *message)
{
    struct halo_mqtt *mqtt = arg;
    char announced[HALO_MQTT_TOPIC];
    halo_mqtt_topic_announced(announced, mqtt->prefix);
    if (strcmp(message->topic, announced) != 0)
        obey(mqtt, message);
    else if (message->retained)
        take_old(mqtt, message);
    if (mqtt->old)
        show_soon(mqtt);
}

static const struct halo_mqtt_broker_ops broker_ops = {on_accepted, on_message};

/* ---- beginning and end ---- */

static void finish(struct halo_mqtt *mqtt)
{
    while (mqtt->streams) {
        struct stream *stream = mqtt->streams;
        mqtt->streams = stream->next;
        destroy_stream(stream);
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
    update_list(mqtt);
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
    forget_pending(mqtt);
    halo_mqtt_broker_destroy(mqtt->broker);
    uv_close((uv_handle_t *)&mqtt->tick, free_closed);
    uv_close((uv_handle_t *)&mqtt->soon, free_closed);
}
