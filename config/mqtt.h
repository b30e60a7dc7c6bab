/* SPDX-License-Identifier: BSD-2-Clause
 * The MQTT broker to which the daemon connects (daemon/mqtt). */
#ifndef HALO_CONFIG_MQTT_H
#define HALO_CONFIG_MQTT_H

#include <stdbool.h>

#define HALO_MQTT_PREFIX    "halod"
#define HALO_MQTT_DISCOVERY "homeassistant"

struct halo_mqtt_settings {
    char *server;          /* HOST:PORT; NULL: MQTT is off, and all other keys are NULL, too */
    char *user, *password; /* NULL: none; a password is given only together with a user */
    char *tls_ca;          /* path of a PEM file with certificates of the authorities that are
                           * trusted; NULL: no TLS */
    char *prefix;          /* the first part of every topic; NULL: HALO_MQTT_PREFIX */
    char *discovery;       /* Home Assistant's discovery prefix, or "off"; NULL:
                           * HALO_MQTT_DISCOVERY */
};

/* Returns whether this build supports MQTT. */
bool halo_mqtt_is_built(void);

#endif
