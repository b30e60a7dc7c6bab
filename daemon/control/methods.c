/* SPDX-License-Identifier: BSD-2-Clause
 * The table of methods, and their functions, which call the supervisor and answer. */
#include "daemon/control/methods.h"

#include <errno.h>
#include <jansson.h>
#include <libavutil/avutil.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/access/access.h"
#include "daemon/control/build.h"
#include "daemon/control/client.h"
#include "daemon/control/facts.h"
#include "daemon/control/methods_keep.h"
#include "daemon/control/varlink.h"
#include "daemon/link/regions.h"
#include "kernels/version.h"

/* ---- masks ---- */

/* Which mask images a chain of a client that is no administrator may use: those that the stream
 * uses already. With others, messages would tell which files exist, and frames would show their
 * outline. Loop thread only. */

#define ENDS ",:+" /* what ends the name of an image in a chain */

/* A copy without quotes and backslashes, which could hide a word. NULL: out of memory. */
static char *plain(const char *text)
{
    char *copy = strdup(text), *to = copy;
    for (const char *from = text; copy && *from; from++)
        if (*from != '\'' && *from != '\\')
            *to++ = *from;
    if (copy)
        *to = '\0';
    return copy;
}

/* Whether the chain has this "mask FILE", and not only one that begins like it: the difference
 * would tell which files exist. */
static bool has(const char *chain, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (const char *at = chain; (at = strstr(at, wanted)); at++)
        if (!at[length] || strchr(ENDS, at[length]))
            return true;
    return false;
}

/* Whether one of the stream's chains has this "mask FILE". */
static bool is_used(const json_t *stream, const char *mask, size_t length)
{
    char *wanted = strndup(mask, length);
    const char *name;
    json_t *chain, *renditions = json_object_get(stream, "renditions");
    char *own = plain(json_string_value(json_object_get(stream, HALO_FIELD_FILTERS)));
    bool used = wanted && own && has(own, wanted);
    json_object_foreach (renditions, name, chain) {
        char *text = plain(json_string_value(chain));
        used |= wanted && text && has(text, wanted);
        free(text);
    }
    free(own);
    free(wanted);
    return used;
}

static bool has_others(const json_t *stream, const char *filters)
{
    char *text = plain(filters);
    bool others = !text;
    for (const char *at = text; at && (at = strstr(at, "mask")); at += strlen("mask"))
        others |= !is_used(stream, at, strcspn(at, ENDS));
    free(text);
    return others;
}

/* Returns whether the call, whose parameters have a stream's `name` and `filters`, was refused
 * because of its mask images. */
static bool masks_refuse(struct halo_client *client, const json_t *parameters)
{
    const char *name = json_string_value(json_object_get(parameters, HALO_FIELD_NAME));
    const char *filters = json_string_value(json_object_get(parameters, HALO_FIELD_FILTERS));
    struct halo_error err = {0};
    if (halo_client_role(client) >= HALO_ROLE_ADMIN || !strstr(filters, "m"))
        return false;
    json_t *stream = halo_supervisor_stream(halo_client_all(client)->host.supervisor, name, &err);
    const bool refused = stream && has_others(stream, filters);
    json_decref(stream);
    if (refused)
        halo_client_refuse(client, HALO_ERROR_REFUSED,
                           "only an administrator can use another mask image", NULL, NULL);
    return refused;
}

/* ---- methods that wait ---- */

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

static void method_set(struct halo_client *client, json_t *parameters)
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

static void method_hide(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const struct halo_hide hide = {halo_parameter_text(parameters, HALO_FIELD_ID),
                                   halo_parameter_text(parameters, HALO_FIELD_FILTERS)};
    struct halo_pending *pending =
        masks_refuse(client, parameters) || is_outdated(client, parameters)
            ? NULL
            : halo_client_wait(client);
    if (pending)
        end(pending,
            halo_supervisor_hide(halo_client_all(client)->host.supervisor,
                                 halo_parameter_text(parameters, HALO_FIELD_NAME), &hide, on_set,
                                 pending, &err),
            &err);
}

static void method_control(struct halo_client *client, json_t *parameters)
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

