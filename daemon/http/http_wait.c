/* SPDX-License-Identifier: BSD-2-Clause
 * Requests of the API. */
#include "daemon/http/http_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"
#include "daemon/http/http_pages.h"
#include "daemon/http/http_schema.h"
#include "kernels/version.h"

enum { COOKIE = 256 };

struct halo_http_wait {
    struct halo_http *http;
    struct halo_http_wait *next;
    struct halo_http_pause pause;
    struct halo_client *client; /* makes the call; NULL: it does not, or has been answered */
    bool done;
    bool asks; /* halo_access_ask() will answer, even if the request is gone */
    bool gone;
    int status;
    json_t *body;
    int image; /* a descriptor, whose content is the answer instead of the body; -1: none; owned */
    char cookie[COOKIE]; /* the header Set-Cookie; "": none */
    unsigned retry_s;    /* the header Retry-After; 0: none */
    bool tls;
};

/* ---- answers ---- */

struct MHD_Response *halo_http_error(const char *what)
{
    return halo_http_json(json_pack("{s:s}", HALO_ERROR_WHAT, what));
}

static struct MHD_Response *image_response(struct halo_http_wait *wait)
{
    const char *format = halo_parameter_text(wait->body, HALO_FIELD_FORMAT);
    struct stat found;
    struct MHD_Response *response =
        fstat(wait->image, &found) == 0
            ? MHD_create_response_from_fd((uint64_t)found.st_size, wait->image)
            : NULL;
    if (!response)
        return NULL;
    wait->image = -1; /* now the response owns it */
    halo_http_viewers_count(&wait->http->viewers, (size_t)found.st_size);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            format && !strcmp(format, "png") ? "image/png" : "image/jpeg");
    return response;
}

static struct MHD_Response *respond(struct halo_http_wait *wait, int *status)
{
    char number[16];
    struct MHD_Response *response =
        wait->image >= 0 ? image_response(wait) : halo_http_json(json_incref(wait->body));
    *status = wait->status;
    if (response && wait->cookie[0])
        MHD_add_response_header(response, "Set-Cookie", wait->cookie);
    snprintf(number, sizeof number, "%u", wait->retry_s);
    if (response && wait->retry_s > 0)
        MHD_add_response_header(response, "Retry-After", number);
    return response;
}

/* Ends the waiting. Takes the caller's reference to body. */
static void finish(struct halo_http_wait *wait, int status, json_t *body)
{
    wait->status = body ? status : MHD_HTTP_INTERNAL_SERVER_ERROR;
    wait->body = body ? body : json_pack("{s:s}", HALO_ERROR_WHAT, "out of memory");
    wait->done = true;
    halo_http_resume(&wait->pause);
}

static void fail(struct halo_http_wait *wait, int status, const char *what)
{
    finish(wait, status, json_pack("{s:s}", HALO_ERROR_WHAT, what));
}

static int status_of_error(const char *name)
{
    static const struct {
        const char *error;
        int status;
    } rows[] = {
        {HALO_ERROR_METHOD, MHD_HTTP_NOT_FOUND},          {HALO_ERROR_STREAM, MHD_HTTP_NOT_FOUND},
        {HALO_ERROR_PERMISSION, MHD_HTTP_FORBIDDEN},      {HALO_ERROR_REFUSED, MHD_HTTP_CONFLICT},
        {HALO_ERROR_CHANGED, MHD_HTTP_CONFLICT},          {HALO_ERROR_CONFIG, MHD_HTTP_CONFLICT},
        {HALO_ERROR_FAILED, MHD_HTTP_SERVICE_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].error, name))
            return rows[i].status;
    return MHD_HTTP_BAD_REQUEST;
}

/* Ends the waiting with an error of the control socket, or with its answer. */
static void finish_with(struct halo_http_wait *wait, const json_t *message)
{
    const json_t *parameters = json_object_get(message, "parameters");
    const char *error = json_string_value(json_object_get(message, "error"));
    json_t *body = json_is_object(parameters) ? json_deep_copy(parameters) : json_object();
    if (error)
        json_object_set_new(body, "error", json_string(error));
    finish(wait, error ? status_of_error(error) : MHD_HTTP_OK, body);
}

/* Whether the body has the fields of the method, and no others. */
static bool has_fields(struct halo_http_wait *wait, const char *name, json_t *body)
{
    const struct halo_method *method = halo_http_methods;
    json_t *error = NULL;
    while (strcmp(method->name, name) != 0)
        method++;
    if (halo_call_check(method, body, &error))
        finish_with(wait, error);
    json_decref(error);
    return !wait->done;
}

