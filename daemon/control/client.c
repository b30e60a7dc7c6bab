/* SPDX-License-Identifier: BSD-2-Clause
 * Clients: their buffers and limits. */
#include "daemon/control/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/control/shown.h"
#include "daemon/control/varlink.h"
#include "daemon/link/send_fds.h"
#include "kernels/clock.h"
#include <stdint.h>
#include "daemon/control/methods.h"

struct out {
    struct out *next;
    char *text;
    size_t length, sent;
    int fd;
};

struct halo_client {
    struct halo_clients *clients;
    struct halo_client *next;
    int fd;
    struct ucred peer;
    enum halo_role role;
    /* of a call over HTTP, which has no socket (fd is -1) and is not in the list of clients: who
     * made it, and who gets the answer */
    char user[130];
    halo_client_reply *reply;
    void *reply_arg;
    uv_poll_t poll;
    /* during a call, triggers its repeated answers; between calls, runs client_work() */
    uv_timer_t timer;
    /* active while calls that were received completely are held back, to give other clients their
     * turn */
    uv_idle_t rest;
    bool more;   /* fully received calls are waiting */
    int handles; /* number of libuv handles that are not closed yet */
    int events;  /* libuv events for which `poll` is waiting, such as UV_READABLE */
    bool cut, eof, working;

    char *in;
    size_t in_length, in_size;
    struct out *out, **out_last;
    size_t out_bytes;
    uint64_t moved; /* loop time in ms at which bytes were last sent */
    /* loop time in ms of the client's last activity: it connected, or a call was received or
     * answered */
    uint64_t heard;
    bool called; /* the client has made a call */

    bool busy; /* `call` is being answered */
    struct halo_call call;
    struct halo_pending *pending;
    void (*tick)(struct halo_client *client);

    bool subscribed;
    json_t *waiting[HALO_VARLINK_EVENTS]; /* a ring of events */
    int waiting_first, waiting_count;
    int64_t lost;
};

static void client_poll(struct halo_client *client);
/* A call that has been read completely begins, a call ends, and queued events can be sent again:
 * see "calls" below. */
static void client_begin_call(struct halo_client *client, const char *text, size_t length);
static void client_end_call(struct halo_client *client);
static void client_drained(struct halo_client *client);

enum { READ = 65536, HANDLES = 3, CALLS_AT_ONCE = 4 };

static void handle_closed(uv_handle_t *handle)
{
    struct halo_client *client = handle->data;
    if (--client->handles > 0)
        return;
    if (client->fd >= 0)
        close(client->fd);
    free(client->in);
    free(client);
}

static void drop_message(struct halo_client *client)
{
    struct out *message = client->out;
    client->out = message->next;
    client->out_bytes -= message->length;
    if (!client->out)
        client->out_last = &client->out;
    if (message->fd >= 0)
        close(message->fd);
    free(message->text);
    free(message);
}

void halo_client_cut(struct halo_client *client, const char *why)
{
    if (client->cut)
        return;
    client->cut = true;
    if (why)
        halo_log(HALO_LOG_WARNING, "control: client %d (user %d) was disconnected: %s",
                 (int)client->peer.pid, (int)client->peer.uid, why);
    if (client->fd >= 0) {
        struct halo_client **at = &client->clients->first;
        while (*at != client)
            at = &(*at)->next;
        *at = client->next;
        client->clients->count--;
    }
    client_end_call(client);
    if (client->pending)
        client->pending->client = NULL;
    while (client->out)
        drop_message(client);
    if (client->fd >= 0) {
        shutdown(client->fd, SHUT_RDWR); /* immediately, not when the handles are closed */
        uv_close((uv_handle_t *)&client->poll, handle_closed);
    }
    uv_close((uv_handle_t *)&client->timer, handle_closed);
    uv_close((uv_handle_t *)&client->rest, handle_closed);
}

/* Sends a part of one message and returns its bytes, or -errno. The descriptor is sent with the
 * first byte. */
static ssize_t send_some(const struct halo_client *client, struct out *message)
{
    struct iovec part = {message->text + message->sent, message->length - message->sent};
    const bool with_fd = message->fd >= 0 && message->sent == 0;
    return halo_send_fds(client->fd, &part, 1, &message->fd, with_fd);
}

