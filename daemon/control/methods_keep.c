/* SPDX-License-Identifier: BSD-2-Clause
 * Reloading and keeping settings, finding cameras, and the last hour. */
#include "daemon/control/methods_keep.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "config/address.h"
#include "config/source_kinds.h"
#include "daemon/control/history.h"
#include "daemon/control/varlink.h"
#include "daemon/supervisor/supervisor.h"
#include "pipeline/camera/camera.h"

/* ---- cameras ---- */

struct search {
    uv_work_t work;
    json_t *list;
    int code;
    halo_reply *reply;
    void *arg;
};

static void add(json_t *list, const struct halo_camera_id *id)
{
    struct halo_camera_offer offer;
    struct halo_error err = {0};
    char input[HALO_CAMERA_INPUT];
    halo_camera_ask(&offer, id, &err);
    halo_camera_input(id, input, sizeof input);
    if (err.code || (offer.capture && !offer.loopback && offer.modes > 0))
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "path", id->node, "name", id->name,
                                              "input", input[0] ? input : id->node));
    halo_camera_offer_finish(&offer);
}

static void search(uv_work_t *work)
{
    struct search *search = work->data;
    struct halo_camera_id *ids = NULL;
    const int count = halo_camera_list(&ids);
    search->code = count < 0 ? count : 0;
    for (int i = 0; i < count; i++)
        add(search->list, &ids[i]);
    free(ids);
}

static void on_found(uv_work_t *work, int status)
{
    struct search *search = work->data;
    struct halo_error err = {0};
    (void)status;
    if (search->code < 0)
        halo_fail(&err, search->code, "cannot list /dev: %s", strerror(-search->code));
    search->reply(search->arg, search->code < 0 ? NULL : search->list,
                  search->code < 0 ? &err : NULL);
    json_decref(search->list);
    free(search);
}

/* Calls reply(arg) later with a list of objects with "path", "name" and "input" (the name by which
 * settings should refer to the camera), or with an error. Returns 0 or -ENOMEM. */
static int cameras_find(uv_loop_t *loop, halo_reply *reply, void *arg)
{
    struct search *search_now = calloc(1, sizeof *search_now);
    if (!search_now)
        return -ENOMEM;
    search_now->work.data = search_now;
    search_now->list = json_array();
    search_now->reply = reply;
    search_now->arg = arg;
    if (search_now->list && uv_queue_work(loop, &search_now->work, search, on_found) == 0)
        return 0;
    json_decref(search_now->list);
    free(search_now);
    return -ENOMEM;
}

/* ---- methods ---- */

/* ---- reload, keep and forget ---- */

static void on_changed(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    (void)err;
    if (client)
        halo_client_answer(client, json_incref(result), -1);
}

/* The settings have errors. Takes the caller's reference to errors. */
static void refuse(struct halo_client *client, const char *what, json_t *errors)
{
    halo_client_refuse_with(client, HALO_ERROR_CONFIG, what,
                            json_pack("{s:o}", HALO_ERROR_ERRORS, errors));
}

/* The settings of this stream, which the client gave, have errors: says the first one by its key,
 * without the file of the state folder. Takes the caller's reference to errors. */
static void refuse_own(struct halo_client *client, const char *name, json_t *errors)
{
    char mark[96], field[32];
    const char *what = json_string_value(json_array_get(errors, 0));
    json_t *one;
    size_t i;
    snprintf(mark, sizeof mark, ": streams.%.64s.", name);
    json_array_foreach (errors, i, one) {
        const char *own = strstr(json_string_value(one), mark);
        if (!own)
            continue;
        own += strlen(mark);
        snprintf(field, sizeof field, "%.*s", (int)strcspn(own, ".:["), own);
        halo_client_refuse_with(
            client, HALO_ERROR_CONFIG, own,
            json_pack("{s:o, s:s}", HALO_ERROR_ERRORS, errors, HALO_ERROR_FIELD, field));
        return;
    }
    refuse(client, what, errors);
}

void halo_method_reload(struct halo_client *client, json_t *parameters)
{
    const struct halo_control_host *host = &halo_client_all(client)->host;
    const bool check = json_is_true(json_object_get(parameters, HALO_FIELD_CHECK));
    struct halo_error err = {0};
    json_t *errors = NULL;
    struct halo_pending *pending = halo_client_wait(client);
    if (!pending)
        return;
    const struct halo_control_reply reply = {on_changed, pending, &errors};
    if (host->reload(host->arg, !check, &reply, &err) == 0)
        return;
    halo_pending_end(pending);
    refuse(client, err.text, errors ? errors : json_array());
}

/* Only the keys that the page sets up: nothing that starts programs, writes files or weakens
 * privacy. */
static bool may_keep(const char *key)
{
    static const char *const keys[] = {"input", "filters", "capture", "enabled"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!strcmp(keys[i], key))
            return true;
    return false;
}

/* A camera, a URL or a test pattern. A file would be shown to everybody who may view. */
static bool is_input(const json_t *value)
{
    static const char *const schemes[] = {"http://",  "https://", "rtsp://", "rtsps://", "rtmp://",
                                          "rtmps://", "srt://",   "udp://",  "rtp://",   "tcp://"};
    const char *input = json_string_value(value);
    const struct halo_source_row *row = input ? halo_source_row(input) : NULL;
    bool known = row && (row->captures || row->kind == HALO_SOURCE_TEST);
    for (size_t i = 0; row && i < sizeof schemes / sizeof schemes[0]; i++)
        known |= !strncmp(input, schemes[i], strlen(schemes[i]));
    return known;
}

