/* SPDX-License-Identifier: BSD-2-Clause
 * libmicrohttpd on the loop, and the answer for each page. */
#include "daemon/http/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/log.h"
#include "daemon/http/http_clients.h"
#include "daemon/http/http_pages.h"
#include "daemon/http/http_request.h"
#include "daemon/http/http_viewer.h"
#include "daemon/view/listen.h"
#include "daemon/view/listen_tcp.h"

enum {
    VIEWERS = 64,      /* viewers of streams; */
    CONNECTIONS = 128, /* the other half is for pages: health and metrics */
    /* further connections that libmicrohttpd may have: closed ones that it has not noticed */
    CLOSING = 32,
    IDLE_S = 10,        /* without a byte in or out: closed */
    MEMORY = 64 * 1024, /* of a connection: headers, and data about to be sent */
    TICK_MS = 1000,
    AT_ONCE = 16, /* connections accepted in one turn */
    HANDLES = 5,
};

struct halo_http {
    struct halo_supervisor *sv;
    uv_loop_t *loop;
    char *listen, *hosts, *embed;
    char *ancestors; /* the header that lists who may embed this in a frame */
    struct MHD_Daemon *daemon;
    struct halo_http_clients clients;
    struct halo_http_viewers viewers;
    int fd; /* listening socket; -1: none */
    uv_poll_t listening, poll;
    uv_timer_t timeout; /* when libmicrohttpd wants to be called ... */
    uv_idle_t again;    /* ... and this one if at once */
    uv_timer_t tick;
    uv_handle_t *handle[HANDLES];
    int handles;
    struct halo_listen door; /* socket of the setting unix: */
};

/* One request; libmicrohttpd keeps it between its calls. */
struct request {
    struct halo_http_viewer *viewer;
    struct halo_http_route route;
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

/* Runs libmicrohttpd, and arranges the next call at the time that it requests. This must not be a
 * timer of 0 ms: libuv before 1.49 runs a timer that restarts itself in a loop, and nothing else
 * meanwhile, as long as a client has more requests in its socket. */
static void run(struct halo_http *http)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    MHD_run(http->daemon);
    const bool wants = MHD_get_timeout(http->daemon, &ms) == MHD_YES;
    uv_timer_stop(&http->timeout);
    uv_idle_stop(&http->again);
    if (wants && ms == 0)
        uv_idle_start(&http->again, on_again);
    else if (wants)
        uv_timer_start(&http->timeout, on_timeout, ms, 0);
}

/* Without its own thread libmicrohttpd does not notice that a connection was resumed. */
static void on_wake(void *arg)
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
    if (http->clients.count >= CONNECTIONS) {
        uv_poll_stop(&http->listening); /* until a connection has been closed */
        halo_http_clients_make_room(&http->clients);
        return false;
    }
    const int fd =
        halo_listen_accept(http->fd, HALO_LISTEN_SPARE_VIEWERS, (struct sockaddr *)&from, &length);
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
    halo_http_clients_check(&http->clients, uv_now(timer->loop));
    listen_again(http);
}

/* ---- answers ---- */

static struct MHD_Response *page(struct halo_http *http, enum halo_http_what what, int *status)
{
    const struct halo_http_numbers numbers = {
        .connections = http->clients.count,
        .cut = http->clients.cut + http->viewers.cut,
        .viewers = http->viewers.count,
        .pictures = http->viewers.pictures,
        .dropped = http->viewers.dropped,
        .bytes = http->viewers.bytes,
    };
    return halo_http_page(what, http->sv, &numbers, status);
}

static struct halo_feed *find_feed(const struct halo_http *http, const char *name)
{
    const struct halo_daemon_settings *settings = halo_supervisor_settings(http->sv);
    if (!*name)
        name = settings && settings->streams > 0 ? settings->stream[0].name : "";
    return halo_supervisor_feed(http->sv, name, HALO_VIEW_JPEG);
}

/* Answers with a stream or a snapshot. NULL and *status 0: the connection waits. */
static struct MHD_Response *picture(struct halo_http *http, struct MHD_Connection *connection,
                                    struct request *request, int *status)
{
    bool wait = false;
    if (!request->viewer) {
        struct halo_feed *feed = find_feed(http, request->route.stream);
        if (!feed) {
            *status = MHD_HTTP_NOT_FOUND;
            return halo_http_text("text/plain", "no such stream: the page / lists all streams\n");
        }
        if (http->viewers.count >= VIEWERS) {
            *status = MHD_HTTP_SERVICE_UNAVAILABLE;
            return halo_http_text("text/plain", "too many viewers: try again later\n");
        }
        if (halo_http_viewer_create(&request->viewer, &http->viewers, feed, connection))
            return NULL;
    }
    struct MHD_Response *response = request->route.what == HALO_HTTP_STREAM
                                        ? halo_http_viewer_stream(request->viewer)
                                        : halo_http_viewer_snapshot(request->viewer, &wait);
    if (wait)
        *status = 0;
    if (response || wait || request->route.what == HALO_HTTP_STREAM)
        return response;
    *status = MHD_HTTP_SERVICE_UNAVAILABLE;
    return halo_http_text("text/plain", "no frame arrived: 'haloctl status' shows the reason\n");
}

