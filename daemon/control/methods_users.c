/* SPDX-License-Identifier: BSD-2-Clause
 * Methods about users and tokens, which daemon/access carries out. */
#include "daemon/control/methods_users.h"

#include "daemon/access/access.h"
#include "daemon/control/varlink.h"

static struct halo_access *access_of(struct halo_client *client)
{
    struct halo_access *access = halo_client_all(client)->host.access;
    if (!access)
        halo_client_refuse(client, HALO_ERROR_FAILED, "this daemon has no users", NULL, NULL);
    return access;
}

static void on_done(void *arg, const struct halo_access_answer *answer)
{
    struct halo_client *client = halo_pending_end(arg);
    if (!client)
        return;
    if (answer->err)
        halo_client_fail(client, answer->err);
    else
        halo_client_answer(
            client, answer->secret ? json_pack("{s:s}", HALO_FIELD_TOKEN, answer->secret) : NULL,
            -1);
}

static void ask(struct halo_client *client, const json_t *parameters, enum halo_access_what what)
{
    struct halo_access *access = access_of(client);
    struct halo_pending *pending = access ? halo_client_wait(client) : NULL;
    const char *role = halo_parameter_text(parameters, HALO_FIELD_ROLE);
    const struct halo_access_request request = {
        .what = what,
        .name = halo_parameter_text(parameters, HALO_FIELD_NAME),
        .password = halo_parameter_text(parameters, HALO_FIELD_PASSWORD),
        .address = "",
        .role = role ? halo_role_find(role) : HALO_ROLE_NONE,
    };
    if (pending)
        halo_access_ask(access, &request, on_done, pending);
}

void halo_method_users(struct halo_client *client, json_t *parameters)
{
    const struct halo_access *access = access_of(client);
    (void)parameters;
    if (!access)
        return;
    json_t *list = halo_users_list(halo_access_users(access));
    const char *code = halo_access_setup_code(access);
    if (code)
        json_object_set_new(list, HALO_FIELD_CODE, json_string(code));
    halo_client_answer(client, list, -1);
}

void halo_method_put_user(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_PUT_USER);
}

void halo_method_remove_user(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_REMOVE_USER);
}

void halo_method_add_token(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_PUT_TOKEN);
}

void halo_method_remove_token(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_REMOVE_TOKEN);
}
