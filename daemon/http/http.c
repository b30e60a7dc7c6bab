/* SPDX-License-Identifier: BSD-2-Clause
 * libmicrohttpd on the loop, and the answer for each page. */
#include "daemon/http/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/address.h"
#include "config/base/log.h"
#include "config/base/read_file.h"
#include "daemon/http/http_live.h"
#include "daemon/http/http_pages.h"
#include "daemon/http/http_private.h"
#include "daemon/http/http_wait.h"
#include "daemon/view/listen_tcp.h"
#include "kernels/version.h"

enum {
    VIEWERS = 64,      /* viewers of streams; */
    CONNECTIONS = 128, /* apart from endless ones; the other half is for health and metrics */
    /* further connections that libmicrohttpd may have: closed ones that it has not noticed */
    CLOSING = 32,
    IDLE_S = 10,        /* without a byte in or out: closed */
    MEMORY = 64 * 1024, /* of a connection: headers, and data about to be sent */
    TICK_MS = 1000,
    AT_ONCE = 16, /* connections accepted in one turn */
    WORK = 4,     /* calls begun in one turn: the loop has others to serve */
    PEM_MAX = 1 << 20,
};

static void run(struct halo_http *http);

static void on_timeout(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_again(uv_idle_t *again)
{
    run(again->data);
}

/* Lets the requests go on that have waited longest. */
static void begin_turn(struct halo_http *http)
{
    for (http->worked = 0; http->later && http->worked < WORK; http->worked++) {
        struct halo_http_asked *asked = http->later;
        http->later = asked->later;
        asked->had_turn = true;
        halo_http_resume(&asked->turn);
    }
    if (!http->later)
        http->later_last = &http->later;
}

/* Whether the request may be answered in this turn; otherwise, its connection is suspended. */
static bool is_its_turn(struct halo_http *http, struct MHD_Connection *connection,
                        struct halo_http_asked *asked)
{
    const enum halo_http_what what = asked->route.what;
    const bool has_body = what == HALO_HTTP_CALL || what == HALO_HTTP_LOGIN ||
                          what == HALO_HTTP_LOGOUT || what == HALO_HTTP_SETUP;
    if (asked->had_turn || !has_body)
        return true;
    asked->had_turn = !http->later && http->worked < WORK;
    if (asked->had_turn) {
        http->worked++;
        return true;
    }
    *http->later_last = asked;
    http->later_last = &asked->later;
    asked->turn = (struct halo_http_pause){connection, http->wake, http, false};
    halo_http_suspend(&asked->turn); /* until run() begins the next turn */
    return false;
}

static void give_up_turn(struct halo_http *http, const struct halo_http_asked *asked)
{
    struct halo_http_asked **at = &http->later;
    while (*at && *at != asked)
        at = &(*at)->later;
    if (!*at)
        return;
    *at = asked->later;
    if (!*at)
        http->later_last = at;
}

/* Runs libmicrohttpd, and arranges the next call at the time that it requests. This must not be a
 * timer of 0 ms: libuv before 1.49 runs a timer that restarts itself in a loop, and nothing else
 * meanwhile, as long as a client has more requests in its socket. */
static void run(struct halo_http *http)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    begin_turn(http);
    MHD_run(http->daemon);
    const bool wants = MHD_get_timeout(http->daemon, &ms) == MHD_YES;
    uv_timer_stop(&http->timeout);
    uv_idle_stop(&http->again);
    if ((wants && ms == 0) || http->later)
        uv_idle_start(&http->again, on_again);
    else if (wants)
        uv_timer_start(&http->timeout, on_timeout, ms, 0);
}

