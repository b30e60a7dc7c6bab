/* SPDX-License-Identifier: BSD-2-Clause
 * MQTT, for Home Assistant: publishes the state of each stream, and lets clients of the broker hide
 * streams. docs/mqtt.md lists the topics.
 *
 *   supervisor --events, status--> mqtt.c --topics--> broker.c --> broker
 *        ^---- halo_supervisor_hide() <---- mqtt.c <-----------'
 *
 * A client of the broker can add the shutter, which hides everything, and can take away what was
 * added to a stream's chain while halod runs. It cannot change the chain of the settings file. If
 * the broker is lost, nothing changes in what is hidden.
 *
 * Loop thread only; never blocks the event loop. */
#ifndef HALO_MQTT_H
#define HALO_MQTT_H

#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "daemon/supervisor/supervisor.h"

struct halo_mqtt;

/* Begins to connect to the broker, which may be absent. settings is copied. If the settings have no
 * broker, or if libmosquitto is not installed, which is logged, *ret is NULL and the result is 0.
 * Otherwise returns 0, or -ENOMEM with err filled. */
int halo_mqtt_create(struct halo_mqtt **ret, uv_loop_t *loop, struct halo_supervisor *sv,
                     const struct halo_mqtt_settings *settings, struct halo_error *err);
/* Publishes that halod is offline, and disconnects. Must be called before the supervisor is
 * destroyed. The memory is freed when the event loop has closed the handles; answers that the
 * supervisor gives after this call are discarded. NULL is ignored. */
void halo_mqtt_destroy(struct halo_mqtt *mqtt);

#endif
