/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of this folder share: which streams and switches exist, and what was published of
 * them. Loop thread only. */
#ifndef HALO_MQTT_DATA_H
#define HALO_MQTT_DATA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/mqtt/broker.h"
#include "daemon/mqtt/mqtt.h"
#include "daemon/mqtt/topics.h"

enum {
    HALO_MQTT_SWITCHES = 32, /* per stream; further additions get no switch */
    HALO_MQTT_STATE_S = 10,  /* between two messages in which only numbers differ */
};

/* A switch that adds filters and removes them. The first switch of each stream is the shutter. */
struct halo_mqtt_switch {
    char id[HALO_MQTT_ID];
    char *chain;    /* what ON adds; owned */
    bool in_force;  /* according to the supervisor */
    bool off_here;  /* it was switched off by MQTT, so it is remembered */
    int shown;      /* the published state: 0 or 1; -1: none */
    bool announced; /* to Home Assistant */
};

struct halo_mqtt_stream {
    struct halo_mqtt_stream *next;
    char name[HALO_MQTT_NAME];
    struct halo_mqtt_switch sw[HALO_MQTT_SWITCHES];
    int switches;
    bool due;       /* its status has to be looked at */
    int age;        /* seconds since that was done */
    bool announced; /* to Home Assistant */
    char *shown;    /* the published state; NULL: none; owned */
};

/* A command that the supervisor has not answered yet. */
struct halo_mqtt_pending {
    struct halo_mqtt_pending *next;
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
    struct halo_mqtt_stream *streams;
    struct halo_mqtt_pending *pending;
    json_t *old;      /* list of an earlier run that was not handled yet; NULL: none */
    bool unannounced; /* the list of what was announced has to be published */
    int ignored;      /* messages that were ignored since one was logged */
    int ignored_age;  /* seconds since then */
};

/* NULL: there is none. */
struct halo_mqtt_stream *halo_mqtt_find_stream(const struct halo_mqtt *mqtt, const char *name);
struct halo_mqtt_switch *halo_mqtt_find_switch(struct halo_mqtt_stream *stream, const char *id);
/* Has the stream's status looked at and published soon. */
void halo_mqtt_look_soon(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream);

#endif
