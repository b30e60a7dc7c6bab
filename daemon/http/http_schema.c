/* SPDX-License-Identifier: BSD-2-Clause
 * JSON Schema of filters, and OpenAPI. */
#include "daemon/http/http_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"
#include "kernels/version.h"
#include "pipeline/filter/filter.h"

/* ---- filters ---- */

static bool is_size(const struct halo_filter_kind *kind, const char *name)
{
    for (int i = 0; kind->sizes && kind->sizes[i]; i++)
        if (!strcmp(kind->sizes[i], name))
            return true;
    return false;
}

static json_t *type_of(const struct halo_option *row)
{
    json_t *schema = json_object(), *list;
    switch (row->type) {
    case HALO_OPTION_FLAG:
        json_object_set_new(schema, "type", json_string("boolean"));
        return schema;
    case HALO_OPTION_STRING:
        json_object_set_new(schema, "type", json_string("string"));
        if (row->pattern)
            json_object_set_new(schema, "pattern", json_string(row->pattern));
        return schema;
    case HALO_OPTION_CHOICE:
        list = json_array();
        for (int i = 0; row->choices[i]; i++)
            json_array_append_new(list, json_string(row->choices[i]));
        json_object_set_new(schema, "enum", list);
        json_object_set_new(schema, "default", json_string(row->choices[(int)row->value]));
        return schema;
    default:
        break;
    }
    const bool whole = row->type == HALO_OPTION_INT;
    json_object_set_new(schema, "type", json_string(whole ? "integer" : "number"));
    json_object_set_new(schema, "minimum", json_real(row->min));
    if (!isinf(row->max))
        json_object_set_new(schema, "maximum", json_real(row->max));
    if (row->value >= row->min && row->value <= row->max)
        json_object_set_new(schema, "default", json_real(row->value));
    return schema;
}

static void add_options(json_t *properties, const struct halo_filter_kind *kind,
                        const struct halo_option *rows)
{
    for (const struct halo_option *row = rows; row && row->name; row++) {
        json_t *schema = type_of(row);
        json_object_set_new(schema, "description", json_string(row->help));
        if (is_size(kind, row->name)) {
            /* A length may also be a fraction of its region's width or height. */
            json_t *number = schema;
            schema = json_pack("{s:[o,{s:s,s:s}], s:O}", "anyOf", number, "type", "string",
                               "pattern", "^[0-9.]+\\*[wh]$", "description",
                               json_object_get(number, "description"));
        }
        json_object_set_new(properties, row->name, schema);
    }
}

json_t *halo_http_filters(void)
{
    json_t *defs = json_object();
    for (int i = 0; halo_filter_kinds[i]; i++) {
        const struct halo_filter_kind *kind = halo_filter_kinds[i];
        json_t *properties = json_object();
        add_options(properties, kind, kind->options);
        add_options(properties, kind, halo_filter_common_options);
        json_object_set_new(defs, kind->name,
                            json_pack("{s:s, s:s, s:s, s:o, s:b, s:s, s:s}", "title", kind->name,
                                      "description", kind->about, "type", "object", "properties",
                                      properties, "additionalProperties", 0, "x-example",
                                      kind->example, "x-effect",
                                      kind->effect == HALO_EFFECT_HIDES ? "hides" : "changes"));
    }
    return json_pack("{s:s, s:s, s:o}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                     "title", "filters of halod " HALO_VERSION, "$defs", defs);
}

/* ---- OpenAPI ---- */

const struct halo_method halo_http_methods[] = {
    {.name = "login",
     .help = "Begins a session.",
     .in = {{"user", HALO_PARAMETER_STRING, .min = 1}, {"password", HALO_PARAMETER_STRING}},
     .out = "the session"},
    {.name = "logout", .help = "Ends the session.", .in = {{0}}, .out = "the session"},
    {.name = "setup",
     .help = "Creates the first administrator, and begins a session.",
     .in = {{"code", HALO_PARAMETER_STRING},
            {"user", HALO_PARAMETER_STRING, .min = 1},
            {"password", HALO_PARAMETER_STRING}},
     .out = "the session"},
    {.name = "call/SetPassword",
     .role = HALO_ROLE_VIEW,
     .help = "Changes one's own password, and begins a new session.",
     .in = {{"old", HALO_PARAMETER_STRING}, {"new", HALO_PARAMETER_STRING}},
     .out = "the session"},
    {.name = NULL},
};

static json_t *parameter_schema(const struct halo_parameter *p)
{
    static const char *const types[] = {
        [HALO_PARAMETER_STRING] = "string", [HALO_PARAMETER_REAL] = "number",
        [HALO_PARAMETER_BOOL] = "boolean",  [HALO_PARAMETER_INT] = "integer",
        [HALO_PARAMETER_LIST] = "array",    [HALO_PARAMETER_OBJECT] = "object",
    };
    json_t *schema = json_pack("{s:s}", "type", types[p->type]);
    if (p->type == HALO_PARAMETER_LIST)
        json_object_set_new(schema, "items", json_object());
    if (p->type == HALO_PARAMETER_STRING && !p->choices)
        json_object_set_new(schema, "pattern", json_string("^[^\\u0000]*$"));
    if (p->type == HALO_PARAMETER_STRING && p->min > 0)
        json_object_set_new(schema, "minLength", json_integer((json_int_t)p->min));
    if (p->type == HALO_PARAMETER_INT)
        json_object_set_new(schema, "minimum", json_integer(0));
    if (p->type == HALO_PARAMETER_REAL) {
        json_object_set_new(schema, "minimum", json_real(p->min));
        json_object_set_new(schema, "maximum", json_real(p->max));
    }
    json_t *list = p->choices ? json_array() : NULL;
    for (int i = 0; p->choices && p->choices[i]; i++)
        json_array_append_new(list, json_string(p->choices[i]));
    if (list)
        json_object_set_new(schema, "enum", list);
    return schema;
}

static json_t *body_schema(const struct halo_method *method)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct halo_parameter *p = method->in; p->name; p++) {
        json_object_set_new(properties, p->name, parameter_schema(p));
        if (!p->optional)
            json_array_append_new(required, json_string(p->name));
    }
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

