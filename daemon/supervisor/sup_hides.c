/* SPDX-License-Identifier: BSD-2-Clause
 * Additions to a stream's chain, and their file. */
#include "daemon/supervisor/sup_hides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "config/log.h"
#include "config/read_file.h"
#include "config/state.h"
#include "config/write_file.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_stream_data.h"

enum { FILE_MAX = 4 << 20 };

/* ---- the additions of a stream ---- */

void sv_hides_finish(struct sv_hides *hides)
{
    free(hides->base);
    for (int i = 0; i < hides->count; i++)
        free(hides->hide[i].chain);
    *hides = (struct sv_hides){0};
}

int sv_hides_copy(struct sv_hides *ret, const struct sv_hides *from, const char *base)
{
    *ret = (struct sv_hides){.base = strdup(base ? base : from->base)};
    bool fine = ret->base;
    for (; fine && ret->count < from->count; ret->count++) {
        ret->hide[ret->count] = from->hide[ret->count];
        ret->hide[ret->count].chain = strdup(from->hide[ret->count].chain);
        fine = ret->hide[ret->count].chain;
    }
    if (fine)
        return 0;
    sv_hides_finish(ret);
    return -ENOMEM;
}

static int refuse_chain(const char *id, const char *chain, struct halo_error *err)
{
    struct halo_error why = {0};
    const int code = halo_checks.filters(chain, HALO_PRIVACY_STRICT, &why);
    return code < 0 ? halo_fail(err, code, "'%s' must hide what it applies to: %s", id, why.text)
                    : 0;
}

int sv_hides_put(struct sv_hides *hides, const char *id, const char *chain, struct halo_error *err)
{
    int at = 0;
    if (!halo_is_name(id, strlen(id)) || strlen(id) >= SV_HIDE_ID)
        return halo_fail_usage(err, "an id must be 1 to %d letters, digits, _ and -",
                               SV_HIDE_ID - 1);
    while (at < hides->count && strcmp(hides->hide[at].id, id) < 0)
        at++;
    const bool known = at < hides->count && !strcmp(hides->hide[at].id, id);
    if (!*chain && !known)
        return 0;
    if (!known && hides->count == SV_HIDES)
        return halo_fail_usage(err, "%d additions are the most that a stream can have", SV_HIDES);
    const int code = *chain ? refuse_chain(id, chain, err) : 0;
    char *copy = *chain && code == 0 ? strdup(chain) : NULL;
    if (code < 0 || (*chain && !copy))
        return code < 0 ? code : halo_fail(err, -ENOMEM, "out of memory");
    if (known)
        free(hides->hide[at].chain);
    const int behind = hides->count - at - known;
    memmove(&hides->hide[at + (copy != NULL)], &hides->hide[at + known],
            (size_t)behind * sizeof hides->hide[0]);
    if (copy) {
        snprintf(hides->hide[at].id, SV_HIDE_ID, "%s", id);
        hides->hide[at].chain = copy;
    }
    hides->count += (copy != NULL) - known;
    return 0;
}

