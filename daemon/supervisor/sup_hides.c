/* SPDX-License-Identifier: BSD-2-Clause
 * Additions to a stream's chain, and their file. */
#include "daemon/supervisor/sup_hides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "config/base/log.h"
#include "config/base/read_file.h"
#include "config/base/write_file.h"
#include "config/folders.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "pipeline/filter/privacy.h"

enum {
    FILE_MAX = 4 << 20,
    AGAIN_MS = 5000, /* until a failed write is tried again */
};

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
    *ret = (struct sv_hides){.lost = from->lost, .revision = from->revision};
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
    int code = halo_checks.filters(chain, HALO_PRIVACY_STRICT, &why);
    if (code == 0)
        code = halo_chain_check_each(chain, &why);
    return code < 0 ? halo_fail(err, code, "'%s' must hide what it applies to: %s", id, why.text)
                    : 0;
}

/* Where the id is, or would be. */
static int find(const struct sv_hides *hides, const char *id, bool *ret_known)
{
    int at = 0;
    while (at < hides->count && strcmp(hides->hide[at].id, id) < 0)
        at++;
    *ret_known = at < hides->count && !strcmp(hides->hide[at].id, id);
    return at;
}

static void take_out(struct sv_hides *hides, int at)
{
    free(hides->hide[at].chain);
    hides->count--;
    memmove(&hides->hide[at], &hides->hide[at + 1],
            (size_t)(hides->count - at) * sizeof hides->hide[0]);
}

/* Replaces the addition that has this id. Returns 0, or -ENOMEM or -E2BIG. */
static int put_in(struct sv_hides *hides, const char *id, const char *chain, bool broken)
{
    bool known;
    const int at = find(hides, id, &known);
    if (!known && hides->count == SV_HIDES)
        return -E2BIG;
    char *copy = strdup(chain);
    if (!copy)
        return -ENOMEM;
    if (known)
        take_out(hides, at);
    memmove(&hides->hide[at + 1], &hides->hide[at],
            (size_t)(hides->count - at) * sizeof hides->hide[0]);
    hides->count++;
    snprintf(hides->hide[at].id, SV_HIDE_ID, "%s", id);
    hides->hide[at].chain = copy;
    hides->hide[at].broken = broken;
    return 0;
}

static bool is_id(const char *id)
{
    return halo_is_name(id, strlen(id)) && strlen(id) < SV_HIDE_ID;
}

int sv_hides_put(struct sv_hides *hides, const char *id, const char *chain, struct halo_error *err)
{
    bool known;
    if (!is_id(id))
        return halo_fail_usage(err, "an id must be 1 to %d letters, digits, _ and -",
                               SV_HIDE_ID - 1);
    const int at = find(hides, id, &known);
    if (!*chain && known)
        take_out(hides, at);
    if (!*chain)
        return 0;
    int code = refuse_chain(id, chain, err);
    if (code == 0)
        code = put_in(hides, id, chain, false);
    if (code == -E2BIG)
        return halo_fail_usage(err, "a stream can have at most %d additions", SV_HIDES);
    return code == -ENOMEM ? halo_fail(err, code, "out of memory") : code;
}

void sv_hides_retry(struct sv_hides *hides)
{
    for (int i = 0; i < hides->count; i++)
        hides->hide[i].broken = hides->hide[i].broken &&
                                refuse_chain(hides->hide[i].id, hides->hide[i].chain, NULL) < 0;
}

int sv_hides_add_all(struct sv_hides *to, const struct sv_hides *from)
{
    for (int i = 0; i < from->count; i++) {
        bool known;
        find(to, from->hide[i].id, &known);
        const int code =
            known ? 0 : put_in(to, from->hide[i].id, from->hide[i].chain, from->hide[i].broken);
        if (code == -ENOMEM)
            return code;
        to->lost |= code == -E2BIG;
    }
    return 0;
}

static bool is_broken(const struct sv_hides *hides)
{
    bool broken = hides->lost;
    for (int i = 0; i < hides->count; i++)
        broken |= hides->hide[i].broken;
    return broken;
}