/* {TYPE: {"schema": schema}}; NULL: the content is not described. Takes the reference. */
static json_t *content(const char *type, json_t *schema)
{
    json_t *media = schema ? json_pack("{s:o}", "schema", schema) : json_object();
    return json_pack("{s:o}", type, media);
}

static json_t *object(void)
{
    return content("application/json", json_pack("{s:s}", "type", "object"));
}

/* Errors of the API are JSON, and others text. */
static json_t *errors(bool json)
{
    return json_pack(
        "{s:s, s:o}", "description", "an error", "content",
        json ? content("application/json", json_pack("{s:s}", "$ref", "#/components/schemas/Error"))
             : content("text/plain", NULL));
}

/* The operation of a path. Takes the references to the answers' content and to more. */
static json_t *operation(const char *summary, const char *result, json_t *answer, bool json)
{
    return json_pack("{s:s, s:{s:{s:s, s:o}, s:o}}", "summary", summary, "responses", "200",
                     "description", result, "content", answer, "default", errors(json));
}

static json_t *answer_of(const struct halo_method *method)
{
    return !strcmp(method->name, HALO_METHOD_SNAPSHOT)
               ? json_pack("{s:{}, s:{}}", "image/jpeg", "image/png")
               : object();
}

static void add_call(json_t *paths, const char *folder, const struct halo_method *method)
{
    char path[96];
    snprintf(path, sizeof path, "%s%s", folder, method->name);
    const char *slash = strrchr(method->name, '/');
    json_t *post = operation(method->help, method->out, answer_of(method), true);
    json_object_set_new(post, "operationId", json_string(slash ? slash + 1 : method->name));
    json_object_set_new(post, "x-role", json_string(halo_role_name(method->role)));
    json_object_set_new(post, "requestBody",
                        json_pack("{s:b, s:o}", "required", 1, "content",
                                  content("application/json", body_schema(method))));
    json_object_set_new(paths, path, json_pack("{s:o}", "post", post));
}

/* A parameter of a path or, if it is optional, of a query. */
static json_t *parameter(const char *name, const char *pattern, bool optional, const char *help)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:s}}", "name", name, "in",
                     optional ? "query" : "path", "required", !optional, "description", help,
                     "schema", "type", "string", "pattern", pattern);
}

static json_t *add_get(json_t *paths, const char *path, const char *type, const char *summary)
{
    json_t *get = operation(summary, summary, content(type, NULL), !strncmp(path, "/api/", 5));
    if (strstr(path, "{stream}"))
        json_object_set_new(get, "parameters",
                            json_pack("[o]", parameter("stream", "^[A-Za-z0-9_-]{1,64}$", false,
                                                       "the stream's name")));
    json_object_set_new(paths, path, json_pack("{s:o}", "get", get));
    return get;
}

static bool is_served(const struct halo_method *method)
{
    return !strcmp(method->interface, HALO_VARLINK_CONTROL) &&
           method->answers != HALO_ANSWERS_SEVERAL;
}

json_t *halo_http_openapi(void)
{
    json_t *paths = json_object();
    for (const struct halo_method *m = halo_methods; m->name; m++)
        if (is_served(m))
            add_call(paths, "/api/call/", m);
    for (const struct halo_method *m = halo_http_methods; m->name; m++)
        add_call(paths, "/api/", m);
    add_get(paths, "/api/session", "application/json", "Who is logged in, with which role.");
    add_get(paths, "/api/filters", "application/schema+json", "The options of filters.");
    add_get(paths, "/api/openapi.json", "application/json", "This description.");
    add_get(paths, "/api/events", "text/event-stream", "Events, as they happen.");
    json_t *live =
        add_get(paths, "/api/live", "application/octet-stream", "All that the page shows.");
    json_object_set_new(
        live, "parameters",
        json_pack(
            "[o, o]",
            parameter("tiles", "^[A-Za-z0-9_,-]*$", true, "the streams whose images are sent"),
            parameter("video", "^[A-Za-z0-9_-]*$", true, "the stream whose video is sent")));
    add_get(paths, "/api/streams", "application/json", "The status.");
    add_get(paths, "/metrics", "text/plain", "Metrics for Prometheus.");
    json_t *health = add_get(paths, "/healthz", "application/json", "Whether all streams run.");
    json_object_set_new(
        json_object_get(health, "responses"), "503",
        json_pack("{s:s, s:o}", "description", "Some streams do not run.", "content", object()));
    add_get(paths, "/{stream}/live.mp4", "video/mp4", "A stream as fragmented MP4.");
    add_get(paths, "/{stream}/stream.mjpeg", "multipart/x-mixed-replace", "A stream as images.");
    add_get(paths, "/{stream}/snapshot.jpg", "image/jpeg", "The next frame.");
    return json_pack("{s:s, s:{s:s, s:s}, s:o, s:[{s:[]}, {}], "
                     "s:{s:{s:{s:s, s:{s:{s:s}, s:{s:s}}, s:[s]}}, s:{s:{s:s, s:s}}}}",
                     "openapi", "3.1.0", "info", "title", "halod", "version", HALO_VERSION, "paths",
                     paths, "security", "token", "components", "schemas", "Error", "type", "object",
                     "properties", "what", "type", "string", "error", "type", "string", "required",
                     "what", "securitySchemes", "token", "type", "http", "scheme", "bearer");
}
