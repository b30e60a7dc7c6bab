/* SPDX-License-Identifier: BSD-2-Clause
 * Methods about the users and tokens of HTTP. Only the table in methods.c uses them. */
#ifndef HALO_METHODS_USERS_H
#define HALO_METHODS_USERS_H

#include <jansson.h>

#include "daemon/control/client.h"

void halo_method_users(struct halo_client *client, json_t *parameters);
void halo_method_put_user(struct halo_client *client, json_t *parameters);
void halo_method_remove_user(struct halo_client *client, json_t *parameters);
void halo_method_add_token(struct halo_client *client, json_t *parameters);
void halo_method_remove_token(struct halo_client *client, json_t *parameters);

#endif
