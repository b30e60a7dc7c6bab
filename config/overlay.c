/* SPDX-License-Identifier: BSD-2-Clause
 * The overlay's file, which halod writes as JSON. */
#include "config/overlay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/read_file.h"
#include "config/base/write_file.h"
#include "config/tree.h"

static int parse(json_t **ret, const char *path, const char *text, struct halo_error *err)
{
    json_error_t at;
    *ret = text ? json_loads(text, JSON_REJECT_DUPLICATES, &at) : json_pack("{s:{}}", "streams");
    if (json_is_object(json_object_get(*ret, "streams")))
        return 0;
    json_decref(*ret);
    return halo_fail(
        err, -EBADMSG,
        "%s is not JSON with the key \"streams\", because it was damaged or edited, so halod does "
        "not write to it: correct it, restore it from a backup, or remove it",
        path);
}

static int change(json_t *root, const char *stream, const json_t *settings, struct halo_error *err)
{
    json_t *streams = json_object_get(root, "streams");
    json_t *one = json_object_get(streams, stream);
    if (!settings && !one)
        return halo_fail(err, -ENOENT, "nothing is kept for the stream '%s'", stream);
    if (!settings)
        return json_object_del(streams, stream);
    if (!one) {
        one = json_object();
        json_object_set_new(streams, stream, one);
    }
    return json_object_update(one, (json_t *)settings) ? -ENOMEM : 0;
}

static int write_root(const char *path, const json_t *root, struct halo_error *err)
{
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
    const int code = text ? halo_write_file(path, 0600, text, strlen(text), err)
                          : halo_fail(err, -ENOMEM, "out of memory");
    free(text);
    return code;
}

int halo_overlay_change(const char *path, const char *stream, const json_t *settings,
                        char **ret_before, struct halo_error *err)
{
    char *before = NULL;
    size_t length;
    json_t *root;
    int code = halo_read_file(path, 0, HALO_TREE_MAX_BYTES, &before, &length);
    if (code < 0 && code != -ENOENT)
        return halo_fail(err, code, "%s: %s", path, strerror(-code));
    code = parse(&root, path, before, err);
    if (code == 0) {
        code = change(root, stream, settings, err);
        if (code == 0)
            code = write_root(path, root, err);
        json_decref(root);
    }
    if (code == 0)
        *ret_before = before;
    else
        free(before);
    return code;
}

void halo_overlay_restore(const char *path, const char *before)
{
    struct halo_error err = {0};
    if (!before)
        unlink(path);
    else if (halo_write_file(path, 0600, before, strlen(before), &err) < 0)
        halo_log(HALO_LOG_ERROR, "%s", err.text);
}
