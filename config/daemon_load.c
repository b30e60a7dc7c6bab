/* SPDX-License-Identifier: BSD-2-Clause
 * Makes the daemon's settings from its trees. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/daemon_load.h"
#include "config/daemon_tables.h"
#include "config/load.h"

/* If path is NULL, nothing is claimed. */
static void claim_socket(struct halo_loader *l, const struct halo_node *map, const char *key,
                         const char *path)
{
    const struct halo_node *node = halo_node_get(map, key);
    if (!node || !path)
        return;
    const size_t mark = halo_loader_enter(l, key, 0);
    halo_loader_claim_socket(l, node, path);
    halo_loader_leave(l, mark);
}

static void load_control(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {halo_control_options, {{NULL}}};
    struct halo_daemon_settings *s = settings;
    halo_loader_section(l, &section, &s->control, node, NULL);
    claim_socket(l, node, "path", s->control.path);
    claim_socket(l, node, "view", s->control.view);
}

/* Says which of the proxies is none. */
static void check_proxies(struct halo_loader *l, const struct halo_node *node, const char *list)
{
    char one[64];
    for (const char *at = list; at && *(at += strspn(at, ", "));) {
        const size_t length = strcspn(at, ", ");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (!halo_address_is_machine(one))
            halo_loader_say_of(l, node, "proxy",
                               "%s: must be the IP address from which the proxy connects to halod, "
                               "such as 192.0.2.7",
                               one);
        at += length;
    }
}

/* Other machines see streams only after a login, and no password crosses a network in the clear,
 * whether or not there is a page. */
static void check_reach(struct halo_loader *l, const struct halo_node *node,
                        const struct halo_http_settings *http)
{
    struct sockaddr_storage address;
    if (halo_address_parse(http->listen, &address) == 0)
        halo_loader_say_of(l, node, "listen",
                           "must begin with an IP address of this machine or with localhost, as in "
                           "127.0.0.1:8480 (other names are not looked up)");
    else if (!halo_address_is_loopback(&address) && !http->certificate && !http->proxy &&
             !http->metrics)
        halo_loader_say_of(l, node, "listen",
                           "other machines could see all streams, and passwords would cross the "
                           "network unencrypted: listen on 127.0.0.1, set certificate and key, or "
                           "name the proxy that adds TLS "
                           "(proxy); for /metrics and /healthz alone, set 'metrics: network'");
}

static void load_http(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {halo_http_options, {{NULL}}};
    struct halo_daemon_settings *s = settings;
    halo_loader_section(l, &section, &s->http, node, NULL);
    const char *listen = s->http.listen;
    const bool is_path = listen && !strncmp(listen, "unix:", 5);
    claim_socket(l, node, "listen", is_path ? listen + 5 : NULL);
    if (!s->http.certificate != !s->http.key)
        halo_loader_say_of(l, node, s->http.key ? "key" : "certificate",
                           "certificate and key belong together: set both");
    if (s->http.certificate && is_path)
        halo_loader_say_of(l, node, "certificate", "a Unix socket has no TLS: remove this key");
    check_proxies(l, node, s->http.proxy);
    if (listen && !is_path)
        check_reach(l, node, &s->http);
}

static void load_mqtt(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {halo_mqtt_options, {{NULL}}};
    struct halo_mqtt_settings *mqtt = &((struct halo_daemon_settings *)settings)->mqtt;
    if (!halo_mqtt_is_built()) {
        halo_loader_say(l, node, "this halod was built without MQTT: rebuild it with libmosquitto");
        return;
    }
    const int before = halo_error_list_count(l->errors);
    halo_loader_section(l, &section, mqtt, node, NULL);
    if (halo_error_list_count(l->errors) > before)
        return;
    if (!mqtt->server)
        halo_loader_say_of(l, node, "server", "is missing: HOST:PORT of the broker");
    if (mqtt->password && !mqtt->user)
        halo_loader_say_of(l, node, "user", "is missing: the password needs a user");
}

static void load_log(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {halo_log_options, {{NULL}}};
    struct halo_daemon_settings *s = settings;
    halo_loader_section(l, &section, &s->log, node, NULL);
}

static const struct halo_section root_section = {
    halo_daemon_options,
    {
        {"control", load_control, NULL},
        {"http", load_http, NULL},
        {"mqtt", load_mqtt, NULL},
        {"log", load_log, NULL},
        {"detectors", NULL, NULL},
        {"defaults", NULL, NULL},
        {"streams", NULL, NULL},
        {NULL},
    },
};

/* Reports the errors of `defaults:` once; nodes with errors are marked as bad, and streams skip
 * them. */
