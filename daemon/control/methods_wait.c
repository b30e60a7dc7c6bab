/* SPDX-License-Identifier: BSD-2-Clause
 * Methods that answer later. The token of a pending call outlives the client. */
#include "daemon/control/methods_wait.h"

#include <libavutil/avutil.h>
#include <unistd.h>

#include "daemon/control/build.h"
#include "daemon/control/facts.h"
#include "daemon/control/varlink.h"
#include "kernels/version.h"

static void on_set(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    (void)result;
    if (client && err)
        halo_client_fail(client, err);
    else if (client)
        halo_client_answer(client, NULL, -1);
}

static void on_snapshot(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    if (!client)
        return;
    if (err) {
        halo_client_fail(client, err);
        return;
    }
    json_t *answer = json_object();
    json_object_set(answer, HALO_FIELD_FORMAT, json_object_get(result, "format"));
    json_object_set(answer, HALO_FIELD_SIZE, json_object_get(result, "size"));
    const json_t *fd = json_object_get(result, "fd");
    halo_client_answer(client, answer, fd ? (int)json_integer_value(fd) : -1);
}

/* For Set and Snapshot: passes on one text parameter and answers later. */
static void ask(struct halo_client *client, const json_t *parameters, const char *field,
                int (*call)(struct halo_supervisor *, const char *, const char *, halo_reply *,
                            void *, struct halo_error *),
                halo_reply *reply)
{
    struct halo_error err = {0};
    struct halo_pending *pending = halo_client_wait(client);
    if (!pending) {
        halo_client_refuse(client, HALO_ERROR_FAILED, "out of memory", NULL, NULL);
        return;
    }
    if (call(halo_client_all(client)->host.supervisor,
             json_string_value(json_object_get(parameters, HALO_FIELD_NAME)),
             json_string_value(json_object_get(parameters, field)), reply, pending, &err) == 0)
        return;
    halo_pending_end(pending);
    halo_client_fail(client, &err);
}

void halo_method_set(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_FIELD_FILTERS, halo_supervisor_set, on_set);
}

void halo_method_control(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    struct halo_pending *pending = halo_client_wait(client);
    const json_t *value = json_object_get(parameters, HALO_FIELD_VALUE);
    const struct halo_control_value to = {
        .control = json_string_value(json_object_get(parameters, HALO_FIELD_CONTROL)),
        .value = (int64_t)json_number_value(value),
    };
    if (!pending) {
        halo_client_refuse(client, HALO_ERROR_FAILED, "out of memory", NULL, NULL);
        return;
    }
    if (halo_supervisor_control(halo_client_all(client)->host.supervisor,
                                json_string_value(json_object_get(parameters, HALO_FIELD_NAME)),
                                &to, on_set, pending, &err) == 0)
        return;
    halo_pending_end(pending);
    halo_client_fail(client, &err);
}

void halo_method_snapshot(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_FIELD_FORMAT, halo_supervisor_snapshot, on_snapshot);
}

static void on_reload(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    (void)err;
    if (client)
        halo_client_answer(client, json_incref(result), -1);
}

void halo_method_reload(struct halo_client *client, json_t *parameters)
{
    const struct halo_control_host *host = &halo_client_all(client)->host;
    const bool check = json_is_true(json_object_get(parameters, HALO_FIELD_CHECK));
    struct halo_error err = {0};
    json_t *errors = NULL;
    struct halo_pending *pending = halo_client_wait(client);
    if (!pending) {
        halo_client_refuse(client, HALO_ERROR_FAILED, "out of memory", NULL, NULL);
        return;
    }
    if (host->reload(host->arg, !check, on_reload, pending, &errors, &err) == 0)
        return;
    halo_pending_end(pending);
    halo_client_refuse_list(client, HALO_ERROR_CONFIG, err.text, HALO_ERROR_ERRORS, errors);
}

static void on_facts(void *arg, json_t *facts, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    if (client && err)
        halo_client_fail(client, err);
    else if (client)
        halo_client_answer(client, json_pack("{s:O}", HALO_FIELD_FACTS, facts), -1);
}

void halo_method_facts(struct halo_client *client, json_t *parameters)
{
    const struct halo_clients *all = halo_client_all(client);
    (void)parameters;
    json_t *base = json_pack("{s:s, s:i, s:s, s:s, s:s}", "version", HALO_VERSION, "pid",
                             (int)getpid(), "config", all->host.config ? all->host.config : "",
                             "ffmpeg", av_version_info(), "cuda", HALO_CUDA_BUILD);
    struct halo_error err = {0};
    struct halo_pending *pending = halo_client_wait(client);
    json_object_set_new(base, "detectors", halo_supervisor_detectors(all->host.supervisor));
    if (!pending) {
        json_decref(base);
        halo_client_refuse(client, HALO_ERROR_FAILED, "out of memory", NULL, NULL);
        return;
    }
    if (halo_facts_gather(all->facts, halo_supervisor_settings(all->host.supervisor), base,
                          on_facts, pending, &err) == 0)
        return;
    halo_pending_end(pending);
    halo_client_fail(client, &err);
}