static void client_flush(struct halo_client *client)
{
    while (client->out && !client->cut) {
        const ssize_t n = send_some(client, client->out);
        if (n == -EAGAIN)
            break;
        if (n < 0) {
            halo_client_cut(client, NULL);
            return;
        }
        client->moved = uv_now(client->clients->loop);
        client->out->sent += (size_t)n;
        if (client->out->sent == client->out->length)
            drop_message(client);
    }
    if (!client->cut)
        client_poll(client);
}

/* Hands the answer to a call over HTTP to its caller. */
static int deliver(struct halo_client *client, json_t *message, int fd)
{
    if (!client->cut)
        client->reply(client->reply_arg, message, fd);
    json_decref(message);
    halo_client_cut(client, NULL);
    return 0;
}

/* Queues a message. Takes the caller's reference to message. If fd is not -1, a copy of this
 * descriptor is sent with the message. Returns 0 or -ENOMEM. */
static int client_send(struct halo_client *client, json_t *message, int fd)
{
    message = halo_show(message, client->role);
    if (client->reply)
        return deliver(client, message, fd);
    struct out *out = calloc(1, sizeof *out);
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!out || !text || client->cut)
        goto fail;
    out->fd = -1;
    if (fd >= 0 && (out->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
        goto fail;
    out->text = text;
    out->length = strlen(text) + 1;
    if (!client->out)
        client->moved = uv_now(client->clients->loop);
    *client->out_last = out;
    client->out_last = &out->next;
    client->out_bytes += out->length;
    return 0;
fail:
    free(out);
    free(text);
    return -ENOMEM;
}

void halo_client_check(struct halo_client *client)
{
    const uint64_t now = uv_now(client->clients->loop);
    const bool within = !client->called || client->in_length > 0;
    if (client->out && now - client->moved > (uint64_t)HALO_VARLINK_STUCK_MS)
        halo_client_cut(client, "it does not read the answers to its calls");
    else if (client->busy || client->out || client->more)
        client->heard = now;
    else if (within && now - client->heard > (uint64_t)HALO_VARLINK_CALL_MS)
        halo_client_cut(client, "it sent no complete call within 30 seconds");
    else if (now - client->heard > (uint64_t)HALO_VARLINK_IDLE_MS)
        halo_client_cut(client, "it has been silent for 5 minutes");
}

bool halo_clients_make_room(struct halo_clients *clients)
{
    struct halo_client *oldest = NULL;
    for (struct halo_client *client = clients->first; client; client = client->next)
        if (!client->busy && !client->out && !client->more &&
            (!oldest || client->heard <= oldest->heard))
            oldest = client;
    if (oldest)
        halo_client_cut(
            oldest, "it had been idle for the longest time when another client needed its place");
    return oldest;
}

/* Whether the client reads its answers; while it does not, its calls are not read. */
static bool takes(const struct halo_client *client)
{
    return client->out_bytes < HALO_VARLINK_MAX;
}

static size_t waiting_calls(const struct halo_client *client)
{
    size_t count = 0;
    const char *at = client->in, *end = client->in + client->in_length;
    while (at < end && (at = memchr(at, 0, (size_t)(end - at)))) {
        at++;
        count++;
    }
    return count;
}

/* Answers complete calls until one has to wait or it is the turn of other clients. Returns the
 * bytes used. */
static size_t answer_some(struct halo_client *client)
{
    size_t used = 0;
    for (int i = 0; i < CALLS_AT_ONCE && used < client->in_length; i++) {
        const char *begin = client->in + used;
        const char *end = memchr(begin, 0, client->in_length - used);
        if (!end || client->cut || client->busy || !takes(client))
            break;
        used += (size_t)(end - begin) + 1;
        client->called = true;
        client->heard = uv_now(client->clients->loop);
        client_begin_call(client, begin, (size_t)(end - begin));
    }
    return used;
}

/* client.c: */
static void client_work(struct halo_client *client)
{
    client->working = true;
    const size_t used = answer_some(client);
    client->working = false;
    if (client->cut)
        return;
    if (used > 0)
        memmove(client->in, client->in + used, client->in_length - used);
    client->in_length -= used;
    const size_t waiting = waiting_calls(client);
    client->more = waiting > 0 && !client->busy;
    if (waiting > HALO_VARLINK_CALLS && client->busy)
        halo_client_cut(client, "too many calls are waiting");
    else if (client->in_length >= HALO_VARLINK_MAX && !client->more)
        halo_client_cut(client, "a message is too long");
    else
        client_flush(client);
    if (!client->cut && client->eof && !client->more &&
        (client->busy ? client->call.more : !client->out))
        halo_client_cut(client, NULL); /* its earlier calls have been answered */
}

static void on_rest(uv_idle_t *rest)
{
    client_work(rest->data);
}

static int make_room(struct halo_client *client)
{
    if (client->in_size - client->in_length >= READ)
        return 0;
    const size_t size = client->in_length + 2 * READ;
    char *in = realloc(client->in, size);
    if (!in)
        return -ENOMEM;
    client->in = in;
    client->in_size = size;
    return 0;
}

/* Reads once in each turn of the loop, so that no client blocks others. */
static void read_some(struct halo_client *client)
{
    if (make_room(client)) {
        halo_client_cut(client, "out of memory");
        return;
    }
    const ssize_t n = recv(client->fd, client->in + client->in_length, READ, MSG_DONTWAIT);
    if (n > 0)
        client->in_length += (size_t)n;
    else if (n == 0)
        client->eof = true;
    else if (errno != EAGAIN && errno != EINTR)
        halo_client_cut(client, NULL);
    if (!client->cut)
        client_work(client);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct halo_client *client = poll->data;
    if (status < 0) {
        halo_client_cut(client, NULL);
        return;
    }
    if (events & UV_WRITABLE) {
        client_flush(client);
        if (!client->cut)
            client_drained(client);
    }
    if (!client->cut && (events & UV_READABLE) && !client->eof)
        read_some(client);
    if (!client->cut && client->eof && !client->busy && !client->more && !client->out)
        halo_client_cut(client, NULL);
}

static void client_poll(struct halo_client *client)
{
    const bool listens = !client->eof && !client->more && takes(client);
    if (client->more && takes(client))
        uv_idle_start(&client->rest, on_rest);
    else
        uv_idle_stop(&client->rest);
    const int events = (listens ? UV_READABLE : 0) | (client->out ? UV_WRITABLE : 0);
    if (events == client->events)
        return;
    client->events = events;
    if (events)
        uv_poll_start(&client->poll, events, on_poll);
    else
        uv_poll_stop(&client->poll);
}

int halo_client_create(struct halo_clients *clients, int fd, enum halo_role role)
{
    socklen_t length = sizeof(struct ucred);
    struct halo_client *client = calloc(1, sizeof *client);
    if (!client) {
        close(fd);
        return -ENOMEM;
    }
    client->fd = fd;
    client->role = role;
    client->clients = clients;
    client->out_last = &client->out;
    client->heard = uv_now(clients->loop);
    client->handles = HANDLES;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client->peer, &length))
        client->peer = (struct ucred){.uid = (uid_t)-1, .gid = (gid_t)-1};
    const int code = uv_poll_init(clients->loop, &client->poll, fd);
    if (code) {
        close(fd);
        free(client);
        return code;
    }
    uv_timer_init(clients->loop, &client->timer);
    uv_idle_init(clients->loop, &client->rest);
    client->poll.data = client->timer.data = client->rest.data = client;
    client->next = clients->first;
    clients->first = client;
    clients->count++;
    halo_log(HALO_LOG_DEBUG, "control: client %d (user %d) connected", (int)client->peer.pid,
             (int)client->peer.uid);
    client_poll(client);
    return 0;
}