static void method_snapshot(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const struct halo_shot shot = {halo_parameter_text(parameters, HALO_FIELD_FORMAT),
                                   halo_parameter_text(parameters, HALO_FIELD_FILTERS)};
    struct halo_pending *pending =
        shot.filters && masks_refuse(client, parameters) ? NULL : halo_client_wait(client);
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

static void method_facts(struct halo_client *client, json_t *parameters)
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

/* ---- methods ---- */

/* ---- users ---- */

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

static void method_users(struct halo_client *client, json_t *parameters)
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

static void method_put_user(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_PUT_USER);
}

static void method_remove_user(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_REMOVE_USER);
}

static void method_add_token(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_PUT_TOKEN);
}

static void method_remove_token(struct halo_client *client, json_t *parameters)
{
    ask(client, parameters, HALO_ACCESS_REMOVE_TOKEN);
}

enum { INTERVAL_MS = 1000 };

static struct halo_supervisor *supervisor_of(const struct halo_client *client)
{
    return halo_client_all(client)->host.supervisor;
}

static void get_info(struct halo_client *client, json_t *parameters)
{
    (void)parameters;
    halo_client_answer(client,
                       json_pack("{s:s, s:s, s:s, s:s, s:[s, s]}", "vendor", "halod", "product",
                                 "halod", "version", HALO_VERSION, "url", "", "interfaces",
                                 HALO_VARLINK_SERVICE, HALO_VARLINK_CONTROL),
                       -1);
}

static void get_description(struct halo_client *client, json_t *parameters)
{
    const char *name = halo_parameter_text(parameters, HALO_FIELD_INTERFACE);
    char *text = halo_interface_description(halo_methods, name);
    if (text)
        halo_client_answer(client, json_pack("{s:s}", "description", text), -1);
    else
        halo_client_refuse(client, HALO_ERROR_INTERFACE, "no such interface", HALO_FIELD_INTERFACE,
                           name);
    free(text);
}

static void list(struct halo_client *client, json_t *parameters)
{
    static const char *const shown[] = {"name", "state", "why", "privacy", "coverage"};
    json_t *status = halo_supervisor_status(supervisor_of(client));
    json_t *streams = json_array(), *stream;
    size_t i;
    (void)parameters;
    json_array_foreach (json_object_get(status, "streams"), i, stream) {
        json_t *row = json_object();
        for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
            if (json_object_get(stream, shown[k]))
                json_object_set(row, shown[k], json_object_get(stream, shown[k]));
        json_array_append_new(streams, row);
    }
    json_decref(status);
    halo_client_answer(client, json_pack("{s:o}", HALO_FIELD_STREAMS, streams), -1);
}

/* {"status": ...} or {"stream": ...}; NULL: an error was sent. */
static json_t *gather(struct halo_client *client)
{
    struct halo_supervisor *sv = supervisor_of(client);
    struct halo_error err = {0};
    const char *name = halo_parameter_text(halo_client_parameters(client), HALO_FIELD_NAME);
    json_t *status = name ? halo_supervisor_stream(sv, name, &err) : halo_supervisor_status(sv);
    json_t *ret =
        status ? json_pack("{s:o}", name ? HALO_FIELD_STREAM : HALO_FIELD_STATUS, status) : NULL;
    if (!ret) {
        halo_fail(&err, -ENOMEM, "out of memory"); /* kept only if err is not set yet */
        halo_client_fail(client, &err);
    }
    return ret;
}

static void repeat_status(struct halo_client *client)
{
    json_t *status = gather(client);
    if (status)
        halo_client_continue(client, status);
}

static void status(struct halo_client *client, json_t *parameters)
{
    const json_t *interval = json_object_get(parameters, HALO_FIELD_INTERVAL);
    const int ms =
        json_is_number(interval) ? (int)(json_number_value(interval) * 1000) : INTERVAL_MS;
    if (halo_client_wants_more(client)) {
        halo_client_repeat(client, repeat_status, ms);
        return;
    }
    json_t *now = gather(client);
    if (now)
        halo_client_answer(client, now, -1);
}

/* Answers a call that was completed at once. */
static void answer_done(struct halo_client *client, int rc, const struct halo_error *err)
{
    if (rc)
        halo_client_fail(client, err);
    else
        halo_client_answer(client, NULL, -1);
}