static void try_defaults(struct halo_loader *l, struct halo_node *defaults)
{
    struct halo_stream_settings *stream = calloc(1, sizeof *stream);
    if (!stream) {
        l->no_memory = true;
        return;
    }
    const size_t mark = halo_loader_enter(l, "defaults", 0);
    l->scratch = true;
    for (int i = 0; defaults->kind == HALO_NODE_MAP && i < defaults->count; i++) {
        struct halo_node alone = *defaults;
        alone.child = &defaults->child[i];
        alone.count = 1;
        const int before = halo_error_list_count(l->errors);
        halo_load_stream(l, stream, &alone, NULL);
        if (halo_error_list_count(l->errors) > before)
            defaults->child[i]->bad = true;
        halo_stream_settings_finish(stream);
    }
    if (defaults->kind != HALO_NODE_MAP)
        halo_loader_is(l, defaults, HALO_NODE_MAP);
    l->scratch = false;
    halo_loader_leave(l, mark);
    free(stream);
}

/* Reports the errors of the file's `detectors:` once, and has every stream load them. */
static void try_detectors(struct halo_loader *l, struct halo_node *detectors)
{
    struct halo_stream_settings *stream = calloc(1, sizeof *stream);
    if (!stream) {
        l->no_memory = true;
        return;
    }
    for (int find = 0; find < HALO_FINDS; find++)
        halo_options_init(halo_detector_options[find], &stream->detector[find]);
    const int before = halo_error_list_count(l->errors);
    const size_t mark = halo_loader_enter(l, "detectors", 0);
    halo_load_detectors(l, stream, detectors);
    halo_loader_leave(l, mark);
    if (halo_error_list_count(l->errors) == before)
        l->detectors = detectors;
    halo_stream_settings_finish(stream);
    free(stream);
}

static void load_streams(struct halo_loader *l, struct halo_daemon_settings *s,
                         struct halo_node *streams, struct halo_node *defaults)
{
    const size_t mark = halo_loader_enter(l, "streams", 0);
    if (halo_loader_is(l, streams, HALO_NODE_MAP)) {
        if (streams->count > HALO_MAX_STREAMS)
            halo_loader_say(l, streams, "%d streams are defined, but at most %d are allowed",
                            streams->count, HALO_MAX_STREAMS);
        s->stream = calloc((size_t)streams->count + 1, sizeof *s->stream);
        l->no_memory |= !s->stream;
        for (int i = 0; s->stream && i < streams->count && i < HALO_MAX_STREAMS; i++) {
            struct halo_node *node = streams->child[i];
            const size_t inner = halo_loader_enter(l, node->key, 0);
            struct halo_stream_settings *stream = &s->stream[s->streams++];
            stream->name = strdup(node->key);
            l->no_memory |= !stream->name;
            for (int k = 0; k < node->count; k++)
                stream->kept |= node->child[k]->source->overlay;
            halo_load_stream(l, stream, node, defaults);
            halo_loader_leave(l, inner);
        }
    }
    halo_loader_leave(l, mark);
}

/* The version of a file defines how the rest of it has to be read. */
static bool check_version(struct halo_loader *l, struct halo_node *root)
{
    const struct halo_node *version = halo_node_get(root, "version");
    if (!version || version->kind != HALO_NODE_SCALAR || !strcmp(version->text, "1"))
        return true;
    halo_loader_say_of(l, root, "version", "%.20s: this halod supports only version 1",
                       halo_node_shown(version));
    return false;
}

static void load_root(struct halo_loader *l, struct halo_daemon_settings *s, struct halo_node *root)
{
    if (!check_version(l, root) || !halo_loader_is(l, root, HALO_NODE_MAP))
        return;
    halo_loader_section(l, &root_section, s, root, NULL);
    struct halo_node *streams = halo_node_get(root, "streams");
    struct halo_node *defaults = halo_node_get(root, "defaults");
    struct halo_node *detectors = halo_node_get(root, "detectors");
    if (defaults)
        try_defaults(l, defaults);
    if (detectors)
        try_detectors(l, detectors);
    if (streams)
        load_streams(l, s, streams, defaults && defaults->kind == HALO_NODE_MAP ? defaults : NULL);
    else
        halo_loader_say(l, root, "'streams' is missing: it must be a map from names to streams");
    halo_loader_compare(l);
}

int halo_daemon_settings_make(struct halo_daemon_settings **ret, struct halo_node *root,
                              const struct halo_daemon_checks *checks,
                              struct halo_error_list *errors)
{
    struct halo_loader l = {.errors = errors, .checks = checks};
    struct halo_daemon_settings *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    halo_options_init(halo_daemon_options, s);
    halo_options_init(halo_log_options, &s->log);
    load_root(&l, s, root);
    const int code = halo_loader_finish(&l);
    if (code)
        halo_daemon_settings_destroy(s);
    else
        *ret = s;
    return code;
}
