/* SPDX-License-Identifier: BSD-2-Clause
 * The daemon's files: the one whose name is given, and conf.d in the same folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/read_file.h"
#include "config/daemon_load.h"
#include "config/state.h"

enum { MAX_FILES = 256 }; /* of conf.d */

struct files {
    struct halo_source source[MAX_FILES + 2];
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

static bool is_orphan(const struct halo_node *streams, const struct halo_node *node)
{
    return !halo_node_get(streams, node->key) && !halo_node_get(node, "input");
}

/* Removes what the overlay says about streams that are no longer in the files. */
static void drop_orphans(const struct halo_node *root, struct halo_node *overlay)
{
    struct halo_node *streams = halo_node_get(overlay, "streams");
    for (int i = streams ? streams->count : 0; i-- > 0;) {
        if (!is_orphan(halo_node_get(root, "streams"), streams->child[i]))
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
static void check_overlay(struct files *files, const struct halo_source *source,
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
                    const struct halo_source *source)
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
static int add_read(struct files *files, struct halo_source source, int code, char *text,
                    size_t length)
{
    struct halo_source *kept = &files->source[files->count];
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
    return add_read(files, (struct halo_source){.name = path}, code, text, length);
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
    const struct halo_source source = {folder, files->count};
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
    return code == -ENOENT ? 0
                           : add_read(files, (struct halo_source){.name = path, .overlay = true},
                                      code, text, length);
}

/* Makes settings from the files; code is the result of reading them. */
static int finish(struct files *files, int code, struct halo_daemon_settings **ret,
                  const struct halo_daemon_checks *checks, struct halo_error_list **ret_errors)
{
    if (!code && !files->root && !files->bad)
        files->root = halo_node_create(HALO_NODE_MAP, &files->source[0], 1);
    if (!code && files->root && !files->bad)
        code = halo_daemon_settings_make(ret, files->root, checks, files->errors);
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
    files->source[0] = (struct halo_source){name, 0};
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
