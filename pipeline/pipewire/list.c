/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipewire/formats.h"
#include "pipeline/pipewire/session.h"

enum { MAX_NODES = 64 };

/* A node of which the server is asked for more than it announces. */
struct asked {
    struct halo_pipewire_listed listed;
    struct pw_proxy *proxy;
    struct spa_hook listener;
};

struct listing {
    struct halo_pipewire_session session;
    struct pw_registry *registry;
    struct spa_hook listener;
    struct asked *asked[MAX_NODES];
    int count;
    bool no_memory;
};

static void copy(char ret[HALO_PIPEWIRE_TEXT], const struct spa_dict *props, const char *key)
{
    const char *text = spa_dict_lookup(props, key);
    snprintf(ret, HALO_PIPEWIRE_TEXT, "%s", text ? text : "");
    halo_sanitise(ret);
}

static void on_info(void *data, const struct pw_node_info *info)
{
    struct halo_pipewire_listed *to = &((struct asked *)data)->listed;
    if (!info->props)
        return;
    copy(to->name, info->props, PW_KEY_NODE_NAME);
    copy(to->label, info->props, PW_KEY_NODE_DESCRIPTION);
    copy(to->serial, info->props, PW_KEY_DEVICE_SERIAL);
    copy(to->role, info->props, PW_KEY_MEDIA_ROLE);
    copy(to->path, info->props, "api.v4l2.path");
    to->ours = spa_dict_lookup(info->props, HALO_PIPEWIRE_OURS);
}

static void on_param(void *data, int seq, uint32_t id, uint32_t index, uint32_t next,
                     const struct spa_pod *param)
{
    struct halo_pipewire_listed *to = &((struct asked *)data)->listed;
    struct halo_pipewire_mode_offer mode[16];
    (void)seq;
    (void)index;
    (void)next;
    const int count =
        id == SPA_PARAM_EnumFormat && param ? halo_pipewire_modes_read(param, mode, 16) : 0;
    for (int i = 0; i < count && to->modes < HALO_PIPEWIRE_MODES; i++)
        to->mode[to->modes++] = (struct halo_pipewire_listed_mode){
            mode[i].format->name, mode[i].width, mode[i].height, mode[i].rate};
}

static const struct pw_node_events node_events = {
    .version = PW_VERSION_NODE_EVENTS, .info = on_info, .param = on_param};

static void on_global(void *data, uint32_t id, uint32_t permissions, const char *type,
                      uint32_t version, const struct spa_dict *props)
{
    struct listing *l = data;
    const char *class = props ? spa_dict_lookup(props, PW_KEY_MEDIA_CLASS) : NULL;
    (void)permissions;
    (void)version;
    const bool screen = class && !strcmp(class, "Stream/Output/Video");
    if (strcmp(type, PW_TYPE_INTERFACE_Node) || !class || l->count == MAX_NODES ||
        (!screen && strcmp(class, "Video/Source")))
        return;
    struct asked *a = calloc(1, sizeof *a);
    l->no_memory |= !a;
    if (!a)
        return;
    a->listed.id = id;
    a->listed.screen = screen;
    a->proxy = pw_registry_bind(l->registry, id, PW_TYPE_INTERFACE_Node, PW_VERSION_NODE, 0);
    if (!a->proxy) {
        free(a);
        return;
    }
    l->asked[l->count++] = a;
    pw_node_add_listener((struct pw_node *)a->proxy, &a->listener, &node_events, a);
    pw_node_enum_params((struct pw_node *)a->proxy, 0, SPA_PARAM_EnumFormat, 0, UINT32_MAX, NULL);
}

static const struct pw_registry_events registry_events = {.version = PW_VERSION_REGISTRY_EVENTS,
                                                          .global = on_global};

/* The first answer lists the nodes, the second one says what they are. */
static int ask(struct listing *l, struct halo_error *err)
{
    int code = halo_pipewire_session_open(&l->session, err);
    if (code < 0)
        return code;
    l->registry = pw_core_get_registry(l->session.core, PW_VERSION_REGISTRY, 0);
    if (!l->registry)
        return halo_fail(err, -errno, "PipeWire: %s", strerror(errno));
    pw_registry_add_listener(l->registry, &l->listener, &registry_events, l);
    for (int i = 0; i < 2 && code >= 0; i++)
        code = halo_pipewire_session_sync(&l->session, err);
    return code >= 0 && l->no_memory ? halo_fail(err, -ENOMEM, "out of memory") : code;
}

static void finish(struct listing *l)
{
    for (int i = 0; i < l->count; i++) {
        spa_hook_remove(&l->asked[i]->listener);
        l->session.pw->proxy_destroy(l->asked[i]->proxy);
        free(l->asked[i]);
    }
    if (l->registry) {
        spa_hook_remove(&l->listener);
        l->session.pw->proxy_destroy((struct pw_proxy *)l->registry);
    }
    halo_pipewire_session_finish(&l->session);
}

int halo_pipewire_list(struct halo_pipewire_listed **ret, struct halo_error *err)
{
    struct listing l = {.count = 0};
    int code = ask(&l, err);
    struct halo_pipewire_listed *list =
        code >= 0 ? calloc((size_t)l.count + 1, sizeof *list) : NULL;
    if (code >= 0 && !list)
        code = halo_fail(err, -ENOMEM, "out of memory");
    for (int i = 0; i < l.count && list; i++)
        list[i] = l.asked[i]->listed;
    const int count = l.count;
    finish(&l);
    if (code < 0)
        return code;
    *ret = list;
    return count;
}
