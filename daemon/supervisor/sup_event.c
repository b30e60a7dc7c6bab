/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_event.h"

#include <string.h>

#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/supervisor.h"
#include "kernels/clock.h"

static void set_text(json_t *to, const char *key, const char *text)
{
    json_object_set_new(to, key, json_string(text ? text : ""));
}

void sv_event(struct halo_supervisor *sv, const char *event, const char *name, const char *state,
              const char *why)
{
    if (!sv->listeners)
        return;
    json_t *to = json_object();
    json_object_set_new(to, "time", json_real(halo_unix_time()));
    set_text(to, "event", event);
    set_text(to, strcmp(event, "engine") ? "stream" : "engine", name);
    set_text(to, "state", state);
    set_text(to, "why", why);
    for (struct halo_listener *l = sv->listeners, *next; l; l = next) {
        next = l->next;
        l->event(l, to);
    }
    json_decref(to);
}

void halo_supervisor_listen(struct halo_supervisor *sv, struct halo_listener *listener)
{
    listener->next = sv->listeners;
    sv->listeners = listener;
}

void halo_supervisor_unlisten(struct halo_supervisor *sv, struct halo_listener *listener)
{
    for (struct halo_listener **at = &sv->listeners; *at; at = &(*at)->next)
        if (*at == listener) {
            *at = listener->next;
            return;
        }
}
