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

#include "config/log.h"
#include "daemon/control/client_state.h"
#include "daemon/control/shown.h"
#include "daemon/control/varlink.h"
#include "daemon/link/send_fds.h"

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

static void unlink_client(struct halo_client *client)
{
    struct halo_client **at = &client->clients->first;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    client->clients->count--;
}

void halo_client_cut(struct halo_client *client, const char *why)
{
    if (client->cut)
        return;
    client->cut = true;
    if (why)
        halo_log(HALO_LOG_WARNING, "control: client %d (user %d) was disconnected: %s",
                 (int)client->peer.pid, (int)client->peer.uid, why);
    if (client->fd >= 0)
        unlink_client(client);
    halo_client_end_call(client);
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

void halo_client_flush(struct halo_client *client)
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
        halo_client_poll(client);
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

int halo_client_send(struct halo_client *client, json_t *message, int fd)
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
        halo_client_cut(oldest,
                        "it had been silent for the longest time, and its place was needed for "
                        "another client");
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
        halo_client_begin_call(client, begin, (size_t)(end - begin));
    }
    return used;
}

void halo_client_work(struct halo_client *client)
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
        halo_client_flush(client);
    if (!client->cut && client->eof && !client->more &&
        (client->busy ? client->call.more : !client->out))
        halo_client_cut(client, NULL); /* its earlier calls have been answered */
}

static void on_rest(uv_idle_t *rest)
{
    halo_client_work(rest->data);
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
        halo_client_work(client);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct halo_client *client = poll->data;
    if (status < 0) {
        halo_client_cut(client, NULL);
        return;
    }
    if (events & UV_WRITABLE) {
        halo_client_flush(client);
        if (!client->cut)
            halo_client_drained(client);
    }
    if (!client->cut && (events & UV_READABLE) && !client->eof)
        read_some(client);
    if (!client->cut && client->eof && !client->busy && !client->more && !client->out)
        halo_client_cut(client, NULL);
}

void halo_client_poll(struct halo_client *client)
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
    halo_client_poll(client);
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
    halo_client_begin_call(client, text, strlen(text));
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