char *sv_hides_chain(const struct sv_hides *hides)
{
    char *text = NULL;
    size_t size;
    const bool none = hides->count > 0 && !strcmp(hides->base, "none");
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fputs(none ? "null" : hides->base, to);
    for (int i = 0; i < hides->count; i++)
        fprintf(to, ",%s", hides->hide[i].chain);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

json_t *sv_hides_status(const struct sv_hides *hides)
{
    json_t *ret = json_object();
    for (int i = 0; i < hides->count; i++)
        json_object_set_new(ret, hides->hide[i].id, json_string(hides->hide[i].chain));
    return ret;
}

/* ---- the file ---- */

struct writing {
    uv_work_t work;
    struct halo_supervisor *sv;
    char *path, *text;
    struct halo_error err;
};

static char *path_of(const struct halo_supervisor *sv)
{
    return halo_state_path(sv->settings->state, "hides.json");
}

int sv_hides_load(struct halo_supervisor *sv, struct halo_error *err)
{
    char *path = path_of(sv), *text = NULL;
    size_t length = 0;
    json_error_t at;
    int code = path ? halo_read_file(path, 0, FILE_MAX, &text, &length) : -ENOENT;
    if (code == 0)
        sv->hides = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    if (code == 0 && !json_is_object(sv->hides))
        code = halo_fail(err, -EBADMSG,
                         "%s is damaged, so it is not known what has to be hidden in addition to "
                         "the settings file: remove it if nothing has to be",
                         path);
    else if (code < 0 && code != -ENOENT)
        halo_fail(err, code, "%s: cannot be read: %s", path, strerror(-code));
    if (code == -ENOENT) {
        sv->hides = json_object();
        code = sv->hides ? 0 : -ENOMEM;
    }
    free(text);
    free(path);
    return code;
}

static char *hide_all(const char *name, const char *why)
{
    halo_log(HALO_LOG_ERROR,
             "stream %s: everything is hidden, because what was added to its filters cannot be "
             "used: %s",
             name, why);
    return strdup("solid");
}

char *sv_hides_fit(const struct sv_hides *hides, const struct halo_stream_settings *settings)
{
    struct halo_error err = {0};
    char *chain = sv_hides_chain(hides);
    if (!chain || hides->count == 0)
        return chain;
    int code = halo_checks.filters(chain, (enum halo_privacy)settings->privacy, &err);
    if (code == 0 && !settings->region_feed.on)
        code = halo_checks.feed(chain, &err);
    if (code == 0)
        return chain;
    free(chain);
    return hide_all(settings->name, err.text);
}

int sv_hides_begin(struct sv_stream *stream)
{
    const json_t *stored = json_object_get(stream->sv->hides, stream->name);
    struct halo_error err = {0};
    const char *id;
    json_t *chain;
    stream->hides.base = strdup(stream->settings.filters);
    if (!stream->hides.base)
        return -ENOMEM;
    json_object_foreach ((json_t *)stored, id, chain) {
        const char *text = json_string_value(chain);
        if (!text || sv_hides_put(&stream->hides, id, text, &err) < 0)
            halo_fail(&err, -EINVAL, "the addition '%.40s' is malformed", id);
    }
    char *all = err.code ? hide_all(stream->name, err.text)
                         : sv_hides_fit(&stream->hides, &stream->settings);
    if (!all)
        return -ENOMEM;
    free(stream->settings.filters);
    stream->settings.filters = all;
    return 0;
}

/* ---- the file ---- */

static void write_file(uv_work_t *work)
{
    struct writing *writing = work->data;
    halo_write_file(writing->path, 0600, writing->text, strlen(writing->text), &writing->err);
}

static struct writing *begin_writing(struct halo_supervisor *sv)
{
    struct writing *writing = calloc(1, sizeof *writing);
    if (!writing)
        return NULL;
    writing->work.data = writing;
    writing->sv = sv;
    writing->path = path_of(sv);
    writing->text = json_dumps(sv->hides, JSON_INDENT(1) | JSON_SORT_KEYS);
    return writing;
}

static void end_writing(struct writing *writing)
{
    if (writing->err.code)
        halo_log(HALO_LOG_ERROR, "what was added to streams is lost when halod restarts: %s",
                 writing->err.text);
    free(writing->path);
    free(writing->text);
    free(writing);
}

static void write_soon(struct halo_supervisor *sv);

static void on_written(uv_work_t *work, int status)
{
    struct writing *writing = work->data;
    struct halo_supervisor *sv = writing->sv;
    (void)status;
    end_writing(writing);
    sv->writing = false;
    if (sv->unwritten)
        write_soon(sv);
}

static void write_soon(struct halo_supervisor *sv)
{
    sv->unwritten = true;
    if (sv->writing)
        return;
    struct writing *writing = begin_writing(sv);
    if (!writing)
        return;
    if (!writing->path || !writing->text ||
        uv_queue_work(sv->loop, &writing->work, write_file, on_written) < 0) {
        if (!writing->path)
            halo_log(HALO_LOG_WARNING, "what was added to streams is lost when halod restarts: set "
                                       "'state:' to a folder");
        end_writing(writing);
        return;
    }
    sv->writing = true;
    sv->unwritten = false;
}

void sv_hides_store(struct sv_stream *stream)
{
    struct halo_supervisor *sv = stream->sv;
    json_t *now = sv_hides_status(&stream->hides);
    json_t *before = json_object_get(sv->hides, stream->name);
    const bool same = before ? json_equal(before, now) : stream->hides.count == 0;
    if (!same && stream->hides.count > 0)
        json_object_set(sv->hides, stream->name, now);
    else if (!same)
        json_object_del(sv->hides, stream->name);
    json_decref(now);
    if (!same)
        write_soon(sv);
}

void sv_hides_end(struct halo_supervisor *sv)
{
    struct writing *writing = sv->unwritten && !sv->writing ? begin_writing(sv) : NULL;
    if (writing && writing->path && writing->text)
        write_file(&writing->work);
    if (writing)
        end_writing(writing);
    else if (sv->unwritten)
        halo_log(HALO_LOG_ERROR, "the last additions to streams were not stored: the disk hangs");
    json_decref(sv->hides);
    sv->hides = NULL;
}