static struct MHD_Response *make_response(struct halo_http *http, struct MHD_Connection *connection,
                                          struct request *request, int *status)
{
    char line[160];
    *status = request->route.status;
    switch (request->route.what) {
    case HALO_HTTP_STREAM:
    case HALO_HTTP_SNAPSHOT:
        return picture(http, connection, request, status);
    case HALO_HTTP_ERROR:
        snprintf(line, sizeof line, "%s\n", request->route.why);
        return halo_http_text("text/plain", line);
    default:
        return page(http, request->route.what, status);
    }
}

static struct request *begin_request(const struct halo_http *http,
                                     struct MHD_Connection *connection, const char *path,
                                     const char *method)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    const struct halo_http_request words = {
        .method = method,
        .path = path,
        .action = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "action"),
        .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
        .origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
        .referer = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Referer"),
        .fetch_site = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
        .fetch_dest = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Dest"),
        .listen = http->listen,
        .hosts = http->hosts,
        .embed = http->embed,
    };
    halo_http_route(&words, &request->route);
    return request;
}

/* The second and third header tell browsers which sites may show this on a page, and which in a
 * frame. */
static void add_headers(const struct halo_http *http, const struct request *request,
                        struct MHD_Response *response, int status)
{
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                            request->route.embedded ? "cross-origin" : "same-origin");
    MHD_add_response_header(response, "Content-Security-Policy", http->ancestors);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    struct halo_http *http = arg;
    struct request *request = *state;
    int status;
    (void)version;
    (void)upload;
    if (!request) {
        *state = request = begin_request(http, connection, path, method);
        if (!request)
            return MHD_NO;
        if (request->route.what != HALO_HTTP_ERROR)
            return MHD_YES; /* called again when the request is complete */
    }
    *upload_size = 0;
    halo_http_client_asks(connection, request->route.what == HALO_HTTP_STREAM, uv_now(http->loop));
    struct MHD_Response *response = make_response(http, connection, request, &status);
    if (!response)
        return status ? MHD_NO : MHD_YES;
    add_headers(http, request, response, status);
    const enum MHD_Result rc = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return rc;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    const struct halo_http *http = arg;
    struct request *request = *state;
    (void)why;
    halo_http_client_is_answered(connection, uv_now(http->loop));
    if (request)
        halo_http_viewer_destroy(request->viewer);
    free(request);
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
    if (http->fd >= 0)
        close(http->fd);
    free(http->listen);
    free(http->hosts);
    free(http->embed);
    free(http->ancestors);
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
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET, 0,
        NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(CONNECTIONS + CLOSING),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, on_count, http, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    return http->daemon
               ? 0
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
        code = uv_poll_init(loop, &http->listening, http->fd);
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
    int fd;
    if (strncmp(http->listen, "unix:", 5)) {
        fd = halo_listen_tcp(http->listen, &why);
    } else {
        fd = halo_listen_open(&http->door, http->listen + 5, &why);
        if (fd == 0)
            fd = http->door.passed ? fcntl(http->door.fd, F_DUPFD_CLOEXEC, 0) : http->door.fd;
    }
    if (!http->door.passed)
        http->door.fd = -1;
    if (fd < 0)
        return halo_fail(err, fd, "http: listen: %s", why.text);
    http->fd = fd;
    return 0;
}

static char *copy_text(const char *text, bool *fine)
{
    char *copy = text ? strdup(text) : NULL;
    *fine &= copy || !text;
    return copy;
}

static int copy_settings(struct halo_http *http, const struct halo_http_settings *settings)
{
    bool fine = true;
    http->listen = copy_text(settings->listen, &fine);
    http->hosts = copy_text(settings->hosts, &fine);
    http->embed = copy_text(settings->embed, &fine);
    if (asprintf(&http->ancestors, "frame-ancestors 'self' %s",
                 settings->embed ? settings->embed : "") < 0)
        http->ancestors = NULL;
    for (char *at = http->ancestors; at && (at = strchr(at, ','));)
        *at = ' ';
    return fine && http->ancestors ? 0 : -ENOMEM;
}

int halo_http_create(struct halo_http **ret, uv_loop_t *loop, struct halo_supervisor *sv,
                     const struct halo_http_settings *settings, struct halo_error *err)
{
    *ret = NULL;
    if (!settings->listen)
        return 0;
    struct halo_http *http = calloc(1, sizeof *http);
    if (!http)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = -ENOMEM;
    http->sv = sv;
    http->fd = http->door.fd = -1;
    http->viewers = (struct halo_http_viewers){.wake = on_wake, .arg = http};
    http->loop = loop;
    if (copy_settings(http, settings) == 0)
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
    *ret = http;
    return 0;
}

void halo_http_destroy(struct halo_http *http)
{
    if (!http)
        return;
    halo_http_viewers_end(&http->viewers);
    if (http->daemon)
        MHD_run(http->daemon); /* ends resumed connections: none may be suspended when it stops */
    halo_listen_close(&http->door); /* removes its name */
    for (int i = http->handles; i-- > 0;)
        uv_close(http->handle[i], free_closed);
    if (http->handles == 0)
        finish(http);
}