/* Without its own thread libmicrohttpd does not notice that a connection was resumed. */
static void wake(void *arg)
{
    struct halo_http *http = arg;
    uv_idle_start(&http->again, on_again);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

/* ---- connections ---- */

/* Turns on TCP keepalive: a viewer of a stream without frames is sent nothing, so nothing else
 * shows that its machine is gone. */
static void keep_alive(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

/* Accepts a connection. libmicrohttpd must not do this itself: when it is full or out of
 * descriptors, it listens again only in a call after another connection has ended, and nothing
 * would make that call. False: no connection waits, or there is no room yet. */
static bool let_in(struct halo_http *http)
{
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    if (http->clients.count >= CONNECTIONS + http->live_count) {
        uv_poll_stop(&http->listening); /* until a connection has been closed */
        halo_http_clients_make_room(&http->clients);
        return false;
    }
    const int fd = halo_listen_accept(http->door.fd, HALO_LISTEN_SPARE_VIEWERS,
                                      (struct sockaddr *)&from, &length);
    if (fd == -EAGAIN)
        return false;
    if (fd == -EUSERS) {
        halo_log(HALO_LOG_WARNING, "http: a client was refused: too many open files");
        return true;
    }
    if (fd < 0) {
        halo_log(HALO_LOG_WARNING, "http: cannot accept a client: %s", strerror(-fd));
        uv_poll_stop(&http->listening); /* it stays readable; the tick starts polling again */
        return false;
    }
    if (!halo_http_lets_in(&http->gate, (struct sockaddr *)&from)) {
        halo_log(HALO_LOG_DEBUG, "http: a client was refused: it is not one of the proxies");
        close(fd);
        return true;
    }
    keep_alive(fd);
    if (MHD_add_connection(http->daemon, fd, (struct sockaddr *)&from, length) != MHD_YES)
        halo_log(HALO_LOG_WARNING,
                 "http: out of memory: a client was disconnected"); /* its socket was closed */
    return true;
}

static void on_connection(uv_poll_t *listening, int status, int events)
{
    struct halo_http *http = listening->data;
    (void)status;
    (void)events;
    for (int i = 0; i < AT_ONCE && let_in(http); i++)
        ;
    run(http);
}

static void listen_again(struct halo_http *http)
{
    if (!uv_is_closing((uv_handle_t *)&http->listening))
        uv_poll_start(&http->listening, UV_READABLE, on_connection);
}

/* Connections are counted here because MHD_get_daemon_info(), which counts too, also frees ended
 * connections, while libmicrohttpd may still be iterating over them in a request. */
static void on_count(void *arg, struct MHD_Connection *connection, void **state,
                     enum MHD_ConnectionNotificationCode what)
{
    struct halo_http *http = arg;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        halo_http_client_came(&http->clients, connection, state, uv_now(http->loop));
    } else {
        halo_http_client_left(&http->clients, state);
        listen_again(http);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct halo_http *http = timer->data;
    halo_http_viewers_check(&http->viewers, uv_now(timer->loop));
    halo_http_lives_tick(http);
    halo_http_clients_check(&http->clients, uv_now(timer->loop));
    halo_listen_look(&http->door, &http->listening);
    listen_again(http);
}

static void on_event(void *arg, json_t *event)
{
    halo_http_lives_event(arg, event);
}

/* ---- answers ---- */

/* An error: in JSON for the API, for which programs ask, and otherwise as text. */
static struct MHD_Response *say(const struct halo_http_asked *asked, int *ret_status, int status,
                                const char *what)
{
    char line[200];
    *ret_status = status;
    if (asked->answers)
        return halo_http_error(what);
    snprintf(line, sizeof line, "%s\n", what);
    return halo_http_text("text/plain", line);
}

static struct MHD_Response *file(struct halo_http *http, const struct halo_http_asked *asked,
                                 const char *name, int *status)
{
    const struct halo_http_file *found = halo_http_files_find(http->files, name);
    if (!found)
        return say(asked, status, MHD_HTTP_NOT_FOUND,
                   "no such page: for a list of all pages, see '/'");
    struct MHD_Response *response =
        MHD_create_response_from_buffer(found->size, (void *)found->data, MHD_RESPMEM_PERSISTENT);
    if (response)
        MHD_add_response_header(response, "Content-Type", found->type);
    return response;
}

static const char *first_stream(const struct halo_http *http, const char *name)
{
    const struct halo_daemon_settings *settings = halo_supervisor_settings(http->sv);
    if (*name)
        return name;
    return settings && settings->streams > 0 ? settings->stream[0].name : "";
}

static struct MHD_Response *no_stream(const struct halo_http_asked *asked, int *status)
{
    return say(asked, status, MHD_HTTP_NOT_FOUND, "no such stream: the page / lists all streams");
}

static struct MHD_Response *too_many(const struct halo_http_asked *asked, int *status)
{
    return say(asked, status, MHD_HTTP_SERVICE_UNAVAILABLE, "too many viewers: try again later");
}

/* Answers with a stream or a snapshot. NULL and *status 0: the connection waits. */
static struct MHD_Response *frame(struct halo_http *http, struct MHD_Connection *connection,
                                  struct halo_http_asked *asked, int *status)
{
    bool wait = false;
    if (!asked->viewer) {
        struct halo_feed *feed =
            halo_supervisor_feed(http->sv, first_stream(http, asked->route.stream), HALO_VIEW_JPEG);
        if (!feed)
            return no_stream(asked, status);
        if (http->viewers.count >= VIEWERS)
            return too_many(asked, status);
        if (halo_http_viewer_create(&asked->viewer, &http->viewers, feed, connection, &asked->who))
            return NULL;
    }
    struct MHD_Response *response =
        asked->route.what == HALO_HTTP_STREAM
            ? halo_http_viewer_stream(asked->viewer)
            : halo_http_viewer_snapshot(asked->viewer, asked->head, &wait);
    if (wait)
        *status = 0;
    if (response || wait || asked->route.what == HALO_HTTP_STREAM)
        return response;
    return say(asked, status, MHD_HTTP_SERVICE_UNAVAILABLE,
               "no frame arrived: 'haloctl status' shows the reason");
}

static struct MHD_Response *live(struct halo_http *http, struct MHD_Connection *connection,
                                 struct halo_http_asked *asked, int *status)
{
    if (http->live_count >= HALO_HTTP_LIVES)
        return too_many(asked, status);
    const int code = halo_http_live_create(&asked->live, http, connection, asked);
    if (code == -ENOENT)
        return no_stream(asked, status);
    if (code == -EINVAL)
        return say(asked, status, MHD_HTTP_BAD_REQUEST, "too many tiles, or a name is too long");
    return code < 0 ? NULL : halo_http_live_response(asked->live);
}

static bool is_for_everybody(const struct halo_http *http, enum halo_http_what what)
{
    return http->gate.metrics && (what == HALO_HTTP_METRICS || what == HALO_HTTP_HEALTH);
}

/* Whether the role allows the request; asked again at each turn of a request that waits. */
static bool is_permitted(const struct halo_http *http, const struct halo_http_asked *asked)
{
    if (is_for_everybody(http, asked->route.what))
        return true;
    const bool lists = asked->route.what == HALO_HTTP_INDEX && !http->files;
    const enum halo_role least = lists ? HALO_ROLE_VIEW : asked->route.role;
    return asked->who.role >= least || !http->gate.access;
}

static struct MHD_Response *unauthorized(const struct halo_http_asked *asked, int *status)
{
    struct MHD_Response *response = say(asked, status, MHD_HTTP_UNAUTHORIZED, "log in first");
    if (response)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"halod\"");
    return response;
}

static struct MHD_Response *make_response(struct halo_http *http, struct MHD_Connection *connection,
                                          struct halo_http_asked *asked, int *status)
{
    *status = asked->route.status;
    if (http->stopping)
        return say(asked, status, MHD_HTTP_SERVICE_UNAVAILABLE, "halod is stopping");
    if (asked->route.what != HALO_HTTP_ERROR && !is_permitted(http, asked))
        return unauthorized(asked, status);
    switch (asked->route.what) {
    case HALO_HTTP_STREAM:
    case HALO_HTTP_SNAPSHOT:
        return frame(http, connection, asked, status);
    case HALO_HTTP_LIVE:
    case HALO_HTTP_EVENTS:
    case HALO_HTTP_MEDIA:
        return live(http, connection, asked, status);
    case HALO_HTTP_SESSION:
    case HALO_HTTP_LOGIN:
    case HALO_HTTP_LOGOUT:
    case HALO_HTTP_SETUP:
    case HALO_HTTP_CALL:
        if (asked->too_long)
            return say(asked, status, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too long");
        return halo_http_wait_answer(http, connection, asked, status);
    case HALO_HTTP_FILE:
        return file(http, asked, asked->route.name, status);
    case HALO_HTTP_INDEX:
        return http->files ? file(http, asked, "index.html", status)
                           : halo_http_page(http, asked->route.what, asked->who.role, status);
    case HALO_HTTP_ERROR:
        return say(asked, status, asked->route.status, asked->route.why);
    default:
        return halo_http_page(http, asked->route.what, asked->who.role, status);
    }
}

struct framing {
    int hosts, lengths, codings;
    bool malformed;
};

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct framing *found = arg;
    (void)kind;
    found->hosts += !strcasecmp(key, "Host");
    found->lengths += !strcasecmp(key, "Content-Length");
    if (!strcasecmp(key, "Transfer-Encoding")) {
        found->codings++;
        found->malformed |= !value || strcasecmp(value, "chunked") != 0;
    }
    found->malformed |= strpbrk(key, " \t") != NULL;
    return MHD_YES;
}

/* Whether a proxy might understand the headers differently, and so find other requests on the same
 * connection than libmicrohttpd does (request smuggling). */
static bool is_ambiguous(struct MHD_Connection *connection)
{
    struct framing found = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &found);
    return found.malformed || found.hosts > 1 || found.lengths + found.codings > 1;
}