struct halo_client *halo_client_call(struct halo_clients *clients,
                                     const struct halo_client_user *user, json_t *message,
                                     halo_client_reply *reply, void *arg)
{
    struct halo_client *client = calloc(1, sizeof *client);
    char *text = json_dumps(message, JSON_COMPACT);
    if (!client || !text) {
        json_t *error = halo_call_error(HALO_ERROR_FAILED, "out of memory", NULL, NULL);
        reply(arg, error, -1);
        json_decref(error);
        free(client);
        free(text);
        return NULL;
    }
    client->fd = -1;
    client->role = user->role;
    client->clients = clients;
    client->out_last = &client->out;
    client->reply = reply;
    client->reply_arg = arg;
    snprintf(client->user, sizeof client->user, "%s at %s", user->name[0] ? user->name : "nobody",
             user->address);
    uv_timer_init(clients->loop, &client->timer);
    uv_idle_init(clients->loop, &client->rest);
    client->handles = HANDLES - 1;
    client->timer.data = client->rest.data = client;
    client_begin_call(client, text, strlen(text));
    free(text);
    return client->cut ? NULL : client; /* its memory is freed by the loop, later */
}

struct halo_client *halo_client_next(const struct halo_client *client)
{
    return client->next;
}

struct halo_clients *halo_client_all(const struct halo_client *client)
{
    return client->clients;
}