char *sv_hides_chain(const struct sv_hides *hides, int chain)
{
    char *text = NULL;
    size_t size;
    const bool none = hides->count > 0 && !strcmp(hides->base[chain], "none");
    if (is_broken(hides))
        return strdup("solid");
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

/* Returns {"ID": "CHAIN"}, a new reference. */
static json_t *additions(const struct sv_hides *hides)
{
    json_t *ret = json_object();
    for (int i = 0; i < hides->count; i++)
        json_object_set_new(ret, hides->hide[i].id, json_string(hides->hide[i].chain));
    return ret;
}

json_t *sv_hides_status(const struct sv_hides *hides)
{
    return json_pack("{s:s, s:o, s:I}", "base", hides->base[0], "hides", additions(hides),
                     "revision", (json_int_t)hides->revision);
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
                         "%s is damaged, so the filters that haloctl hide added to streams are "
                         "unknown: restore it, or remove it if the settings file hides enough",
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

static void say_hidden(const char *name, const char *why)
{
    halo_log(HALO_LOG_ERROR,
             "stream %s: everything is hidden, because the filters added to it cannot be used: %s",
             name, why);
}

static int hide_all(const struct halo_stream_settings *settings, const char *why,
                    char *ret[SV_CHAINS])
{
    say_hidden(settings->name, why);
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

/* Keeps an addition of the file, also if it cannot be used. */
static int begin_one(struct sv_stream *stream, const char *id, const json_t *text)
{
    struct halo_error err = {0};
    const char *chain = json_string_value(text);
    if (!chain || !*chain || !is_id(id)) {
        halo_fail(&err, -EINVAL, "the addition '%.40s' is malformed", id);
        stream->hides.lost = true;
    }
    int code = err.code ? 0 : put_in(&stream->hides, id, chain, false);
    if (code == -E2BIG) {
        halo_fail(&err, -E2BIG, "there are more than %d additions", SV_HIDES);
        stream->hides.lost = true;
        code = 0;
    }
    if (code == 0 && !err.code && refuse_chain(id, chain, &err) < 0)
        code = put_in(&stream->hides, id, chain, true);
    if (err.code)
        say_hidden(stream->name, err.text);
    return code;
}

int sv_hides_begin(struct sv_stream *stream)
{
    const json_t *stored = json_object_get(stream->sv->hides, stream->name);
    const char *id;
    json_t *text;
    int code = sv_hides_rebase(&stream->hides, &stream->settings);
    json_object_foreach ((json_t *)stored, id, text)
        code = code < 0 ? code : begin_one(stream, id, text);
    return code < 0 ? code : sv_hides_apply(&stream->hides, &stream->settings);
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
        halo_log(HALO_LOG_ERROR, "filters added to streams are lost if halod restarts now: %s",
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
    const bool failed = writing->err.code;
    (void)status;
    end_writing(writing);
    sv->writing = false;
    if (failed)
        sv->write_again = sv_now(sv) + AGAIN_MS;
    else if (sv->unwritten)
        write_soon(sv);
    sv->unwritten |= failed;
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
            halo_log(
                HALO_LOG_WARNING,
                "filters added to streams are lost when halod restarts: set 'state:' to a folder");
        end_writing(writing);
        return;
    }
    sv->writing = true;
    sv->unwritten = false;
}

void sv_hides_store(struct sv_stream *stream)
{
    struct halo_supervisor *sv = stream->sv;
    if (stream->hides.lost)
        return;
    json_t *now = additions(&stream->hides);
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

void sv_hides_tick(struct halo_supervisor *sv)
{
    if (!sv->unwritten || sv->writing || sv_now(sv) < sv->write_again)
        return;
    sv->write_again = sv_now(sv) + AGAIN_MS;
    write_soon(sv);
}

void sv_hides_end(struct halo_supervisor *sv)
{
    /* A thread that is still writing may end with this process. */
    struct writing *writing = sv->unwritten || sv->writing ? begin_writing(sv) : NULL;
    if (writing && writing->path && writing->text)
        write_file(&writing->work);
    if (writing)
        end_writing(writing);
    json_decref(sv->hides);
    sv->hides = NULL;
}