/* Checks a chain, and answers with its coverage and what it leaves. Changes nothing. */
static void check(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    if (masks_refuse(client, parameters))
        return;
    json_t *answer = halo_supervisor_check(
        supervisor_of(client), halo_parameter_text(parameters, HALO_FIELD_NAME),
        halo_parameter_text(parameters, HALO_FIELD_FILTERS), &err);
    if (answer)
        halo_client_answer(client, answer, -1);
    else
        halo_client_fail(client, &err);
}

static void act(struct halo_client *client, const json_t *parameters, const char *action)
{
    struct halo_error err = {0};
    const char *name = halo_parameter_text(parameters, HALO_FIELD_NAME);
    answer_done(client, halo_supervisor_act(supervisor_of(client), name, action, &err), &err);
}

static void start(struct halo_client *client, json_t *parameters)
{
    act(client, parameters, "start");
}

static void stop(struct halo_client *client, json_t *parameters)
{
    act(client, parameters, "stop");
}

static void restart(struct halo_client *client, json_t *parameters)
{
    act(client, parameters, "restart");
}

static void record(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const char *name = halo_parameter_text(parameters, HALO_FIELD_NAME);
    const bool on = json_is_true(json_object_get(parameters, HALO_FIELD_ON));
    answer_done(client, halo_supervisor_record(supervisor_of(client), name, on, &err), &err);
}

/* Called many times a second: clients that need no answer set "oneway". */
static void regions(struct halo_client *client, json_t *parameters)
{
    struct halo_error err = {0};
    const int64_t frame = json_integer_value(json_object_get(parameters, HALO_FIELD_PICTURE));
    answer_done(client,
                halo_supervisor_regions(supervisor_of(client),
                                        halo_parameter_text(parameters, HALO_FIELD_NAME), frame,
                                        json_object_get(parameters, HALO_FIELD_REGIONS), &err),
                &err);
}

/* Answers with what the status hides. */
static void reveal(struct halo_client *client, json_t *parameters)
{
    struct halo_supervisor *sv = supervisor_of(client);
    const char *name = halo_parameter_text(parameters, HALO_FIELD_NAME);
    const struct halo_stream_settings *stream =
        halo_daemon_stream(halo_supervisor_settings(sv), name);
    struct halo_error err = {0};
    if (!stream) {
        json_decref(halo_supervisor_stream(sv, name, &err)); /* which suggests a name */
        halo_fail(&err, -ENOENT, "no stream '%.64s'", name);
        halo_client_fail(client, &err);
        return;
    }
    json_t *targets = json_array();
    for (int i = 0; i < stream->outputs; i++) {
        const char *target = stream->output[i].target;
        json_array_append_new(targets, json_string(target ? target : ""));
    }
    halo_client_answer(client,
                       json_pack("{s:s, s:o}", HALO_FIELD_INPUT, stream->source.input,
                                 HALO_FIELD_OUTPUTS, targets),
                       -1);
}

static void events(struct halo_client *client, json_t *parameters)
{
    (void)parameters;
    halo_client_subscribe(client);
}

static const char *const image_formats[] = {"png", "jpg", NULL};
static const char *const roles[] = {"view", "operate", "admin", NULL};

#define STREAM_NAME                                                                                \
    {                                                                                              \
        HALO_FIELD_NAME, HALO_PARAMETER_STRING                                                     \
    }

#define RELOADED                                                                                   \
    "(added: ?[]string, removed: ?[]string, changed: ?[]string, set: ?[]string, "                  \
    "refused: ?[]string, coverage: ?[]object)"

#define ROLE                                                                                       \
    {                                                                                              \
        HALO_FIELD_ROLE, HALO_PARAMETER_STRING, .choices = roles                                   \
    }

/* If it is given, the change is refused if the stream's chain has been changed since. */
#define REVISION                                                                                   \
    {                                                                                              \
        HALO_FIELD_REVISION, HALO_PARAMETER_INT, .optional = true                                  \
    }