/* ---- calls ---- */

static void client_end_call(struct halo_client *client)
{
    if (client->busy)
        halo_call_finish(&client->call);
    client->busy = false;
    client->tick = NULL;
    uv_timer_stop(&client->timer);
    client->subscribed = false;
    for (; client->waiting_count > 0; client->waiting_count--) {
        json_decref(client->waiting[client->waiting_first]);
        client->waiting_first = (client->waiting_first + 1) % HALO_VARLINK_EVENTS;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct halo_client *client = timer->data;
    if (!client->tick)
        client_work(client);
    else if (!client->out)
        client->tick(client);
}

/* Ends the present call with this message and takes ownership of it. The supervisor may be in the
 * middle of an operation that led to this answer, so the next call begins afterwards. */
static void end_with(struct halo_client *client, json_t *message, int fd)
{
    const bool oneway = client->call.oneway;
    client_end_call(client);
    if (oneway)
        json_decref(message);
    else if (client_send(client, message, fd))
        halo_client_cut(client, "out of memory");
    if (!client->cut && !client->working)
        uv_timer_start(&client->timer, on_timer, 0, 0);
}

void halo_client_answer(struct halo_client *client, json_t *parameters, int fd)
{
    json_t *message = json_object();
    if (json_object_set_new(message, "parameters", parameters ? parameters : json_object())) {
        json_decref(message);
        message = NULL;
    }
    end_with(client, message, fd);
}

void halo_client_refuse(struct halo_client *client, const char *error, const char *what,
                        const char *key, const char *value)
{
    end_with(client, halo_call_error(error, what, key, value), -1);
}

void halo_client_refuse_with(struct halo_client *client, const char *error, const char *what,
                             json_t *fields)
{
    json_t *message = halo_call_error(error, what, NULL, NULL);
    json_object_update(json_object_get(message, "parameters"), fields);
    json_decref(fields);
    end_with(client, message, -1);
}

void halo_client_fail(struct halo_client *client, const struct halo_error *err)
{
    const char *what = err->text[0] ? err->text : "the call failed for an unknown reason";
    const json_t *name = json_object_get(client->call.parameters, HALO_FIELD_NAME);
    if (err->code == -ENOENT)
        halo_client_refuse(client, HALO_ERROR_STREAM, what, HALO_FIELD_NAME,
                           json_string_value(name));
    else if (err->code == -EINVAL || err->code == -ERANGE || err->usage)
        halo_client_refuse(client, HALO_ERROR_REFUSED, what, NULL, NULL);
    else
        halo_client_refuse(client, HALO_ERROR_FAILED, what, NULL, NULL);
}

enum halo_role halo_client_role(const struct halo_client *client)
{
    return client->role;
}

bool halo_client_wants_more(const struct halo_client *client)
{
    return client->call.more;
}

void halo_client_continue(struct halo_client *client, json_t *parameters)
{
    json_t *message = json_object();
    int code = json_object_set_new(message, "parameters", parameters);
    code |= json_object_set_new(message, "continues", json_true());
    if (code) {
        json_decref(message);
        message = NULL;
    }
    if (client->call.oneway) {
        json_decref(message);
    } else if (client_send(client, message, -1)) {
        halo_client_cut(client, "out of memory");
        return;
    }
    client_flush(client);
}

void halo_client_repeat(struct halo_client *client, void (*tick)(struct halo_client *client),
                        int interval_ms)
{
    client->tick = tick;
    uv_timer_start(&client->timer, on_timer, (uint64_t)interval_ms, (uint64_t)interval_ms);
    tick(client);
}

json_t *halo_client_parameters(const struct halo_client *client)
{
    return client->call.parameters;
}

const char *halo_parameter_text(const json_t *parameters, const char *field)
{
    return json_string_value(json_object_get(parameters, field));
}

void halo_client_subscribe(struct halo_client *client)
{
    client->subscribed = true;
    client->lost = 0;
    /* Tells the client that from now on it misses no event. */
    halo_client_continue(client, json_object());
}

static json_t *take_waiting(struct halo_client *client)
{
    json_t *event = client->waiting[client->waiting_first];
    client->waiting_first = (client->waiting_first + 1) % HALO_VARLINK_EVENTS;
    client->waiting_count--;
    return event;
}

/* Sends older events first, then how many were dropped after them. */
static void client_drained(struct halo_client *client)
{
    while (client->subscribed && !client->cut && !client->out) {
        json_t *event = NULL;
        json_int_t lost = 0;
        if (client->waiting_count > 0) {
            event = take_waiting(client);
        } else if (client->lost > 0) {
            lost = client->lost;
            client->lost = 0;
        } else {
            return;
        }
        halo_client_continue(client, event ? json_pack("{s:o}", HALO_FIELD_EVENT, event)
                                           : json_pack("{s:I}", HALO_FIELD_LOST, lost));
    }
}

static void notify(struct halo_client *client, json_t *event)
{
    if (client->tick && !client->cut && !client->out)
        client->tick(client); /* report the change at once */
    if (client->cut || !client->subscribed)
        return;
    if (client->lost > 0 || client->waiting_count == HALO_VARLINK_EVENTS) {
        /* until all queued events are sent, so that all dropped ones are in one place */
        client->lost++;
    } else {
        const int last = (client->waiting_first + client->waiting_count) % HALO_VARLINK_EVENTS;
        client->waiting[last] = json_incref(event);
        client->waiting_count++;
    }
    client_drained(client);
}

void halo_clients_notify(struct halo_clients *clients, json_t *event)
{
    struct halo_client *next;
    for (struct halo_client *client = clients->first; client; client = next) {
        next = client->next;
        notify(client, event);
    }
    if (clients->watch)
        clients->watch(clients->watch_arg, event);
}

struct halo_pending *halo_client_wait(struct halo_client *client)
{
    struct halo_pending *pending = calloc(1, sizeof *pending);
    if (!pending) {
        halo_client_refuse(client, HALO_ERROR_FAILED, "out of memory", NULL, NULL);
        return NULL;
    }
    pending->client = client;
    client->pending = pending;
    return pending;
}

struct halo_client *halo_pending_end(struct halo_pending *pending)
{
    struct halo_client *client = pending->client;
    if (client)
        client->pending = NULL;
    free(pending);
    return client;
}

/* Sends all subscribers an event that names the caller and its change, before the change, because
 * that may cause further events. */
static void report_change(struct halo_client *client)
{
    const json_t *name = json_object_get(client->call.parameters, HALO_FIELD_NAME);
    const char *method = client->call.method->name;
    json_t *event = client->reply
                        ? json_pack("{s:f, s:s, s:s, s:s}", "time", halo_unix_time(), "event",
                                    "asked", "method", method, "user", client->user)
                        : json_pack("{s:f, s:s, s:s, s:i, s:i}", "time", halo_unix_time(), "event",
                                    "asked", "method", method, "uid", (int)client->peer.uid, "pid",
                                    (int)client->peer.pid);
    if (event && name)
        json_object_set(event, "stream", (json_t *)name);
    if (client->reply)
        halo_log(HALO_LOG_INFO, "http: %s calls %s %s", client->user, method,
                 name ? json_string_value(name) : "");
    else
        halo_log(HALO_LOG_DEBUG, "control: client %d (user %d) calls %s %s", (int)client->peer.pid,
                 (int)client->peer.uid, method, name ? json_string_value(name) : "");
    if (event)
        halo_clients_notify(client->clients, event);
    json_decref(event);
}

static bool is_permitted(struct halo_client *client)
{
    const enum halo_role needed = client->call.method->role;
    char what[160];
    if (client->role >= needed)
        return true;
    snprintf(what, sizeof what, "%s needs the role '%s', and this client has '%s'",
             client->call.method->name, halo_role_name(needed), halo_role_name(client->role));
    if (client->reply)
        halo_log(HALO_LOG_INFO, "http: a call by %s was refused: %s", client->user, what);
    halo_client_refuse(client, HALO_ERROR_PERMISSION, what, NULL, NULL);
    return false;
}

static void client_begin_call(struct halo_client *client, const char *text, size_t length)
{
    json_t *error = NULL;
    const int code = halo_call_parse(&client->call, client->clients->methods, text, length, &error);
    if (code == -ENOMEM && client->reply)
        client_send(client, NULL, -1);
    else if (code == -ENOMEM || (error && client_send(client, error, -1)))
        halo_client_cut(client, "out of memory");
    if (code)
        return;
    client->busy = true;
    if (!is_permitted(client))
        return;
    if (client->call.method->changes)
        report_change(client);
    client->call.method->run(client, client->call.parameters);
}
