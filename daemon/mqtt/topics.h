/* SPDX-License-Identifier: BSD-2-Clause
 * Topics, and the messages by which Home Assistant discovers devices. There is no state; any
 * thread. */
#ifndef HALO_MQTT_TOPICS_H
#define HALO_MQTT_TOPICS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    HALO_MQTT_TOPIC = 320, /* room for every topic */
    HALO_MQTT_NAME = 65,   /* for the name of a stream */
    HALO_MQTT_ID = 32,     /* for the id of an addition to a stream's chain */
};

/* The addition that hides everything. */
#define HALO_MQTT_SHUTTER       "shutter"
#define HALO_MQTT_SHUTTER_CHAIN "solid"

/* PREFIX/status */
void halo_mqtt_topic_status(char ret[HALO_MQTT_TOPIC], const char *prefix);
/* PREFIX/announced: what was announced to Home Assistant, so that it can be removed after halod was
 * restarted with other streams. */
void halo_mqtt_topic_announced(char ret[HALO_MQTT_TOPIC], const char *prefix);
/* PREFIX/NAME/state */
void halo_mqtt_topic_state(char ret[HALO_MQTT_TOPIC], const char *prefix, const char *name);
/* PREFIX/NAME/hide, or, for an addition that is not the shutter, PREFIX/NAME/hide/ID */
void halo_mqtt_topic_switch(char ret[HALO_MQTT_TOPIC], const char *prefix, const char *name,
                            const char *id);
/* Returns whether an addition can have a switch: its topics must not be those of others. */
bool halo_mqtt_topic_is_id(const char *id);

/* Parses the topic of a command, PREFIX/NAME/hide/set or PREFIX/NAME/hide/ID/set. For the former,
 * the id is that of the shutter. Returns whether it is one. */
bool halo_mqtt_topic_parse(const char *topic, const char *prefix, char ret_name[HALO_MQTT_NAME],
                           char ret_id[HALO_MQTT_ID]);

/* The topic of an entity's discovery message: a sensor if id is NULL, otherwise a switch. */
void halo_mqtt_topic_discovery(char ret[HALO_MQTT_TOPIC], const char *discovery, const char *prefix,
                               const char *name, const char *id);
/* Returns the discovery message of that entity, or NULL if out of memory. The caller frees it. */
char *halo_mqtt_topic_message(const char *prefix, const char *name, const char *id);

#endif