const struct halo_method halo_methods[] = {
    {HALO_VARLINK_SERVICE,
     HALO_METHOD_INFO,
     HALO_ROLE_VIEW,
     "Identifies the service.",
     {{0}},
     "(vendor: string, product: string, version: string, url: string, interfaces: []string)",
     HALO_ANSWERS_ONE,
     false,
     get_info},
    {HALO_VARLINK_SERVICE,
     HALO_METHOD_DESCRIPTION,
     HALO_ROLE_VIEW,
     "Returns the description of an interface.",
     {{HALO_FIELD_INTERFACE, HALO_PARAMETER_STRING}},
     "(description: string)",
     HALO_ANSWERS_ONE,
     false,
     get_description},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_LIST,
     HALO_ROLE_VIEW,
     "Returns the names and states of all streams.",
     {{0}},
     "(streams: [](name: string, state: string, why: ?string, privacy: ?string, "
     "coverage: ?object))",
     HALO_ANSWERS_ONE,
     false,
     list},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_STATUS,
     HALO_ROLE_VIEW,
     "Returns the status of the daemon or of one stream; with \"more\", sends it again at each "
     "change and after each interval.",
     {{HALO_FIELD_NAME, HALO_PARAMETER_STRING, .optional = true},
      {HALO_FIELD_INTERVAL, HALO_PARAMETER_REAL, .optional = true, .min = 0.1, .max = 3600}},
     "(status: ?object, stream: ?object)",
     HALO_ANSWERS_MAYBE,
     false,
     status},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_SET,
     HALO_ROLE_ADMIN,
     "Changes a stream's base filters between two frames, and keeps those that Hide added; the "
     "answer is sent once the change is in effect.",
     {STREAM_NAME, {HALO_FIELD_FILTERS, HALO_PARAMETER_STRING}, REVISION},
     "(revision: int)",
     HALO_ANSWERS_ONE,
     true,
     method_set},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_HIDE,
     HALO_ROLE_OPERATE,
     "Adds filters that hide to a stream's chain under an id, replaces those with this id, or "
     "removes them (filters: \"\"); the answer is sent once the change is in effect.",
     {STREAM_NAME,
      {HALO_FIELD_ID, HALO_PARAMETER_STRING},
      {HALO_FIELD_FILTERS, HALO_PARAMETER_STRING},
      REVISION},
     "(revision: int)",
     HALO_ANSWERS_ONE,
     true,
     method_hide},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_CHECK,
     HALO_ROLE_VIEW,
     "Checks a chain for a stream without setting it.",
     {STREAM_NAME, {HALO_FIELD_FILTERS, HALO_PARAMETER_STRING}},
     "(coverage: object, leaves: []object)",
     HALO_ANSWERS_ONE,
     false,
     check},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_KEEP,
     HALO_ROLE_ADMIN,
     "Stores a stream's base filters, or the given settings, so that they survive restarts and "
     "reloads; adds the stream if it does not exist. With \"new\", the call is refused if the "
     "stream exists.",
     {STREAM_NAME,
      {HALO_FIELD_SETTINGS, HALO_PARAMETER_OBJECT, .optional = true},
      {HALO_FIELD_NEW, HALO_PARAMETER_BOOL, .optional = true}},
     RELOADED,
     HALO_ANSWERS_ONE,
     true,
     halo_method_keep},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_FORGET,
     HALO_ROLE_ADMIN,
     "Discards what Keep stored for a stream, so that the settings file applies again.",
     {STREAM_NAME},
     RELOADED,
     HALO_ANSWERS_ONE,
     true,
     halo_method_forget},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_DEVICES,
     HALO_ROLE_ADMIN,
     "Finds the machine's cameras.",
     {{0}},
     "(devices: [](path: string, name: string, input: string, stream: ?string))",
     HALO_ANSWERS_ONE,
     false,
     halo_method_devices},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_HISTORY,
     HALO_ROLE_VIEW,
     "Returns samples of the last hour, the newest last.",
     {{HALO_FIELD_NAME, HALO_PARAMETER_STRING, .optional = true}},
     "(interval: int, streams: object, gpus: object, memory: []int)",
     HALO_ANSWERS_ONE,
     false,
     halo_method_history},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_CONTROL,
     HALO_ROLE_ADMIN,
     "Sets a control of the stream's camera; the answer is sent once it is set.",
     {STREAM_NAME,
      {HALO_FIELD_CONTROL, HALO_PARAMETER_STRING},
      {HALO_FIELD_VALUE, HALO_PARAMETER_REAL, .min = INT32_MIN, .max = INT32_MAX}},
     "()",
     HALO_ANSWERS_ONE,
     true,
     method_control},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_REGIONS,
     HALO_ROLE_ADMIN,
     "Reports all regions that a detector found in the frame with the given timestamp.",
     {STREAM_NAME,
      {HALO_FIELD_PICTURE, HALO_PARAMETER_INT},
      {HALO_FIELD_REGIONS, HALO_PARAMETER_LIST, .type_text = HALO_REGIONS_TYPE}},
     "()",
     HALO_ANSWERS_ONE,
     false, /* it does change the output, but up to 30 times a second */
     regions},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_START,
     HALO_ROLE_OPERATE,
     "Starts a stream that is stopped.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     start},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_STOP,
     HALO_ROLE_OPERATE,
     "Stops a stream until it is started again.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     stop},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_RESTART,
     HALO_ROLE_OPERATE,
     "Stops a stream and starts it again.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     restart},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_SNAPSHOT,
     HALO_ROLE_OPERATE,
     "Returns the next filtered frame as an image, in a memfd that is sent with the answer; with "
     "\"filters\", the image shows what these would hide, and nothing changes.",
     {STREAM_NAME,
      {HALO_FIELD_FORMAT, HALO_PARAMETER_STRING, .choices = image_formats},
      {HALO_FIELD_FILTERS, HALO_PARAMETER_STRING, .optional = true}},
     "(format: string, size: int)",
     HALO_ANSWERS_ONE,
     false,
     method_snapshot},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_RECORD,
     HALO_ROLE_OPERATE,
     "Starts or stops writing a stream's output files.",
     {STREAM_NAME, {HALO_FIELD_ON, HALO_PARAMETER_BOOL}},
     "()",
     HALO_ANSWERS_ONE,
     true,
     record},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_RELOAD,
     HALO_ROLE_ADMIN,
     "Reads the settings file again and changes the streams whose settings or mask images differ; "
     "with \"check\", only checks the file.",
     {{HALO_FIELD_CHECK, HALO_PARAMETER_BOOL, .optional = true}},
     RELOADED,
     HALO_ANSWERS_ONE,
     true,
     halo_method_reload},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_EVENTS,
     HALO_ROLE_VIEW,
     "Sends an empty answer first, and then each event as it happens; \"lost\" is the number of "
     "events that the client missed.",
     {{0}},
     "(event: ?object, lost: ?int)",
     HALO_ANSWERS_SEVERAL,
     false,
     events},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_FACTS,
     HALO_ROLE_ADMIN,
     "Returns the data that 'haloctl doctor' checks.",
     {{0}},
     "(facts: object)",
     HALO_ANSWERS_ONE,
     false,
     method_facts},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_REVEAL,
     HALO_ROLE_ADMIN,
     "Returns the complete addresses of a stream's input and outputs, secrets included, which "
     "other methods hide.",
     {STREAM_NAME},
     "(input: string, outputs: []string)",
     HALO_ANSWERS_ONE,
     true, /* so that it is logged */
     reveal},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_USERS,
     HALO_ROLE_ADMIN,
     "Returns the users and tokens of HTTP and, if there are none, the code that creates the first "
     "administrator.",
     {{0}},
     "(users: [](name: string, role: string), tokens: [](name: string, role: string), "
     "code: ?string)",
     HALO_ANSWERS_ONE,
     false,
     method_users},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_PUT_USER,
     HALO_ROLE_ADMIN,
     "Adds a user, or changes a user's role and, if it is given, password.",
     {STREAM_NAME, ROLE, {HALO_FIELD_PASSWORD, HALO_PARAMETER_STRING, .optional = true}},
     "()",
     HALO_ANSWERS_ONE,
     true,
     method_put_user},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_DEL_USER,
     HALO_ROLE_ADMIN,
     "Removes a user.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     method_remove_user},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_ADD_TOKEN,
     HALO_ROLE_ADMIN,
     "Adds a token for a program, and returns its secret, which is not stored.",
     {STREAM_NAME, ROLE},
     "(token: string)",
     HALO_ANSWERS_ONE,
     true,
     method_add_token},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_DEL_TOKEN,
     HALO_ROLE_ADMIN,
     "Removes a token.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     method_remove_token},
    {0},
};