static struct halo_http_asked *begin_request(const struct halo_http *http,
                                             struct MHD_Connection *connection, const char *path,
                                             const char *method)
{
    struct halo_http_asked *asked = calloc(1, sizeof *asked);
    if (!asked)
        return NULL;
    const struct halo_http_request words = {
        .method = method,
        .path = path,
        .action = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "action"),
        .host = halo_http_header(connection, "Host"),
        .origin = halo_http_header(connection, "Origin"),
        .referer = halo_http_header(connection, "Referer"),
        .fetch_site = halo_http_header(connection, "Sec-Fetch-Site"),
        .fetch_dest = halo_http_header(connection, "Sec-Fetch-Dest"),
        .content_type = halo_http_header(connection, "Content-Type"),
        .ambiguous = is_ambiguous(connection),
        .listen = http->listen,
        .hosts = http->hosts,
        .embed = http->embed,
    };
    asked->head = !strcmp(method, "HEAD");
    asked->answers = !strncmp(path, "/api/", 5);
    halo_http_route(&words, &asked->route);
    halo_http_who(&http->gate, connection, &asked->who);
    if (asked->who.exposed && !is_for_everybody(http, asked->route.what))
        asked->route = (struct halo_http_route){
            .what = HALO_HTTP_ERROR,
            .status = MHD_HTTP_FORBIDDEN,
            .why = "without TLS, other machines get only /metrics and /healthz",
        };
    return asked;
}