/* ---- sessions ---- */

static json_t *session_json(const struct halo_http *http, const struct halo_http_who *who)
{
    const struct halo_access *access = http->gate.access;
    const bool users = access && halo_users_exist(halo_access_users(access));
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:s}", "role", halo_role_name(who->role),
                     "user", who->name, "token", who->token, "users", users, "setup",
                     access && halo_access_needs_setup(access), "tls", who->tls, "version",
                     HALO_VERSION);
}

static void set_cookie(struct halo_http_wait *wait, const char *value)
{
    snprintf(wait->cookie, sizeof wait->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
             wait->http->gate.cookie, value, wait->tls ? "; Secure" : "",
             *value ? "" : "; Max-Age=0");
}

static int status_of(const struct halo_error *err)
{
    return err->code == -EACCES   ? MHD_HTTP_FORBIDDEN
           : err->code == -EBUSY  ? MHD_HTTP_TOO_MANY_REQUESTS
           : err->code == -EEXIST ? MHD_HTTP_CONFLICT
           : err->usage           ? MHD_HTTP_BAD_REQUEST
                                  : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static void on_access(void *arg, const struct halo_access_answer *answer)
{
    struct halo_http_wait *wait = arg;
    wait->asks = false;
    if (wait->gone) {
        free(wait);
        return;
    }
    if (wait->done) /* halod is stopping */
        return;
    if (answer->err || !answer->session) {
        const char *what = answer->err ? answer->err->text : "the system gives no random numbers";
        wait->retry_s = (unsigned)((answer->wait_ms + 999) / 1000);
        fail(wait, answer->err ? status_of(answer->err) : MHD_HTTP_INTERNAL_SERVER_ERROR, what);
        return;
    }
    const char *hash;
    struct halo_http_who who = {.tls = wait->tls};
    who.role =
        halo_users_find(halo_access_users(wait->http->gate.access), answer->session->user, &hash);
    snprintf(who.name, sizeof who.name, "%s", answer->session->user);
    snprintf(who.token, sizeof who.token, "%s", answer->session->token);
    set_cookie(wait, answer->session->cookie);
    finish(wait, MHD_HTTP_OK, session_json(wait->http, &who));
}

static void ask_access(struct halo_http_wait *wait, const struct halo_http_asked *asked,
                       const json_t *body, enum halo_access_what what)
{
    struct halo_access *access = wait->http->gate.access;
    const bool changes = what == HALO_ACCESS_PASSWORD;
    const struct halo_access_request request = {
        .what = what,
        .name = changes ? asked->who.name : halo_parameter_text(body, "user"),
        .password = halo_parameter_text(body, changes ? "new" : "password"),
        .secret = halo_parameter_text(body, changes ? "old" : "code"),
        .address = asked->who.address,
    };
    if (!access) {
        fail(wait, MHD_HTTP_BAD_REQUEST, "this daemon has no users");
        return;
    }
    wait->asks = true;
    halo_access_ask(access, &request, on_access, wait);
}

static void logout(struct halo_http_wait *wait, const struct halo_http_asked *asked)
{
    struct halo_access *access = wait->http->gate.access;
    struct halo_http_who nobody = {.tls = asked->who.tls};
    if (access && asked->who.cookie[0])
        halo_access_logout(access, asked->who.cookie);
    if (!access || !halo_users_exist(halo_access_users(access)))
        nobody.role = HALO_ROLE_VIEW;
    set_cookie(wait, "");
    finish(wait, MHD_HTTP_OK, session_json(wait->http, &nobody));
}

/* ---- calls ---- */

static void on_reply(void *arg, const json_t *message, int fd)
{
    struct halo_http_wait *wait = arg;
    wait->client = NULL;
    if (!message) {
        finish(wait, 0, NULL);
        return;
    }
    if (fd >= 0 && (wait->image = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
        fail(wait, MHD_HTTP_SERVICE_UNAVAILABLE, "there are too many open files");
    else
        finish_with(wait, message);
    halo_http_forget(wait->http); /* the call may have changed what the status says */
}

static void call(struct halo_http_wait *wait, const struct halo_http_asked *asked, json_t *body)
{
    const char *method = asked->route.name;
    if (!strcmp(method, "SetPassword") && asked->who.cookie[0]) {
        if (has_fields(wait, "call/SetPassword", body))
            ask_access(wait, asked, body, HALO_ACCESS_PASSWORD);
        return;
    }
    const struct halo_client_user user = {asked->who.role, asked->who.name, asked->who.address};
    json_t *message =
        json_pack("{s:o, s:O}", "method", json_sprintf("%s.%s", HALO_VARLINK_CONTROL, method),
                  "parameters", body);
    if (message)
        wait->client = halo_client_call(wait->http->control, &user, message, on_reply, wait);
    else
        finish(wait, 0, NULL);
    json_decref(message);
}

/* ---- requests ---- */

/* A request that changes something, or tells who is logged in, needs a session's token, except to
 * get one. */
static bool is_let_in(struct halo_http_wait *wait, struct halo_http_asked *asked)
{
    const enum halo_http_what what = asked->route.what;
    const bool begins =
        what == HALO_HTTP_SESSION || what == HALO_HTTP_LOGIN || what == HALO_HTTP_SETUP;
    if (begins || what == HALO_HTTP_LOGOUT)
        return true;
    asked->who.role = halo_http_role_now(&wait->http->gate, &asked->who); /* after the body */
    if (asked->who.role == HALO_ROLE_NONE)
        fail(wait, MHD_HTTP_UNAUTHORIZED, "log in first");
    else if (!halo_http_has_token(&asked->who, wait->pause.connection))
        fail(wait, MHD_HTTP_FORBIDDEN, "the header X-Halod-Token is missing or wrong");
    return !wait->done;
}

static void begin(struct halo_http_wait *wait, struct halo_http_asked *asked)
{
    json_error_t at = {0};
    const bool has_body = asked->route.what != HALO_HTTP_SESSION;
    json_t *body = has_body ? json_loadb(asked->body ? asked->body : "", asked->body_size,
                                         JSON_REJECT_DUPLICATES, &at)
                            : json_object();
    char what[JSON_ERROR_TEXT_LENGTH + 64];
    snprintf(what, sizeof what, "the body is not valid JSON: %s", at.text);
    if (!json_is_object(body))
        fail(wait, MHD_HTTP_BAD_REQUEST, body ? "the body must be a JSON object" : what);
    else if (is_let_in(wait, asked)) {
        switch (asked->route.what) {
        case HALO_HTTP_SESSION:
            finish(wait, MHD_HTTP_OK, session_json(wait->http, &asked->who));
            break;
        case HALO_HTTP_LOGIN:
            if (has_fields(wait, "login", body))
                ask_access(wait, asked, body, HALO_ACCESS_LOGIN);
            break;
        case HALO_HTTP_SETUP:
            if (has_fields(wait, "setup", body))
                ask_access(wait, asked, body, HALO_ACCESS_SETUP);
            break;
        case HALO_HTTP_LOGOUT:
            if (has_fields(wait, "logout", body))
                logout(wait, asked);
            break;
        default:
            call(wait, asked, body);
            break;
        }
    }
    json_decref(body);
}

struct MHD_Response *halo_http_wait_answer(struct halo_http *http,
                                           struct MHD_Connection *connection,
                                           struct halo_http_asked *asked, int *status)
{
    struct halo_http_wait *wait = asked->wait;
    if (!wait) {
        wait = calloc(1, sizeof *wait);
        if (!wait)
            return NULL;
        *wait = (struct halo_http_wait){
            .http = http,
            .pause = {.connection = connection, .wake = http->wake, .arg = http},
            .next = http->waits,
            .image = -1,
            .tls = asked->who.tls,
        };
        http->waits = asked->wait = wait;
        begin(wait, asked);
    }
    if (wait->done)
        return respond(wait, status);
    halo_http_suspend(&wait->pause);
    *status = 0;
    return NULL;
}

void halo_http_wait_destroy(struct halo_http_wait *wait)
{
    if (!wait)
        return;
    struct halo_http_wait **at = &wait->http->waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    if (wait->client)
        halo_client_cut(wait->client, NULL);
    json_decref(wait->body);
    wait->body = NULL;
    if (wait->image >= 0)
        close(wait->image);
    wait->gone = true;
    if (!wait->asks) /* otherwise, its answer frees it */
        free(wait);
}

void halo_http_waits_end(struct halo_http *http)
{
    for (struct halo_http_wait *w = http->waits; w; w = w->next) {
        if (w->client)
            halo_client_cut(w->client, NULL);
        w->client = NULL;
        if (!w->done)
            fail(w, MHD_HTTP_SERVICE_UNAVAILABLE, "halod is stopping");
    }
}