static bool refuse_input(struct halo_client *client, const json_t *value)
{
    const char *what = NULL;
    if (!is_input(value))
        what = "the input must be a camera, a URL or test: write other inputs to the settings file";
    else if (halo_source_row(json_string_value(value))->place == HALO_FROM_NETWORK &&
             !halo_address_has_network())
        what = "this halod has no network access: copy network.conf to "
               "/etc/systemd/system/halod.service.d/ and restart it (docs/service.md)";
    if (what)
        halo_client_refuse(client, HALO_ERROR_REFUSED, what, HALO_ERROR_FIELD, "input");
    return what;
}

static bool refuse_settings(struct halo_client *client, const json_t *settings)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)settings, key, value) {
        if (!may_keep(key)) {
            halo_client_refuse(client, HALO_ERROR_REFUSED,
                               "only input, filters, capture and enabled can be "
                               "kept: write other keys to the settings file",
                               NULL, NULL);
            return true;
        }
        if (!strcmp(key, "input") && refuse_input(client, value))
            return true;
    }
    return false;
}

/* Two clients may choose one name: the second must not replace the input and the filters of the
 * first. */
static bool refuse_name(struct halo_client *client, const char *name)
{
    const struct halo_control_host *host = &halo_client_all(client)->host;
    const bool taken = halo_daemon_stream(halo_supervisor_settings(host->supervisor), name);
    if (taken)
        halo_client_refuse(client, HALO_ERROR_REFUSED, "there is already a stream with this name",
                           NULL, NULL);
    return taken;
}

/* The chain last requested, without additions, which are kept anyway. A new reference; NULL:
 * refused. */
static json_t *settings_now(struct halo_client *client, const char *name)
{
    struct halo_error err = {0};
    json_t *chain = halo_supervisor_chain(halo_client_all(client)->host.supervisor, name, &err);
    json_t *settings = chain ? json_pack("{s:O}", "filters", json_object_get(chain, "base")) : NULL;
    json_decref(chain);
    if (!settings) {
        halo_fail(&err, -ENOMEM, "out of memory");
        halo_client_fail(client, &err);
    }
    return settings;
}

/* Whether a text refers to a variable or credential, which must not get into a URL of somebody who
 * only has a password of the page. */
static bool has_variable(const json_t *settings)
{
    char *text = json_dumps(settings, JSON_COMPACT | JSON_ENCODE_ANY);
    const bool has = !text || strstr(text, "${");
    free(text);
    return has;
}

/* Changes the overlay and reloads. */
static void keep(struct halo_client *client, const char *name, const json_t *settings)
{
    const struct halo_control_host *host = &halo_client_all(client)->host;
    struct halo_error err = {0};
    json_t *errors = NULL;
    struct halo_pending *pending = halo_client_wait(client);
    if (!pending)
        return;
    const struct halo_control_reply reply = {on_changed, pending, &errors};
    if (host->keep(host->arg, name, settings, &reply, &err) == 0)
        return;
    halo_pending_end(pending);
    if (errors)
        refuse_own(client, name, errors);
    else
        halo_client_fail(client, &err);
}

void halo_method_keep(struct halo_client *client, json_t *parameters)
{
    const char *name = halo_parameter_text(parameters, HALO_FIELD_NAME);
    json_t *settings = json_object_get(parameters, HALO_FIELD_SETTINGS);
    if (settings && refuse_settings(client, settings))
        return;
    if (json_is_true(json_object_get(parameters, HALO_FIELD_NEW)) && refuse_name(client, name))
        return;
    settings = settings ? json_incref(settings) : settings_now(client, name);
    if (settings && has_variable(settings))
        halo_client_refuse(client, HALO_ERROR_REFUSED,
                           "variables (${NAME}) can be used only in the settings file", NULL, NULL);
    else if (settings)
        keep(client, name, settings);
    json_decref(settings);
}

void halo_method_forget(struct halo_client *client, json_t *parameters)
{
    keep(client, halo_parameter_text(parameters, HALO_FIELD_NAME), NULL);
}

/* ---- cameras ---- */

static const char *stream_with(const struct halo_daemon_settings *settings, const char *path,
                               const char *input)
{
    for (int i = 0; i < settings->streams; i++) {
        const char *own = settings->stream[i].source.input;
        if (own && (!strcmp(own, path) || !strcmp(own, input)))
            return settings->stream[i].name;
    }
    return NULL;
}

static void on_cameras(void *arg, json_t *result, const struct halo_error *err)
{
    struct halo_client *client = halo_pending_end(arg);
    json_t *one;
    size_t i;
    if (client && err)
        halo_client_fail(client, err);
    if (!client || err)
        return;
    const struct halo_daemon_settings *settings =
        halo_supervisor_settings(halo_client_all(client)->host.supervisor);
    json_array_foreach (result, i, one) {
        const char *stream = stream_with(settings, halo_parameter_text(one, "path"),
                                         halo_parameter_text(one, "input"));
        json_object_set_new(one, "stream", stream ? json_string(stream) : json_null());
    }
    halo_client_answer(client, json_pack("{s:O}", HALO_FIELD_DEVICES, result), -1);
}

void halo_method_devices(struct halo_client *client, json_t *parameters)
{
    struct halo_pending *pending = halo_client_wait(client);
    (void)parameters;
    if (!pending || cameras_find(halo_client_all(client)->loop, on_cameras, pending) == 0)
        return;
    halo_pending_end(pending);
    halo_client_refuse(client, HALO_ERROR_FAILED, "out of memory", NULL, NULL);
}

/* ---- the last hour ---- */

void halo_method_history(struct halo_client *client, json_t *parameters)
{
    halo_client_answer(client,
                       halo_history_read(halo_client_all(client)->history,
                                         halo_parameter_text(parameters, HALO_FIELD_NAME)),
                       -1);
}
