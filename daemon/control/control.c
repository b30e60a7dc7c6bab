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

#include "config/base/log.h"
#include "daemon/control/client.h"
#include "daemon/control/facts.h"
#include "daemon/control/history.h"
#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"
#include "daemon/view/listen.h"
#include "daemon/view/passed.h"

enum { TICK_MS = 1000, DOORS = 2, AT_ONCE = 16 };

/* A socket on which clients get a role. */
struct door {
    struct halo_control *control;
    enum halo_role role;
    struct halo_listen listen; /* fd -1: there is none */
    uv_poll_t poll;
};

struct halo_control {
    struct halo_clients clients;
    struct halo_listener listener;
    struct door door[DOORS]; /* with all rights, and `view` */
    uv_timer_t timer;
    int ticks; /* seconds until the next sample of the history */
    int handles;
};

static void free_one(struct halo_control *control)
{
    if (--control->handles == 0)
        free(control);
}

static void door_closed(uv_handle_t *handle)
{
    struct door *door = handle->data;
    free_one(door->control);
}

static void timer_closed(uv_handle_t *handle)
{
    free_one(handle->data);
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
static bool let_in(struct door *door)
{
    struct halo_control *control = door->control;
    const int fd = halo_listen_accept(door->listen.fd, HALO_LISTEN_SPARE_CONTROL, NULL, NULL);
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
        uv_poll_stop(&door->poll);
        return false;
    }
    if (is_an_engine(control, fd))
        close(fd);
    else if (control->clients.count >= HALO_VARLINK_CLIENTS &&
             !halo_clients_make_room(&control->clients))
        turn_away(fd);
    else if (halo_client_create(&control->clients, fd, door->role))
        halo_log(HALO_LOG_WARNING, "control: out of memory: a client was disconnected");
    return true;
}

static void let_some_in(struct door *door)
{
    for (int i = 0; i < AT_ONCE && let_in(door); i++)
        ;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    let_some_in(poll->data);
}

static void sample(struct halo_control *control)
{
    if (--control->ticks > 0)
        return;
    control->ticks = HALO_HISTORY_S;
    json_t *status = halo_supervisor_status(control->clients.host.supervisor);
    if (status)
        halo_history_add(control->clients.history, status);
    json_decref(status);
}

static void on_tick(uv_timer_t *timer)
{
    struct halo_control *control = timer->data;
    sample(control);
    struct halo_client *next;
    for (struct halo_client *client = control->clients.first; client; client = next) {
        next = halo_client_next(client);
        halo_client_check(client);
    }
    for (int i = 0; i < DOORS; i++) {
        struct door *door = &control->door[i];
        if (door->listen.fd < 0)
            continue;
        halo_listen_look(&door->listen, &door->poll);
        if (!uv_is_active((uv_handle_t *)&door->poll))
            uv_poll_start(&door->poll, UV_READABLE, on_connection);
        let_some_in(door);
    }
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
    int code = halo_listen_open(&control->door[0].listen, path, err);
    free(path);
    if (code == 0 && settings->view)
        code = halo_listen_open(&control->door[1].listen, settings->view, err);
    return code;
}

static int open_door(struct door *door, uv_loop_t *loop, struct halo_error *err)
{
    const int code = uv_poll_init(loop, &door->poll, door->listen.fd);
    if (code)
        return halo_fail(err, code, "%s: %s", door->listen.path, uv_strerror(code));
    door->control->handles++;
    door->poll.data = door;
    uv_poll_start(&door->poll, UV_READABLE, on_connection);
    return 0;
}

static int init_handles(struct halo_control *control, uv_loop_t *loop, struct halo_error *err)
{
    uv_timer_init(loop, &control->timer);
    control->handles = 1;
    control->timer.data = control;
    uv_timer_start(&control->timer, on_tick, TICK_MS, TICK_MS);
    for (int i = 0; i < DOORS; i++) {
        const int code =
            control->door[i].listen.fd < 0 ? 0 : open_door(&control->door[i], loop, err);
        if (code)
            return code;
    }
    return 0;
}

/* Closes what is open; the loop frees the rest. */
static void close_all(struct halo_control *control)
{
    for (int i = 0; i < DOORS; i++) {
        struct door *door = &control->door[i];
        if (door->poll.data)
            uv_close((uv_handle_t *)&door->poll, door_closed);
        halo_listen_close(&door->listen);
    }
    halo_facts_destroy(control->clients.facts);
    halo_history_destroy(control->clients.history);
    if (control->handles > 0)
        uv_close((uv_handle_t *)&control->timer, timer_closed);
    else
        free(control);
}

int halo_control_create(struct halo_control **ret, uv_loop_t *loop,
                        const struct halo_control_settings *settings,
                        const struct halo_control_host *host, struct halo_error *err)
{
    struct halo_control *control = calloc(1, sizeof *control);
    if (!control)
        return halo_fail(err, -ENOMEM, "out of memory");
    control->clients.loop = loop;
    control->clients.methods = halo_methods;
    control->clients.host = *host;
    for (int i = 0; i < DOORS; i++) {
        control->door[i].control = control;
        control->door[i].role = i == 0 ? HALO_ROLE_ADMIN : HALO_ROLE_VIEW;
        control->door[i].listen.fd = -1;
    }
    control->clients.facts = halo_facts_create(loop, HALO_FACTS_MS);
    control->clients.history = halo_history_create();
    int code = control->clients.facts && control->clients.history
                   ? listen_at(control, settings, err)
                   : halo_fail(err, -ENOMEM, "out of memory");
    if (!code)
        code = init_handles(control, loop, err);
    if (code) {
        close_all(control);
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
    close_all(control);
}

const char *halo_control_path(const struct halo_control *control)
{
    return control->door[0].listen.path;
}

struct halo_clients *halo_control_clients(struct halo_control *control)
{
    return &control->clients;
}
