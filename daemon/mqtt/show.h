/* SPDX-License-Identifier: BSD-2-Clause
 * Publishes streams. Loop thread only. */
#ifndef HALO_MQTT_SHOW_H
#define HALO_MQTT_SHOW_H

#include "daemon/mqtt/data.h"

/* Brings the list of streams up to date with the settings, and removes what was published of
 * streams that they no longer contain. */
void halo_mqtt_show_list(struct halo_mqtt *mqtt);
/* Looks at the streams that are due, publishes what has changed, and announces what is new to Home
 * Assistant. */
void halo_mqtt_show(struct halo_mqtt *mqtt);
/* Forgets all that was published, so that everything is published again. */
void halo_mqtt_show_forget(struct halo_mqtt *mqtt);
void halo_mqtt_stream_destroy(struct halo_mqtt_stream *stream);

#endif
