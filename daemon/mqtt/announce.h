/* SPDX-License-Identifier: BSD-2-Clause
 * Announces streams to Home Assistant, and withdraws them. What was announced is also published as
 * a list, so that a later run of halod, which may have other streams, can remove the rest. Loop
 * thread only. */
#ifndef HALO_MQTT_ANNOUNCE_H
#define HALO_MQTT_ANNOUNCE_H

#include "daemon/mqtt/data.h"

/* Announces the stream and its switches, except what was announced already. */
void halo_mqtt_announce(struct halo_mqtt *mqtt, struct halo_mqtt_stream *stream);
/* Publishes the list if it has changed. */
void halo_mqtt_announce_list(struct halo_mqtt *mqtt);

/* Remove all retained messages of a switch, or of a stream except its switches. */
void halo_mqtt_unannounce_switch(struct halo_mqtt *mqtt, const char *name, const char *id);
void halo_mqtt_unannounce_stream(struct halo_mqtt *mqtt, const char *name);

/* Keeps the list of an earlier run for halo_mqtt_remove_old(). Does nothing if the message is
 * malformed. */
void halo_mqtt_take_old(struct halo_mqtt *mqtt, const struct halo_mqtt_message *message);
/* Removes the streams and switches of that list that no longer exist. All streams must have been
 * looked at. */
void halo_mqtt_remove_old(struct halo_mqtt *mqtt);

#endif
