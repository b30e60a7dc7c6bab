/* SPDX-License-Identifier: BSD-2-Clause
 * Methods that answer later. Only the table in methods.c uses them. */
#ifndef HALO_METHODS_WAIT_H
#define HALO_METHODS_WAIT_H

#include <jansson.h>

#include "daemon/control/client.h"

void halo_method_set(struct halo_client *client, json_t *parameters);
void halo_method_hide(struct halo_client *client, json_t *parameters);
void halo_method_control(struct halo_client *client, json_t *parameters);
void halo_method_snapshot(struct halo_client *client, json_t *parameters);
void halo_method_facts(struct halo_client *client, json_t *parameters);

#endif
