/* SPDX-License-Identifier: BSD-2-Clause
 * Applies new settings. Only streams that differ from the settings in force are touched, including
 * those whose mask images have changed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_list.h"
#include "daemon/supervisor/sup_masks.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/supervisor.h"

/* The answer to a reload, sent when the last change for which it waits is complete. */
struct reload {
    struct halo_supervisor *sv;
    json_t *result;
    int waits;
    halo_reply *reply;
    void *arg;
};

/* A pending change of one stream's filters. */
struct change {
    struct reload *reload;
    char name[68];
};

static void release(struct reload *reload)
{
    if (--reload->waits > 0)
        return;
    reload->reply(reload->arg, reload->result, NULL);
    json_decref(reload->result);
    free(reload);
}

static void refused(struct reload *reload, const char *name, const char *why)
{
    json_t *set = json_object_get(reload->result, "set");
    for (size_t i = json_array_size(set); i-- > 0;)
        if (!strcmp(json_string_value(json_array_get(set, i)), name))
            json_array_remove(set, i);
    halo_log(HALO_LOG_WARNING, "reload: stream %s keeps its filters: %s", name, why);
    sv_event(reload->sv, "refused", name, NULL, why);
    json_array_append_new(json_object_get(reload->result, "refused"),
                          json_sprintf("stream %s keeps its filters: %s", name, why));
}

static void on_set(void *arg, json_t *result, const struct halo_error *err)
{
    struct change *change = arg;
    (void)result;
    if (err && err->code == -ETIMEDOUT)
        halo_log(HALO_LOG_WARNING, "reload: stream %s: %s", change->name, err->text);
    else if (err)
        refused(change->reload, change->name, err->text);
    release(change->reload);
    free(change);
}

/* If the change is refused, the stream keeps the old filters, and the next reload tries again. */
static int change_filters(struct sv_stream *stream, const struct halo_stream_settings *wanted,
                          struct reload *reload, struct halo_error *err)
{
    struct change *change = calloc(1, sizeof *change);
    if (!change)
        return halo_fail(err, -ENOMEM, "out of memory");
    change->reload = reload;
    snprintf(change->name, sizeof change->name, "%s", stream->name);
    reload->waits++;
    struct halo_error why = {0};
    const struct sv_change to = {.base = wanted->filters, .file = wanted};
    const int code = sv_request_set(stream, &to, on_set, change, &why);
    if (code < 0)
        on_set(change, NULL, &why);
    return 0;
}

/* Whether the files of mask images have changed since an engine read them. */
static bool has_old_masks(const struct sv_stream *stream, const struct halo_stream_settings *wanted)
{
    if (stream->place.phase != SV_IN || stream->coming)
        return false;
    json_t *masks = sv_masks_of(wanted);
    const bool old = !json_equal(masks, stream->masks);
    json_decref(masks);
    return old;
}

