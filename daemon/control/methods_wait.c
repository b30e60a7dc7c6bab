/* SPDX-License-Identifier: BSD-2-Clause
 * Methods that answer later. The token of a pending call outlives the client. */
#include "daemon/control/methods_wait.h"

#include <libavutil/avutil.h>
#include <unistd.h>

#include "daemon/control/build.h"
#include "daemon/control/facts.h"
#include "daemon/control/masks.h"
#include "daemon/control/varlink.h"
#include "kernels/version.h"

static void on_set(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    const json_t *revision = json_object_get(result, HALO_FIELD_REVISION);
    if (client && err)
        halo_client_fail(client, err);
    else if (client)
        halo_client_answer(client,
                           revision ? json_pack("{s:O}", HALO_FIELD_REVISION, revision) : NULL, -1);
}

/* Refuses a change that was made for a chain that has been changed since, or is about to change. */
static bool is_outdated(struct halo_client *client, const json_t *parameters)
{
    const json_t *revision = json_object_get(parameters, HALO_FIELD_REVISION);
    struct halo_error err = {0};
    if (!json_is_integer(revision))
        return false;
    json_t *now = halo_supervisor_chain(
        halo_client_all(client)->host.supervisor,
        json_string_value(json_object_get(parameters, HALO_FIELD_NAME)), &err);
    const bool same = !now || json_equal(json_object_get(now, HALO_FIELD_REVISION), revision);
    if (!same)
        halo_client_refuse_with(client, HALO_ERROR_CHANGED,
                                "somebody else has changed the filters of this stream",
                                json_incref(now));
    json_decref(now);
    return !same;
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

/* The supervisor has refused the call at once: `code` is negative. */
static void end(struct halo_pending *pending, int code, const struct halo_error *err)
{
    struct halo_client *client = code < 0 ? halo_pending_end(pending) : NULL;
    if (client)
        halo_client_fail(client, err);
}

void halo_method_set(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    struct halo_pending *pending =
        is_outdated(client, parameters) ? NULL : halo_client_wait(client);
    if (pending)
        end(pending,
            halo_supervisor_set(halo_client_all(client)->host.supervisor,
                                halo_parameter_text(parameters, HALO_FIELD_NAME),
                                halo_parameter_text(parameters, HALO_FIELD_FILTERS), on_set,
                                pending, &err),
            &err);
}

void halo_method_hide(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const struct halo_hide hide = {halo_parameter_text(parameters, HALO_FIELD_ID),
                                   halo_parameter_text(parameters, HALO_FIELD_FILTERS)};
    struct halo_pending *pending =
        halo_masks_refuse(client, parameters) || is_outdated(client, parameters)
            ? NULL
            : halo_client_wait(client);
    if (pending)
        end(pending,
            halo_supervisor_hide(halo_client_all(client)->host.supervisor,
                                 halo_parameter_text(parameters, HALO_FIELD_NAME), &hide, on_set,
                                 pending, &err),
            &err);
}

void halo_method_control(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const json_t *value = json_object_get(parameters, HALO_FIELD_VALUE);
    const struct halo_control_value to = {
        .control = halo_parameter_text(parameters, HALO_FIELD_CONTROL),
        .value = (int64_t)json_number_value(value),
    };
    struct halo_pending *pending = halo_client_wait(client);
    if (pending)
        end(pending,
            halo_supervisor_control(halo_client_all(client)->host.supervisor,
                                    halo_parameter_text(parameters, HALO_FIELD_NAME), &to, on_set,
                                    pending, &err),
            &err);
}

void halo_method_snapshot(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const struct halo_shot shot = {halo_parameter_text(parameters, HALO_FIELD_FORMAT),
                                   halo_parameter_text(parameters, HALO_FIELD_FILTERS)};
    struct halo_pending *pending =
        shot.filters && halo_masks_refuse(client, parameters) ? NULL : halo_client_wait(client);
    if (pending)
        end(pending,
            halo_supervisor_snapshot(halo_client_all(client)->host.supervisor,
                                     halo_parameter_text(parameters, HALO_FIELD_NAME), &shot,
                                     on_snapshot, pending, &err),
            &err);
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
    if (pending)
        end(pending,
            halo_facts_gather(all->facts, halo_supervisor_settings(all->host.supervisor), base,
                              on_facts, pending, &err),
            &err);
    else
        json_decref(base);
}
