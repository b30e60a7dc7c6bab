/* SPDX-License-Identifier: BSD-2-Clause
 * Pages whose whole content is known at once. */
#include "daemon/http/http_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/shown.h"
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

static struct MHD_Response *metrics(const struct halo_supervisor *sv,
                                    const struct halo_http_numbers *numbers)
{
    json_t *status = halo_show(halo_supervisor_status(sv), HALO_ROLE_VIEW);
    char *text = status ? halo_metrics_write(status, numbers) : NULL;
    json_decref(status);
    struct MHD_Response *response =
        text ? halo_http_text("text/plain; version=0.0.4; charset=utf-8", text) : NULL;
    free(text);
    return response;
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

static struct MHD_Response *health(const struct halo_supervisor *sv, int *status_code)
{
    bool ok = false;
    json_t *status = halo_supervisor_status(sv);
    json_t *health = describe_health(status, &ok);
    json_decref(status);
    *status_code = ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    return halo_http_json(health);
}

struct MHD_Response *halo_http_health_word(const struct halo_supervisor *sv, int *status_code)
{
    bool ok = false;
    json_t *status = halo_supervisor_status(sv);
    json_decref(describe_health(status, &ok));
    json_decref(status);
    *status_code = ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
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

struct MHD_Response *halo_http_page(enum halo_http_what what, enum halo_role role,
                                    const struct halo_supervisor *sv,
                                    const struct halo_http_numbers *numbers, int *status)
{
    switch (what) {
    case HALO_HTTP_METRICS:
        return metrics(sv, numbers);
    case HALO_HTTP_HEALTH:
        return health(sv, status);
    case HALO_HTTP_STATUS:
        return halo_http_json(halo_show(halo_supervisor_status(sv), role));
    case HALO_HTTP_FILTERS:
        return halo_http_json(halo_http_filters());
    case HALO_HTTP_OPENAPI:
        return halo_http_json(halo_http_openapi());
    default:
        return index_page(sv);
    }
}