/* The stream restarts with these settings, whose chains include the additions. */
static int replace(struct sv_stream *stream, const struct halo_stream_settings *with,
                   const struct halo_stream_settings *wanted, const struct sv_hides *hides,
                   struct halo_error *err)
{
    struct sv_hides own;
    struct halo_stream_settings *copy = sv_settings_copy(with, err);
    if (!copy)
        return -ENOMEM;
    if (sv_hides_copy(&own, hides) < 0) {
        sv_settings_free(copy);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    const int code = sv_request_rebase(stream, wanted);
    if (code < 0) {
        sv_hides_finish(&own);
        sv_settings_free(copy);
        return halo_fail(err, code, "out of memory");
    }
    own.revision = stream->hides.revision;
    sv_hides_finish(&stream->hides);
    stream->hides = own;
    sv_hides_store(stream);
    sv_stream_replace(stream, copy);
    return 0;
}

/* `with` are the wanted settings with whole chains instead of bases. */
static int change_to(struct sv_stream *stream, const struct halo_stream_settings *wanted,
                     const struct halo_stream_settings *with, const struct sv_hides *hides,
                     struct reload *reload, struct halo_error *err)
{
    const struct halo_stream_settings *now = stream->coming ? stream->coming : &stream->settings;
    const enum halo_change what =
        stream->place.removed ? HALO_CHANGE_REST : halo_stream_settings_compare(now, with);
    /* If other filters are pending, the stream differs from the file even if its settings do
     * not. */
    const bool sets = stream->coming ? sv_request_waits(stream) : sv_request_sets(stream);
    if (what == HALO_CHANGE_NONE && !sets && !has_old_masks(stream, with))
        return 0;
    const bool only_filters = what != HALO_CHANGE_REST && !stream->coming;
    json_array_append_new(json_object_get(reload->result, only_filters ? "set" : "changed"),
                          json_string(stream->name));
    if (only_filters)
        return change_filters(stream, wanted, reload, err);
    return replace(stream, with, wanted, hides, err);
}

static int change(struct sv_stream *stream, const struct halo_stream_settings *wanted,
                  struct reload *reload, struct halo_error *err)
{
    struct halo_stream_settings with = *wanted; /* its strings are borrowed, except for chains */
    char *chain[SV_CHAINS] = {NULL};
    struct sv_hides hides;
    sv_hides_retry(&stream->hides);
    /* Additions that were promised count, and removals only once they are in force. */
    int code = sv_hides_copy(&hides, sv_request_hides(stream));
    if (code == 0)
        code = sv_hides_add_all(&hides, &stream->hides);
    if (code == 0)
        code = sv_hides_rebase(&hides, wanted);
    if (code == 0)
        code = sv_hides_fit(&hides, wanted, chain);
    if (code == 0) {
        with.filters = chain[0];
        for (int i = 0; i < with.renditions; i++)
            with.rendition[i].filters = chain[i + 1];
        code = change_to(stream, wanted, &with, &hides, reload, err);
    }
    for (int i = 0; i < SV_CHAINS; i++)
        free(chain[i]);
    sv_hides_finish(&hides);
    return code < 0 ? halo_fail(err, code, "out of memory") : 0;
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
    const int code = sv_stream_create(sv, wanted, err);
    if (code < 0)
        return code;
    json_array_append_new(json_object_get(result, "added"), json_string(wanted->name));
    sv_event(sv, "added", wanted->name, NULL, NULL);
    sv_stream_step(any_of_name(sv, wanted->name));
    return 0;
}

/* Removes old streams first, so that their sockets and devices are free for new ones. */
static void remove_old(struct halo_supervisor *sv, const struct halo_daemon_settings *settings,
                       json_t *result)
{
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        if (s->place.removed || halo_daemon_stream(settings, s->name))
            continue;
        json_array_append_new(json_object_get(result, "removed"), json_string(s->name));
        halo_log(HALO_LOG_INFO, "stream %s: removed", s->name);
        sv_event(sv, "removed", s->name, NULL, NULL);
        sv_stream_remove(s);
    }
}

static struct reload *create(struct halo_supervisor *sv, halo_reply *reply, void *arg)
{
    struct reload *ret = calloc(1, sizeof *ret);
    if (!ret)
        return NULL;
    *ret = (struct reload){.sv = sv, .waits = 1, .reply = reply, .arg = arg};
    ret->result = json_pack("{s:[], s:[], s:[], s:[], s:[]}", "added", "removed", "changed", "set",
                            "refused");
    if (ret->result)
        return ret;
    free(ret);
    return NULL;
}

/* Whether the settings file and the overlay define the stream as they did before. */
static bool is_as_loaded(const struct halo_supervisor *sv,
                         const struct halo_stream_settings *wanted)
{
    const struct halo_stream_settings *loaded = halo_daemon_stream(sv->settings, wanted->name);
    return loaded && halo_stream_settings_compare(loaded, wanted) == HALO_CHANGE_NONE;
}

int halo_supervisor_reload(struct halo_supervisor *sv, struct halo_daemon_settings *settings,
                           const char *kept, halo_reply *reply, void *arg, struct halo_error *err)
{
    if (sv->stopping)
        return halo_fail(err, -ESHUTDOWN, "halod is stopping");
    struct reload *reload = create(sv, reply, arg);
    if (!reload)
        return halo_fail(err, -ENOMEM, "out of memory");
    remove_old(sv, settings, reload->result);
    struct halo_error first = {0};
    for (int i = 0; i < settings->streams; i++) {
        const struct halo_stream_settings *wanted = &settings->stream[i];
        struct sv_stream *stream = any_of_name(sv, wanted->name);
        struct halo_error *of_one = first.code ? NULL : &first;
        if (stream && kept && strcmp(kept, wanted->name) != 0 && is_as_loaded(sv, wanted))
            continue;
        (void)(stream ? change(stream, wanted, reload, of_one)
                      : add(sv, wanted, reload->result, of_one));
    }
    if (first.code)
        halo_log(HALO_LOG_ERROR, "reload: %s", first.text);
    halo_daemon_settings_destroy(sv->settings);
    sv->settings = settings;
    sv_event(sv, "reload", NULL, NULL, NULL);
    release(reload);
    return 0;
}
