/* SPDX-License-Identifier: BSD-2-Clause
 * In builds without the headers of libmosquitto, which refuse `mqtt:` in the settings. */
#include "daemon/mqtt/mqtt.h"

int halo_mqtt_create(struct halo_mqtt **ret, uv_loop_t *loop, struct halo_supervisor *sv,
                     const struct halo_mqtt_settings *settings, struct halo_error *err)
{
    (void)loop;
    (void)sv;
    (void)settings;
    (void)err;
    *ret = NULL;
    return 0;
}

void halo_mqtt_destroy(struct halo_mqtt *mqtt)
{
    (void)mqtt;
}