/* Keeps the body of a request up to its limit. */
static bool take_body(struct halo_http_asked *asked, const char *data, size_t size)
{
    asked->too_long |= size > HALO_HTTP_BODY - asked->body_size;
    if (asked->too_long)
        return true;
    char *body = realloc(asked->body, asked->body_size + size + 1);
    if (!body)
        return false;
    memcpy(body + asked->body_size, data, size);
    asked->body = body;
    asked->body_size += size;
    body[asked->body_size] = '\0';
    return true;
}

/* The second and third header tell browsers which sites may show this on a page, and which in a
 * frame. */
static void add_headers(const struct halo_http *http, const struct halo_http_asked *asked,
                        struct MHD_Response *response, int status)
{
    const bool cached = asked->route.what == HALO_HTTP_FILE;
    MHD_add_response_header(response, "Cache-Control", cached ? "no-cache" : "no-store");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                            asked->route.embedded ? "cross-origin" : "same-origin");
    MHD_add_response_header(response, "Content-Security-Policy", http->policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    if (asked->who.tls)
        MHD_add_response_header(response, "Strict-Transport-Security", "max-age=31536000");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", asked->route.allow);
}

static bool is_endless(enum halo_http_what what)
{
    return what == HALO_HTTP_STREAM || what == HALO_HTTP_LIVE || what == HALO_HTTP_MEDIA ||
           what == HALO_HTTP_EVENTS;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    struct halo_http *http = arg;
    struct halo_http_asked *asked = *state;
    int status;
    (void)version;
    if (!asked) {
        *state = asked = begin_request(http, connection, path, method);
        if (!asked)
            return MHD_NO;
        if (asked->route.what != HALO_HTTP_ERROR)
            return MHD_YES; /* called again when the request is complete */
    } else if (*upload_size > 0) {
        const bool fine = take_body(asked, upload, *upload_size);
        *upload_size = 0;
        return fine ? MHD_YES : MHD_NO;
    }
    *upload_size = 0;
    halo_http_client_asks(connection, is_endless(asked->route.what), uv_now(http->loop));
    if (!is_its_turn(http, connection, asked))
        return MHD_YES;
    struct MHD_Response *response = make_response(http, connection, asked, &status);
    if (!response)
        return status ? MHD_NO : MHD_YES;
    add_headers(http, asked, response, status);
    const enum MHD_Result rc = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return rc;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct halo_http *http = arg;
    struct halo_http_asked *asked = *state;
    (void)why;
    halo_http_client_is_answered(connection, uv_now(http->loop));
    if (asked) {
        give_up_turn(http, asked);
        halo_http_viewer_destroy(asked->viewer);
        halo_http_live_destroy(asked->live);
        halo_http_wait_destroy(asked->wait);
        if (asked->body)
            explicit_bzero(asked->body, asked->body_size); /* it may be a password */
        free(asked->body);
    }
    free(asked);
    *state = NULL;
}

