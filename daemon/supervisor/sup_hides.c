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
    for (int i = 0; i < hides->bases; i++)
        free(hides->base[i]);
    for (int i = 0; i < hides->count; i++)
        free(hides->hide[i].chain);
    *hides = (struct sv_hides){0};
}

int sv_hides_copy(struct sv_hides *ret, const struct sv_hides *from)
{
    bool fine = true;
    *ret = (struct sv_hides){0};
    for (; fine && ret->bases < from->bases; ret->bases++)
        fine = (ret->base[ret->bases] = strdup(from->base[ret->bases])) != NULL;
    for (; fine && ret->count < from->count; ret->count++) {
        ret->hide[ret->count] = from->hide[ret->count];
        fine = (ret->hide[ret->count].chain = strdup(from->hide[ret->count].chain)) != NULL;
    }
    if (fine)
        return 0;
    sv_hides_finish(ret);
    return -ENOMEM;
}

int sv_hides_set_base(struct sv_hides *hides, int chain, const char *base)
{
    char *copy = strdup(base);
    if (!copy)
        return -ENOMEM;
    free(hides->base[chain]);
    hides->base[chain] = copy;
    return 0;
}

int sv_hides_rebase(struct sv_hides *hides, const struct halo_stream_settings *settings)
{
    struct sv_hides next = {0};
    for (int i = 0; i <= settings->renditions; i++) {
        const char *base = i ? settings->rendition[i - 1].filters : settings->filters;
        next.bases++;
        if (sv_hides_set_base(&next, i, base) < 0) {
            sv_hides_finish(&next);
            return -ENOMEM;
        }
    }
    for (int i = 0; i < hides->bases; i++)
        free(hides->base[i]);
    memcpy(hides->base, next.base, sizeof next.base);
    hides->bases = next.bases;
    return 0;
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

char *sv_hides_chain(const struct sv_hides *hides, int chain)
{
    char *text = NULL;
    size_t size;
    const bool none = hides->count > 0 && !strcmp(hides->base[chain], "none");
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fputs(none ? "null" : hides->base[chain], to);
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

static void free_chains(char *chain[SV_CHAINS])
{
    for (int i = 0; i < SV_CHAINS; i++)
        free(chain[i]);
    memset(chain, 0, SV_CHAINS * sizeof chain[0]);
}

static int hide_all(const struct halo_stream_settings *settings, const char *why,
                    char *ret[SV_CHAINS])
{
    halo_log(HALO_LOG_ERROR,
             "stream %s: everything is hidden, because what was added to its filters cannot be "
             "used: %s",
             settings->name, why);
    free_chains(ret);
    for (int i = 0; i <= settings->renditions; i++)
        if (!(ret[i] = strdup("solid"))) {
            free_chains(ret);
            return -ENOMEM;
        }
    return 0;
}

static int check_fit(const char *chain, const struct halo_stream_settings *settings,
                     struct halo_error *err)
{
    const int code = halo_checks.filters(chain, (enum halo_privacy)settings->privacy, err);
    return code == 0 && !settings->region_feed.on ? halo_checks.feed(chain, err) : code;
}

int sv_hides_fit(const struct sv_hides *hides, const struct halo_stream_settings *settings,
                 char *ret[SV_CHAINS])
{
    struct halo_error err = {0};
    memset(ret, 0, SV_CHAINS * sizeof ret[0]);
    for (int i = 0; i < hides->bases; i++) {
        if (!(ret[i] = sv_hides_chain(hides, i))) {
            free_chains(ret);
            return -ENOMEM;
        }
        if (hides->count > 0 && check_fit(ret[i], settings, &err) < 0)
            return hide_all(settings, err.text, ret);
    }
    return 0;
}

static void take_chains(struct halo_stream_settings *settings, char *chain[SV_CHAINS])
{
    for (int i = 0; i <= settings->renditions; i++) {
        char **at = i ? &settings->rendition[i - 1].filters : &settings->filters;
        free(*at);
        *at = chain[i];
    }
}

int sv_hides_apply(const struct sv_hides *hides, struct halo_stream_settings *settings)
{
    char *chain[SV_CHAINS];
    const int code = sv_hides_fit(hides, settings, chain);
    if (code == 0)
        take_chains(settings, chain);
    return code;
}

int sv_hides_begin(struct sv_stream *stream)
{
    const json_t *stored = json_object_get(stream->sv->hides, stream->name);
    struct halo_error err = {0};
    char *chain[SV_CHAINS] = {NULL};
    const char *id;
    json_t *text;
    if (sv_hides_rebase(&stream->hides, &stream->settings) < 0)
        return -ENOMEM;
    json_object_foreach ((json_t *)stored, id, text)
        if (!json_is_string(text) ||
            sv_hides_put(&stream->hides, id, json_string_value(text), &err) < 0)
            halo_fail(&err, -EINVAL, "the addition '%.40s' is malformed", id);
    if (!err.code)
        return sv_hides_apply(&stream->hides, &stream->settings);
    const int code = hide_all(&stream->settings, err.text, chain);
    if (code == 0)
        take_chains(&stream->settings, chain);
    return code;
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
