/* SPDX-License-Identifier: BSD-2-Clause
 * Methods that change the settings, and about the machine's cameras and the last hour. Only the
 * table in methods.c uses them. */
#ifndef HALO_METHODS_KEEP_H
#define HALO_METHODS_KEEP_H

#include <jansson.h>

#include "daemon/control/client.h"

void halo_method_reload(struct halo_client *client, json_t *parameters);
void halo_method_keep(struct halo_client *client, json_t *parameters);
void halo_method_forget(struct halo_client *client, json_t *parameters);
void halo_method_devices(struct halo_client *client, json_t *parameters);
void halo_method_history(struct halo_client *client, json_t *parameters);

#endif