/* Errors of clients are only logged for debugging. */
static void on_message(void *arg, const char *format, va_list arguments)
{
    char text[256];
    (void)arg;
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    halo_log(HALO_LOG_DEBUG, "http: %s", text);
}

/* ---- life ---- */

static void finish(struct halo_http *http)
{
    if (http->daemon)
        MHD_stop_daemon(http->daemon);
    halo_http_files_destroy(http->files);
    free(http->listen);
    free(http->hosts);
    free(http->embed);
    free(http->proxy);
    free(http->policy);
    halo_http_made_finish(http);
    free(http->certificate);
    if (http->key)
        explicit_bzero(http->key, strlen(http->key));
    free(http->key);
    free(http);
}

static void free_closed(uv_handle_t *handle)
{
    struct halo_http *http = handle->data;
    if (--http->handles == 0)
        finish(http);
}

static int start_daemon(struct halo_http *http, struct halo_error *err)
{
    const bool tls = http->certificate;
    const struct MHD_OptionItem with_tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, http->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, http->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem without[] = {{MHD_OPTION_END, 0, NULL}};
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET |
            (tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(CONNECTIONS + CLOSING + HALO_HTTP_LIVES),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, on_count, http, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, tls ? with_tls : without, MHD_OPTION_END);
    if (http->daemon)
        return 0;
    return tls ? halo_fail_usage(err,
                                 "http: the certificate or its key cannot be used: they must be "
                                 "PEM files that belong together")
               : halo_fail(err, -ENOMEM, "http: %s: libmicrohttpd failed to start", http->listen);
}

static void add_handle(struct halo_http *http, uv_handle_t *handle)
{
    handle->data = http;
    http->handle[http->handles++] = handle;
}

static int start_handles(struct halo_http *http, uv_loop_t *loop, struct halo_error *err)
{
    const int epoll = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int code = uv_poll_init(loop, &http->poll, epoll);
    if (code == 0) {
        add_handle(http, (uv_handle_t *)&http->poll);
        code = uv_poll_init(loop, &http->listening, http->door.fd);
    }
    if (code)
        return halo_fail(err, code, "http: %s: %s", http->listen, uv_strerror(code));
    add_handle(http, (uv_handle_t *)&http->listening);
    uv_timer_init(loop, &http->timeout);
    add_handle(http, (uv_handle_t *)&http->timeout);
    uv_idle_init(loop, &http->again);
    add_handle(http, (uv_handle_t *)&http->again);
    uv_timer_init(loop, &http->tick);
    add_handle(http, (uv_handle_t *)&http->tick);
    uv_poll_start(&http->poll, UV_READABLE, on_poll);
    uv_poll_start(&http->listening, UV_READABLE, on_connection);
    uv_timer_start(&http->tick, on_tick, TICK_MS, TICK_MS);
    return 0;
}

static int listen_at(struct halo_http *http, struct halo_error *err)
{
    struct halo_error why = {0};
    const int code = strncmp(http->listen, "unix:", 5)
                         ? http->door.fd = halo_listen_tcp(http->listen, &why)
                         : halo_listen_open(&http->door, http->listen + 5, &why);
    return code < 0 ? halo_fail(err, code, "http: listen: %s", why.text) : 0;
}

static char *copy_text(const char *text, bool *fine)
{
    char *copy = text ? strdup(text) : NULL;
    *fine &= copy || !text;
    return copy;
}

/* The sources from which the page may load, and who may embed it. */
static char *write_policy(const char *embed)
{
    char *policy = NULL;
    if (asprintf(&policy,
                 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
                 "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'self'; "
                 "frame-ancestors %s%s",
                 embed ? "'self' " : "'none'", embed ? embed : "") < 0)
        return NULL;
    for (char *at = policy; (at = strchr(at, ','));)
        *at = ' ';
    return policy;
}

