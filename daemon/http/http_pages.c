/* SPDX-License-Identifier: BSD-2-Clause
 * Pages whose whole content is known at once. */
#include "daemon/http/http_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/shown.h"
#include "daemon/http/http_private.h"
#include "daemon/http/http_schema.h"

struct MHD_Response *halo_http_text(const char *type, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
    if (response)
        MHD_add_response_header(response, "Content-Type", type);
    return response;
}

struct MHD_Response *halo_http_json(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    struct MHD_Response *response = text ? halo_http_text("application/json", text) : NULL;
    free(text);
    json_decref(json);
    return response;
}

void halo_http_forget(struct halo_http *http)
{
    struct halo_http_made *made = &http->made;
    json_decref(made->status);
    made->status = NULL;
    for (int role = 0; role < HALO_ROLES; role++) {
        free(made->shown[role]);
        made->shown[role] = NULL;
    }
    free(made->metrics);
    made->metrics = NULL;
}

void halo_http_made_finish(struct halo_http *http)
{
    halo_http_forget(http);
    free(http->made.filters);
    free(http->made.openapi);
}

/* Borrowed. All that ask in one turn of the loop get the same: with many streams and many clients,
 * making it is the most expensive part. */
static json_t *status_now(struct halo_http *http)
{
    if (http->made.turn != uv_now(http->loop))
        halo_http_forget(http);
    http->made.turn = uv_now(http->loop);
    if (!http->made.status)
        http->made.status = halo_supervisor_status(http->sv);
    return http->made.status;
}

/* Takes the reference to json. */
static char *write_json(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

const char *halo_http_status(struct halo_http *http, enum halo_role role)
{
    json_t *status = status_now(http);
    char **shown = &http->made.shown[role];
    if (!*shown)
        *shown = write_json(halo_show(json_incref(status), role));
    return *shown;
}

static const char *metrics(struct halo_http *http)
{
    json_t *status = status_now(http);
    if (http->made.metrics)
        return http->made.metrics;
    json_t *numbers =
        json_pack("{s:i, s:I, s:i, s:I, s:I, s:I}", "connections", http->clients.count, "cut",
                  (json_int_t)(http->clients.cut + http->viewers.cut), "viewers",
                  http->viewers.count + http->live_count, "frames",
                  (json_int_t)http->viewers.frames, "frames_dropped",
                  (json_int_t)http->viewers.dropped, "sent_bytes", (json_int_t)http->viewers.bytes);
    status = halo_show(json_incref(status), HALO_ROLE_VIEW);
    if (status && numbers)
        http->made.metrics = halo_metrics_write(status, numbers);
    json_decref(status);
    json_decref(numbers);
    return http->made.metrics;
}

/* {"status": "ok" or "degraded", "streams": {STATE: count}, "not_running": [NAME]}; a new
 * reference. *ret_ok: every stream that should run does. */
static json_t *describe_health(const json_t *status, bool *ret_ok)
{
    static const char *const bad[] = {"waiting", "restarting", "failed"};
    json_t *states = json_object(), *names = json_array(), *stream;
    size_t i;
    json_array_foreach (json_object_get(status, "streams"), i, stream) {
        const char *state = json_string_value(json_object_get(stream, "state"));
        if (!state)
            continue;
        const json_int_t count = json_integer_value(json_object_get(states, state));
        json_object_set_new(states, state, json_integer(count + 1));
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
            if (!strcmp(state, bad[k]))
                json_array_append(names, json_object_get(stream, "name"));
    }
    *ret_ok = json_array_size(names) == 0;
    return json_pack("{s:s, s:o, s:o}", "status", *ret_ok ? "ok" : "degraded", "streams", states,
                     "not_running", names);
}

static struct MHD_Response *health(struct halo_http *http, enum halo_role role, int *status_code)
{
    bool ok = false;
    json_t *health = describe_health(status_now(http), &ok);
    *status_code = ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    if (role >= HALO_ROLE_VIEW)
        return halo_http_json(health);
    json_decref(health);
    return halo_http_json(json_pack("{s:s}", "status", ok ? "ok" : "degraded"));
}

/* Names of streams contain no characters that HTML must escape. */
static struct MHD_Response *index_page(const struct halo_supervisor *sv)
{
    const struct halo_daemon_settings *settings = halo_supervisor_settings(sv);
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fputs("<!doctype html><meta charset=utf-8><title>halod</title><h1>halod</h1>\n<ul>\n", to);
    for (int i = 0; settings && i < settings->streams; i++) {
        const char *name = settings->stream[i].name;
        fprintf(to,
                "<li>%s: <a href=\"/%s/stream.mjpeg\">stream</a>, "
                "<a href=\"/%s/snapshot.jpg\">snapshot</a>\n",
                name, name, name);
    }
    fputs("</ul>\n<p><a href=\"/api/streams\">status</a>, <a href=\"/metrics\">metrics</a>, "
          "<a href=\"/healthz\">health</a>\n",
          to);
    struct MHD_Response *response =
        fclose(to) ? NULL : halo_http_text("text/html; charset=utf-8", text);
    free(text);
    return response;
}

static struct MHD_Response *text_or_none(const char *type, const char *text)
{
    return text ? halo_http_text(type, text) : NULL;
}

/* Of a text that is made once, and not copied for each client. */
static struct MHD_Response *lasting(const char *type, char **text, json_t *make(void))
{
    if (!*text)
        *text = write_json(make());
    struct MHD_Response *response =
        *text ? MHD_create_response_from_buffer(strlen(*text), *text, MHD_RESPMEM_PERSISTENT)
              : NULL;
    if (response)
        MHD_add_response_header(response, "Content-Type", type);
    return response;
}

struct MHD_Response *halo_http_page(struct halo_http *http, enum halo_http_what what,
                                    enum halo_role role, int *status)
{
    struct halo_http_made *made = &http->made;
    switch (what) {
    case HALO_HTTP_METRICS:
        return text_or_none("text/plain; version=0.0.4; charset=utf-8", metrics(http));
    case HALO_HTTP_HEALTH:
        return health(http, role, status);
    case HALO_HTTP_STATUS:
        return text_or_none("application/json", halo_http_status(http, role));
    case HALO_HTTP_FILTERS:
        return lasting("application/schema+json", &made->filters, halo_http_filters);
    case HALO_HTTP_OPENAPI:
        return lasting("application/json", &made->openapi, halo_http_openapi);
    default:
        return index_page(http->sv);
    }
}
