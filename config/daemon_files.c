/* SPDX-License-Identifier: BSD-2-Clause
 * The daemon's files: the one whose name is given, and conf.d in the same folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/base/log.h"
#include "config/base/read_file.h"
#include "config/daemon_tables.h"
#include "config/folders.h"
#include "config/load.h"
#include "config/tree.h"

/* ---- settings from trees ---- */

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

/* Converts a tree to settings. Returns 0 (the caller owns *ret), -EINVAL (the reasons have been
 * appended to errors) or -ENOMEM. The caller keeps the tree, in which nodes with errors are
 * marked. */
static int daemon_settings_make(struct halo_daemon_settings **ret, struct halo_node *root,
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

/* ---- files ---- */

enum { MAX_FILES = 256 }; /* of conf.d */

struct files {
    struct halo_settings_file source[MAX_FILES + 2];
    int count;
    struct halo_node *root; /* merged */
    struct halo_error_list *errors;
    bool bad; /* an error that makes further checks unreliable */
};

/* Merges root, which it then owns. */
static int add_tree(struct files *files, struct halo_node *root)
{
    if (!root)
        return 0;
    if (root->kind != HALO_NODE_MAP) {
        if (!halo_node_is_null(root)) {
            halo_error_list_add(files->errors, root->source, root->line, "",
                                "must be a map with keys such as 'streams'");
            files->bad = true;
        }
        halo_node_destroy(root);
        return 0;
    }
    if (!files->root) {
        files->root = root;
        return 0;
    }
    const int code = halo_node_merge(files->root, root);
    halo_node_destroy(root);
    return code;
}

/* Removes what the overlay says about streams that are no longer in the files. */
static void drop_orphans(const struct halo_node *root, struct halo_node *overlay)
{
    struct halo_node *streams = halo_node_get(overlay, "streams");
    for (int i = streams ? streams->count : 0; i-- > 0;) {
        if (halo_node_get(halo_node_get(root, "streams"), streams->child[i]->key) ||
            halo_node_get(streams->child[i], "input"))
            continue;
        halo_log(HALO_LOG_WARNING,
                 "%s: stream %s is no longer in the settings file, so the settings kept for it "
                 "(haloctl keep) are ignored",
                 overlay->source->name, streams->child[i]->key);
        halo_node_destroy(streams->child[i]);
        memmove(&streams->child[i], &streams->child[i + 1],
                (size_t)(--streams->count - i) * sizeof streams->child[0]);
    }
}

/* Without the overlay, streams could hide less than was kept for them, so one that is empty after a
 * crash, or damaged, is not taken for none. */
static void check_overlay(struct files *files, const struct halo_settings_file *source,
                          const struct halo_node *root, int code)
{
    const struct halo_node *streams =
        root && root->kind == HALO_NODE_MAP ? halo_node_get(root, "streams") : NULL;
    if (!code && streams && streams->kind == HALO_NODE_MAP)
        return;
    halo_error_list_add(files->errors, source, 0, "",
                        "is %s. It holds settings that were kept with haloctl keep and may hide "
                        "more than the settings file does: restore it from a backup or, if the "
                        "settings file hides enough, remove it and run haloctl keep again",
                        root ? "damaged" : "empty or damaged");
    files->bad = true;
}

static int add_text(struct files *files, const char *text, size_t length,
                    const struct halo_settings_file *source)
{
    struct halo_node *root = NULL;
    const int code = halo_tree_parse(&root, text, length, source, files->errors);
    if (code == -ENOMEM)
        return code;
    files->bad |= code && !root;
    if (source->overlay)
        check_overlay(files, source, root, code);
    if (root && source->overlay && root->kind == HALO_NODE_MAP)
        drop_orphans(files->root, root);
    return add_tree(files, root);
}

/* Adds a file that has been read: code is the result, 0 or -errno, and the text its content. Takes
 * ownership of the text and of the source's name. Returns 0, or -errno with the reason in the
 * list. */
static int add_read(struct files *files, struct halo_settings_file source, int code, char *text,
                    size_t length)
{
    struct halo_settings_file *kept = &files->source[files->count];
    source.number = files->count++;
    *kept = source;
    if (code == -ENOMEM)
        return code;
    if (code) {
        halo_error_list_add(files->errors, kept, 0, "", "cannot be read: %s", strerror(-code));
        files->bad = true;
        return code;
    }
    code = add_text(files, text, length, kept);
    free(text);
    return code;
}

/* Reads the file at path, which it then owns. */
static int add_file(struct files *files, char *path)
{
    char *text = NULL;
    size_t length = 0;
    const int code = halo_read_file(path, 0, HALO_TREE_MAX_BYTES, &text, &length);
    return add_read(files, (struct halo_settings_file){.name = path}, code, text, length);
}

static int is_wanted(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && !strcmp(dot, ".yaml");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds the files in folder. Returns 0 if the folder does not exist. */
static int add_folder(struct files *files, const char *folder)
{
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, is_wanted, by_bytes);
    int code = count < 0 && errno != ENOENT && errno != ENOTDIR ? -errno : 0;
    const struct halo_settings_file source = {folder, files->count};
    if (code && code != -ENOMEM)
        halo_error_list_add(files->errors, &source, 0, "", "cannot be read: %s", strerror(-code));
    else if (count > MAX_FILES)
        halo_error_list_add(files->errors, &source, 0, "",
                            "contains %d files, but at most %d are allowed", count, MAX_FILES);
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (!code && count <= MAX_FILES) {
            if (asprintf(&path, "%s/%s", folder, entry[i]->d_name) < 0)
                code = -ENOMEM;
            else if (add_file(files, path) == -ENOMEM)
                code = -ENOMEM;
        }
        free(entry[i]);
    }
    free(entry);
    return code;
}

