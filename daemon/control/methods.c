/* SPDX-License-Identifier: BSD-2-Clause
 * The table of methods, and their functions, which call the supervisor and answer. */
#include "daemon/control/methods.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/control/client.h"
#include "daemon/control/masks.h"
#include "daemon/control/methods_keep.h"
#include "daemon/control/methods_users.h"
#include "daemon/control/methods_wait.h"
#include "daemon/control/varlink.h"
#include "daemon/link/regions.h"
#include "kernels/version.h"

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
    if (halo_masks_refuse(client, parameters))
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
    const int64_t picture = json_integer_value(json_object_get(parameters, HALO_FIELD_PICTURE));
    answer_done(client,
                halo_supervisor_regions(supervisor_of(client),
                                        halo_parameter_text(parameters, HALO_FIELD_NAME), picture,
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
     halo_method_set},
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
     halo_method_hide},
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
     halo_method_control},
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
     halo_method_snapshot},
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
     halo_method_facts},
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
     halo_method_users},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_PUT_USER,
     HALO_ROLE_ADMIN,
     "Adds a user, or changes a user's role and, if it is given, password.",
     {STREAM_NAME, ROLE, {HALO_FIELD_PASSWORD, HALO_PARAMETER_STRING, .optional = true}},
     "()",
     HALO_ANSWERS_ONE,
     true,
     halo_method_put_user},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_DEL_USER,
     HALO_ROLE_ADMIN,
     "Removes a user.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     halo_method_remove_user},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_ADD_TOKEN,
     HALO_ROLE_ADMIN,
     "Adds a token for a program, and returns its secret, which is not stored.",
     {STREAM_NAME, ROLE},
     "(token: string)",
     HALO_ANSWERS_ONE,
     true,
     halo_method_add_token},
    {HALO_VARLINK_CONTROL,
     HALO_METHOD_DEL_TOKEN,
     HALO_ROLE_ADMIN,
     "Removes a token.",
     {STREAM_NAME},
     "()",
     HALO_ANSWERS_ONE,
     true,
     halo_method_remove_token},
    {0},
};
