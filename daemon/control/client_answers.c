/* SPDX-License-Identifier: BSD-2-Clause
 * Calls of a client and their answers: at once, later, or repeatedly. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/log.h"
#include "daemon/control/client_state.h"
#include "daemon/control/varlink.h"
#include "kernels/clock.h"

void halo_client_end_call(struct halo_client *client)
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
        halo_client_work(client);
    else if (!client->out)
        client->tick(client);
}

/* Ends the present call with this message and takes ownership of it. The supervisor may be in the
 * middle of an operation that led to this answer, so the next call begins afterwards. */
static void end_with(struct halo_client *client, json_t *message, int fd)
{
    const bool oneway = client->call.oneway;
    halo_client_end_call(client);
    if (oneway)
        json_decref(message);
    else if (halo_client_send(client, message, fd))
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
    } else if (halo_client_send(client, message, -1)) {
        halo_client_cut(client, "out of memory");
        return;
    }
    halo_client_flush(client);
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
void halo_client_drained(struct halo_client *client)
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
    halo_client_drained(client);
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

void halo_client_begin_call(struct halo_client *client, const char *text, size_t length)
{
    json_t *error = NULL;
    const int code = halo_call_parse(&client->call, text, length, &error);
    if (code == -ENOMEM && client->reply)
        halo_client_send(client, NULL, -1);
    else if (code == -ENOMEM || (error && halo_client_send(client, error, -1)))
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
