/* SPDX-License-Identifier: BSD-2-Clause
 * The control socket: accepts clients, and checks them once a second. */
#include "daemon/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/log.h"
#include "daemon/control/client.h"
#include "daemon/control/facts.h"
#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"
#include "daemon/view/listen.h"
#include "daemon/view/passed.h"

enum { TICK_MS = 1000, HANDLES = 2, AT_ONCE = 16 };

struct halo_control {
    struct halo_clients clients;
    struct halo_listener listener;
    uv_poll_t poll;
    uv_timer_t timer;
    int handles;
    struct halo_listen listen;
};

static void free_closed(uv_handle_t *handle)
{
    struct halo_control *control = handle->data;
    if (--control->handles > 0)
        return;
    free(control);
}

/* Rejects a client beyond the limit, with an error if the socket accepts it. */
static void turn_away(int fd)
{
    json_t *error =
        halo_call_error(HALO_ERROR_FAILED,
                        "too many clients are connected: close another haloctl first", NULL, NULL);
    char *text = json_dumps(error, JSON_COMPACT);
    if (text && send(fd, text, strlen(text) + 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        halo_log(HALO_LOG_DEBUG, "control: a client disconnected while it was being refused");
    free(text);
    json_decref(error);
    close(fd);
}

/* Whether the client is an engine, which runs as the daemon's user, so that the socket's mode does
 * not stop it. */
static bool is_an_engine(const struct halo_control *control, int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           halo_supervisor_is_engine(control->clients.host.supervisor, peer.pid);
}

/* Accepts a client. Returns whether another one may be waiting. */
static bool let_in(struct halo_control *control)
{
    const int fd = halo_listen_accept(control->listen.fd, HALO_LISTEN_SPARE_CONTROL, NULL, NULL);
    if (fd == -EAGAIN) {
        halo_supervisor_forget_dead(control->clients.host.supervisor);
        return false;
    }
    if (fd == -EUSERS) {
        halo_log(HALO_LOG_WARNING, "control: a client was refused: too many open files");
        return true;
    }
    if (fd < 0) {
        /* The socket stays readable, so polling stops until the timer starts it again. */
        halo_log(HALO_LOG_WARNING, "control: cannot accept a client: %s", strerror(-fd));
        uv_poll_stop(&control->poll);
        return false;
    }
    if (is_an_engine(control, fd))
        close(fd);
    else if (control->clients.count >= HALO_VARLINK_CLIENTS &&
             !halo_clients_make_room(&control->clients))
        turn_away(fd);
    else if (halo_client_create(&control->clients, fd))
        halo_log(HALO_LOG_WARNING, "control: out of memory: a client was disconnected");
    return true;
}

static void let_some_in(struct halo_control *control)
{
    for (int i = 0; i < AT_ONCE && let_in(control); i++)
        ;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    let_some_in(poll->data);
}

static void on_tick(uv_timer_t *timer)
{
    struct halo_control *control = timer->data;
    struct halo_client *next;
    for (struct halo_client *client = control->clients.first; client; client = next) {
        next = halo_client_next(client);
        halo_client_check(client);
    }
    if (!uv_is_active((uv_handle_t *)&control->poll))
        uv_poll_start(&control->poll, UV_READABLE, on_connection);
    let_some_in(control);
}

static void on_event(struct halo_listener *listener, json_t *event)
{
    struct halo_control *control =
        (struct halo_control *)((char *)listener - offsetof(struct halo_control, listener));
    halo_clients_notify(&control->clients, event);
}

/* The user's own path, for a daemon started by hand; creates its folder. malloc'ed. */
static char *user_path(void)
{
    char *path = NULL;
    const char *base = getenv("XDG_RUNTIME_DIR");
    if (!base || !*base || asprintf(&path, "%s/halod", base) < 0)
        return NULL;
    mkdir(path, 0700);
    free(path);
    return asprintf(&path, "%s/halod/control.sock", base) < 0 ? NULL : path;
}

static char *choose_path(const struct halo_control_settings *settings)
{
    const char *runtime = getenv("RUNTIME_DIRECTORY"); /* set by systemd for services */
    char *path = NULL;
    if (settings->path)
        return strdup(settings->path);
    if (halo_passed_path("control"))
        return strdup(halo_passed_path("control"));
    if (runtime && *runtime && !strchr(runtime, ':'))
        return asprintf(&path, "%s/control.sock", runtime) < 0 ? NULL : path;
    if (geteuid() == 0) {
        mkdir("/run/halod", 0755);
        return strdup("/run/halod/control.sock");
    }
    return user_path();
}

static int listen_at(struct halo_control *control, const struct halo_control_settings *settings,
                     struct halo_error *err)
{
    char *path = choose_path(settings);
    if (!path)
        return halo_fail(err, -ENOENT,
                         "the control socket has no path: set XDG_RUNTIME_DIR, or add 'control: "
                         "{path: ...}' to the settings");
    const int code = halo_listen_open(&control->listen, path, err);
    free(path);
    return code;
}

static int init_handles(struct halo_control *control, uv_loop_t *loop, struct halo_error *err)
{
    const int code = uv_poll_init(loop, &control->poll, control->listen.fd);
    if (code)
        return halo_fail(err, code, "%s: %s", control->listen.path, uv_strerror(code));
    uv_timer_init(loop, &control->timer);
    control->handles = HANDLES;
    control->poll.data = control->timer.data = control;
    uv_poll_start(&control->poll, UV_READABLE, on_connection);
    uv_timer_start(&control->timer, on_tick, TICK_MS, TICK_MS);
    return 0;
}

int halo_control_create(struct halo_control **ret, uv_loop_t *loop,
                        const struct halo_control_settings *settings,
                        const struct halo_control_host *host, struct halo_error *err)
{
    struct halo_control *control = calloc(1, sizeof *control);
    int code;
    if (!control)
        return halo_fail(err, -ENOMEM, "out of memory");
    control->clients.loop = loop;
    control->clients.host = *host;
    control->listen.fd = -1;
    control->clients.facts = halo_facts_create(loop, HALO_FACTS_MS);
    code = control->clients.facts ? listen_at(control, settings, err)
                                  : halo_fail(err, -ENOMEM, "out of memory");
    if (!code)
        code = init_handles(control, loop, err);
    if (code) {
        halo_listen_close(&control->listen);
        halo_facts_destroy(control->clients.facts);
        free(control);
        return code;
    }
    control->listener.event = on_event;
    halo_supervisor_listen(host->supervisor, &control->listener);
    *ret = control;
    return 0;
}

void halo_control_destroy(struct halo_control *control)
{
    if (!control)
        return;
    halo_supervisor_unlisten(control->clients.host.supervisor, &control->listener);
    while (control->clients.first)
        halo_client_cut(control->clients.first, NULL);
    halo_facts_destroy(control->clients.facts);
    uv_close((uv_handle_t *)&control->poll, free_closed);
    uv_close((uv_handle_t *)&control->timer, free_closed);
    halo_listen_close(&control->listen);
}

const char *halo_control_path(const struct halo_control *control)
{
    return control->listen.path;
}
