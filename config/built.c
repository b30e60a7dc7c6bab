/* SPDX-License-Identifier: BSD-2-Clause
 * Of which libraries this build has the headers: meson.build says true or false. */
#include "config/mqtt.h"
#include "config/pipewire.h"

bool halo_mqtt_is_built(void)
{
    return MQTT_BUILT;
}

bool halo_pipewire_is_built(void)
{
    return PIPEWIRE_BUILT;
}