static int add_beside(struct files *files, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    if (asprintf(&folder, "%.*sconf.d", slash ? (int)(slash - path) + 1 : 0, path) < 0)
        return -ENOMEM;
    const int code = add_folder(files, folder);
    free(folder);
    return code;
}

/* Reads the overlay of the state folder. Returns -ENOENT if there is none. Users who may not read
 * it, and can only check the files, are told. */
static int read_overlay(const struct files *files, char **ret_path, char **ret, size_t *ret_length)
{
    const struct halo_node *state = halo_node_get(files->root, "state");
    char *path = halo_state_path(state && state->kind == HALO_NODE_SCALAR ? state->text : NULL,
                                 "overlay.yaml");
    int code = path ? halo_read_file(path, 0, HALO_TREE_MAX_BYTES, ret, ret_length) : -ENOENT;
    /* The service has the folder in its environment; others only check its files. */
    const bool checks = code == -EACCES && !getenv("STATE_DIRECTORY");
    if (checks)
        halo_log(HALO_LOG_WARNING,
                 "%s cannot be read and is ignored: the settings that it holds for streams are not "
                 "checked",
                 path);
    if (checks)
        code = -ENOENT;
    if (code == -ENOENT)
        free(path);
    else
        *ret_path = path;
    return code;
}

static int add_overlay(struct files *files)
{
    char *path = NULL, *text = NULL;
    size_t length = 0;
    const int code = read_overlay(files, &path, &text, &length);
    return code == -ENOENT
               ? 0
               : add_read(files, (struct halo_settings_file){.name = path, .overlay = true}, code,
                          text, length);
}

/* Makes settings from the files; code is the result of reading them. */
static int finish(struct files *files, int code, struct halo_daemon_settings **ret,
                  const struct halo_daemon_checks *checks, struct halo_error_list **ret_errors)
{
    if (!code && !files->root && !files->bad)
        files->root = halo_node_create(HALO_NODE_MAP, &files->source[0], 1);
    if (!code && files->root && !files->bad)
        code = daemon_settings_make(ret, files->root, checks, files->errors);
    else if (!code)
        code = files->bad ? -EINVAL : -ENOMEM;
    if (code && code != -ENOMEM) {
        halo_error_list_sort(files->errors);
        *ret_errors = files->errors;
    } else {
        halo_error_list_destroy(files->errors);
    }
    halo_node_destroy(files->root);
    return code;
}

int halo_daemon_load_text(struct halo_daemon_settings **ret, const char *text, size_t length,
                          const char *name, const struct halo_daemon_checks *checks,
                          struct halo_error_list **ret_errors)
{
    struct files *files = calloc(1, sizeof *files);
    if (!files)
        return -ENOMEM;
    files->source[0] = (struct halo_settings_file){name, 0};
    files->errors = halo_error_list_create();
    int code = files->errors ? add_text(files, text, length, &files->source[0]) : -ENOMEM;
    code = finish(files, code, ret, checks, ret_errors);
    free(files);
    return code;
}

int halo_daemon_load(struct halo_daemon_settings **ret, const char *path,
                     const struct halo_daemon_checks *checks, struct halo_error_list **ret_errors)
{
    struct files *files = calloc(1, sizeof *files);
    if (!files)
        return -ENOMEM;
    files->errors = halo_error_list_create();
    char *copy = strdup(path);
    int code = files->errors && copy ? add_file(files, copy) : -ENOMEM;
    if (!copy || !files->errors)
        free(copy);
    if (!code)
        code = add_beside(files, path);
    if (!code)
        code = add_overlay(files);
    code = finish(files, code, ret, checks, ret_errors);
    for (int i = 0; i < files->count; i++)
        free((char *)files->source[i].name);
    free(files);
    return code;
}
