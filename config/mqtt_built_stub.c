/* SPDX-License-Identifier: BSD-2-Clause
 * In builds without the headers of libmosquitto. */
#include "config/mqtt.h"

bool halo_mqtt_is_built(void)
{
    return false;
}
