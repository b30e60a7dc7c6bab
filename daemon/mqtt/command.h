/* SPDX-License-Identifier: BSD-2-Clause
 * Commands from the broker: ON and OFF. For each switch, at most one command is with the
 * supervisor; of those that arrive meanwhile, the last one follows. Loop thread only. */
#ifndef HALO_MQTT_COMMAND_H
#define HALO_MQTT_COMMAND_H

#include "daemon/mqtt/data.h"

/* Subscribes to all commands. */
void halo_mqtt_command_subscribe(struct halo_mqtt *mqtt);
/* Carries out a command. A message that is not a command, or is retained, is ignored; now and then,
 * such a message is logged. Retained commands are sent again at every connection, so an old OFF
 * would open the shutter. */
void halo_mqtt_command(struct halo_mqtt *mqtt, const struct halo_mqtt_message *message);
/* Has answers that are still to come discarded. */
void halo_mqtt_command_forget(struct halo_mqtt *mqtt);
/* Called once a second. */
void halo_mqtt_command_tick(struct halo_mqtt *mqtt);

#endif