static int copy_settings(struct halo_http *http, const struct halo_http_settings *settings)
{
    bool fine = true;
    http->listen = copy_text(settings->listen, &fine);
    http->hosts = copy_text(settings->hosts, &fine);
    http->embed = copy_text(settings->embed, &fine);
    http->proxy = copy_text(settings->proxy, &fine);
    http->policy = write_policy(settings->embed);
    http->gate.proxy = http->proxy;
    http->gate.tls = settings->certificate;
    http->gate.page = settings->page;
    http->gate.metrics = settings->metrics;
    return fine && http->policy ? 0 : -ENOMEM;
}

static int read_pem(char **ret, const char *path, struct halo_error *err)
{
    size_t length;
    const int code = path ? halo_read_file(path, 0, PEM_MAX, ret, &length) : 0;
    return code < 0 ? halo_fail(err, code, "http: %s: %s", path, strerror(-code)) : 0;
}

/* Others than this machine need passwords, unless they get nothing but the metrics. */
static int check_reach(struct halo_http *http, struct halo_error *err)
{
    struct sockaddr_storage address;
    const bool local =
        !strncmp(http->listen, "unix:", 5) ||
        (halo_address_parse(http->listen, &address) > 0 && halo_address_is_loopback(&address));
    if (local || (!http->gate.tls && !http->gate.proxy))
        return 0;
    if (!http->gate.access || !halo_users_exist(halo_access_users(http->gate.access)))
        return halo_fail_usage(err,
                               "http: %s: other machines could see all streams, because there are "
                               "no users yet: listen on 127.0.0.1 first, and create a user",
                               http->listen);
    return 0;
}

static int prepare(struct halo_http *http, const struct halo_http_settings *settings,
                   struct halo_error *err)
{
    if (copy_settings(http, settings) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    /* Cookies are sent to all ports of a host, so each daemon needs another name. */
    const char *colon = strrchr(http->listen, ':');
    const char *port = strncmp(http->listen, "unix:", 5) && colon ? colon + 1 : "0";
    snprintf(http->gate.cookie, sizeof http->gate.cookie, "%shalod-%s",
             http->gate.tls ? "__Host-" : "", port);
    int code = check_reach(http, err);
    if (code == 0)
        code = read_pem(&http->certificate, settings->certificate, err);
    if (code == 0)
        code = read_pem(&http->key, settings->key, err);
    if (code == 0 && http->gate.page)
        code = halo_http_files_read(&http->files, err);
    return code;
}

int halo_http_create(struct halo_http **ret, uv_loop_t *loop, const struct halo_http_host *host,
                     const struct halo_http_settings *settings, struct halo_error *err)
{
    *ret = NULL;
    if (!settings->listen)
        return 0;
    struct halo_http *http = calloc(1, sizeof *http);
    if (!http)
        return halo_fail(err, -ENOMEM, "out of memory");
    http->wake = wake;
    http->sv = host->supervisor;
    http->control = host->control ? halo_control_clients(host->control) : NULL;
    http->gate.access = host->access;
    http->door.fd = -1;
    http->later_last = &http->later;
    http->viewers = (struct halo_http_viewers){.wake = wake, .arg = http, .gate = &http->gate};
    http->loop = loop;
    int code = prepare(http, settings, err);
    if (code == 0)
        code = listen_at(http, err);
    if (code == 0)
        code = start_daemon(http, err);
    if (code == 0)
        code = start_handles(http, loop, err);
    if (code < 0) {
        halo_fail(err, code, "out of memory");
        halo_http_destroy(http);
        return code;
    }
    if (http->control) {
        http->control->watch = on_event;
        http->control->watch_arg = http;
    }
    *ret = http;
    return 0;
}

void halo_http_destroy(struct halo_http *http)
{
    if (!http)
        return;
    if (http->control)
        http->control->watch = NULL;
    http->stopping = true;
    halo_http_viewers_end(&http->viewers);
    halo_http_lives_end(http);
    halo_http_waits_end(http);
    while (http->later)
        begin_turn(http);
    if (http->daemon)
        MHD_run(http->daemon); /* ends resumed connections: none may be suspended when it stops */
    for (int i = http->handles; i-- > 0;)
        uv_close(http->handle[i], free_closed);
    halo_listen_close(&http->door);
    if (http->handles == 0)
        finish(http);
}
