/* SPDX-License-Identifier: BSD-2-Clause
 * New settings: only streams that differ from what is in force are touched. */
#include <errno.h>
#include <string.h>

#include "daemon/supervisor_private.h"

static void on_set(void *arg, json_t *result, const struct halo_error *err)
{
    const struct sv_stream *stream = arg; /* asks for nothing once it is gone */
    (void)result;
    if (err)
        halo_log(HALO_LOG_WARNING, "reload: stream %s: %s", stream->name, err->text);
}

static const struct halo_stream_settings *find(const struct halo_daemon_settings *settings,
                                               const char *name)
{
    for (int i = 0; i < settings->streams; i++)
        if (!strcmp(settings->stream[i].name, name))
            return &settings->stream[i];
    return NULL;
}

static int change(struct sv_stream *stream, const struct halo_stream_settings *wanted,
                  json_t *result, struct halo_error *err)
{
    const struct halo_stream_settings *now = stream->coming ? stream->coming : &stream->settings;
    const enum halo_change what =
        stream->removed ? HALO_CHANGE_REST : halo_stream_settings_compare(now, wanted);
    /* Others that are asked for and not in force yet are not what the file says. */
    const bool sets = !stream->coming && sv_request_sets(stream);
    if (what == HALO_CHANGE_NONE && !sets)
        return 0;
    const bool only_filters = what != HALO_CHANGE_REST && !stream->coming;
    json_array_append_new(json_object_get(result, only_filters ? "set" : "changed"),
                          json_string(stream->name));
    if (only_filters)
        return sv_request_set(stream, wanted->filters, wanted, on_set, stream, err);
    struct halo_stream_settings *copy = sv_settings_copy(wanted, err);
    if (!copy)
        return -ENOMEM;
    sv_stream_replace(stream, copy);
    return 0;
}

static struct sv_stream *any_of_name(struct halo_supervisor *sv, const char *name)
{
    struct sv_stream *stream = sv->streams;
    while (stream && strcmp(stream->name, name) != 0)
        stream = stream->next;
    return stream;
}

static int add(struct halo_supervisor *sv, const struct halo_stream_settings *wanted,
               json_t *result, struct halo_error *err)
{
    const int ret = sv_stream_create(sv, wanted, err);
    if (ret < 0)
        return ret;
    json_array_append_new(json_object_get(result, "added"), json_string(wanted->name));
    sv_event(sv, "added", wanted->name, NULL, NULL);
    sv_stream_step(any_of_name(sv, wanted->name));
    return 0;
}

/* First what goes, so that its sockets and devices are free for what comes. */
static void remove_old(struct halo_supervisor *sv, const struct halo_daemon_settings *settings,
                       json_t *result)
{
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        if (s->removed || find(settings, s->name))
            continue;
        json_array_append_new(json_object_get(result, "removed"), json_string(s->name));
        halo_log(HALO_LOG_INFO, "stream %s: removed", s->name);
        sv_event(sv, "removed", s->name, NULL, NULL);
        sv_stream_remove(s);
    }
}

int halo_supervisor_reload(struct halo_supervisor *sv, struct halo_daemon_settings *settings,
                           json_t **ret_result, struct halo_error *err)
{
    json_t *result = json_pack("{s:[], s:[], s:[], s:[]}", "added", "removed", "changed", "set");
    if (!result)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (sv->stopping) {
        json_decref(result);
        return halo_fail(err, -ESHUTDOWN, "halod is stopping");
    }
    remove_old(sv, settings, result);
    struct halo_error first = {0};
    for (int i = 0; i < settings->streams; i++) {
        const struct halo_stream_settings *wanted = &settings->stream[i];
        struct sv_stream *stream = any_of_name(sv, wanted->name);
        struct halo_error *of_one = first.code ? NULL : &first;
        (void)(stream ? change(stream, wanted, result, of_one) : add(sv, wanted, result, of_one));
    }
    if (first.code)
        halo_log(HALO_LOG_ERROR, "reload: %s", first.text);
    halo_daemon_settings_destroy(sv->settings);
    sv->settings = settings;
    sv_event(sv, "reload", NULL, NULL, NULL);
    *ret_result = result;
    return 0;
}
