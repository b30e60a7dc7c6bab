/* SPDX-License-Identifier: BSD-2-Clause
 * Requests to an engine, for whose answer a client waits. Each is answered once: by the engine,
 * when the engine ends, or by a timeout. A change of filters that takes effect after its timeout
 * still counts.
 *
 * A change contains the texts of all chains, which become the stream's settings once it is in
 * force; they include the changes requested before it. Three kinds of changes take effect at the
 * next start if the engine ends or loses the stream before them: those that wait until it has
 * released the stream, those of the settings file, and those whose client was told that they would
 * still take effect. Each of them is then made to the chains in force, in the order in which they
 * were requested, so that it does not bring with it what has failed. */
#include "daemon/supervisor/sup_request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/source_kinds.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_masks.h"
#include "daemon/supervisor/sup_ring.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/supervisor.h"
#include "kernels/fault.h"

enum {
    IMAGE_MAX = 64 << 20,
    REPLY_MS = 4500, /* for an answer; less than five seconds even with the timer's granularity */
};

struct sv_request {
    struct sv_request *next;
    enum sv_request_kind kind;
    struct sv_stream *stream;
    uint64_t id, deadline;
    char *chain[HALO_MAX_RENDITIONS + 1]; /* SET: the stream's own, then its renditions' */
    struct sv_hides hides;                /* SET: the parts of chain[0] */
    bool sets[SV_CHAINS];                 /* SET: the bases that are changed */
    char *addition, *hide;                /* SET: its id and chain; NULL: none is changed */
    json_t *masks;                        /* SET: sv_masks_of() them when it was sent, or NULL */
    bool of_file;                         /* SET: requested by the settings file */
    bool waits;                           /* SET: until the engine has released the stream */
    char control[68];
    int64_t value; /* both CONTROL */
    char format[8];
    halo_reply *reply; /* NULL: the client was told of the timeout, or there is no client */
    void *arg;
};

static void free_request(struct sv_request *request)
{
    for (size_t i = 0; i < sizeof request->chain / sizeof *request->chain; i++)
        free(request->chain[i]);
    sv_hides_finish(&request->hides);
    free(request->addition);
    free(request->hide);
    json_decref(request->masks);
    free(request);
}

static void unlink_request(struct halo_supervisor *sv, struct sv_request *request)
{
    struct sv_request **at = &sv->requests;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
}

static void refuse(struct sv_request *request, int code, const char *why)
{
    halo_reply *reply = request->reply;
    request->reply = NULL;
    if (!reply)
        return;
    struct halo_error err = {0};
    halo_fail(&err, code, "%s", why);
    reply(request->arg, NULL, &err);
}

static void reply_with(struct sv_request *request, json_t *result)
{
    if (!result)
        refuse(request, -ENOMEM, "out of memory");
    else if (request->reply)
        request->reply(request->arg, result, NULL);
    json_decref(result);
}

static struct sv_request *new_request(struct sv_stream *stream, enum sv_request_kind kind,
                                      halo_reply *reply, void *arg)
{
    struct sv_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    *request = (struct sv_request){
        .kind = kind,
        .stream = stream,
        .id = ++stream->sv->next_id,
        .deadline = sv_now(stream->sv) + REPLY_MS,
        .reply = reply,
        .arg = arg,
    };
    return request;
}

static void link_request(struct sv_request *request)
{
    struct halo_supervisor *sv = request->stream->sv;
    request->next = sv->requests;
    sv->requests = request;
}

/* ---- set ---- */

static struct sv_request *next_set(const struct sv_stream *stream, struct sv_request *from)
{
    while (from && (from->kind != SV_SET || from->stream != stream))
        from = from->next;
    return from;
}

bool sv_request_sets(const struct sv_stream *stream)
{
    return next_set(stream, stream->sv->requests) != NULL;
}

/* A change of bases that waits. */
static struct sv_request *waiting_base(const struct sv_stream *stream)
{
    struct sv_request *request = next_set(stream, stream->sv->requests);
    while (request && (!request->waits || request->hide))
        request = next_set(stream, request->next);
    return request;
}

const struct sv_hides *sv_request_hides(const struct sv_stream *stream)
{
    const struct sv_request *last = next_set(stream, stream->sv->requests);
    return last ? &last->hides : &stream->hides;
}

int sv_request_rebase(struct sv_stream *stream, const struct halo_stream_settings *settings)
{
    const int64_t newer = stream->revision + 1 - stream->hides.revision;
    struct sv_request *r = next_set(stream, stream->sv->requests);
    for (; r; r = next_set(stream, r->next)) {
        if (sv_hides_rebase(&r->hides, settings) < 0)
            return -ENOMEM;
        memset(r->sets, 0, sizeof r->sets);
        r->hides.revision += newer;
    }
    stream->revision += newer;
    stream->hides.revision += newer;
    return 0;
}

bool sv_request_waits(const struct sv_stream *stream)
{
    return waiting_base(stream) != NULL;
}

void sv_request_refuse_waiting(struct sv_stream *stream, const char *why)
{
    for (struct sv_request *request; (request = waiting_base(stream));) {
        unlink_request(stream->sv, request);
        refuse(request, -EAGAIN, why);
        free_request(request);
    }
}

static void swap(char **a, char **b)
{
    char *kept = *a;
    *a = *b;
    *b = kept;
}

/* Once new settings are coming, `stream->hides` belongs to them and already has the additions that
 * were requested before; only removals have waited. */
static void take_hides(struct sv_stream *stream, struct sv_request *request)
{
    if (!stream->coming || request->waits) {
        sv_hides_finish(&stream->hides);
        stream->hides = request->hides;
        request->hides = (struct sv_hides){0};
    } else if (request->hide &&
               sv_hides_put(&stream->hides, request->addition, request->hide, NULL) == 0) {
        stream->hides.revision = request->hides.revision;
    }
    if (stream->coming && sv_hides_apply(&stream->hides, stream->coming) < 0)
        halo_log(HALO_LOG_ERROR,
                 "stream %s: out of memory: the filters added to it take effect after a reload",
                 stream->name);
    sv_hides_store(stream);
}

/* coverage: of the new chains; NULL: not known until an engine has them. */
static void set_is_in_force(struct sv_stream *stream, struct sv_request *request,
                            const json_t *coverage)
{
    struct halo_stream_settings *now = &stream->settings;
    sv_feed_forget(stream); /* what is still in rings has passed the filters before */
    halo_coverages_read(stream->stats.coverage, coverage);
    swap(&now->filters, &request->chain[0]);
    take_hides(stream, request);
    for (int i = 0; i < now->renditions; i++)
        if (request->chain[i + 1]) /* coming settings may have fewer renditions */
            swap(&now->rendition[i].filters, &request->chain[i + 1]);
    json_decref(stream->masks);
    stream->masks = json_incref(request->masks);
    halo_log(HALO_LOG_INFO, "stream %s: filters are now %s", stream->name, now->filters);
    sv_event(stream->sv, "set", stream->name, NULL, now->filters);
    reply_with(request, json_pack("{s:s, s:s, s:I}", "name", stream->name, "filters", now->filters,
                                  "revision", (json_int_t)stream->hides.revision));
}

static int send_set(struct sv_stream *stream, struct sv_request *request)
{
    json_t *chains = json_array(), *message = sv_do("set", stream);
    request->masks = json_array();
    for (int i = 0; i <= stream->settings.renditions; i++) {
        json_array_append_new(chains, json_string(request->chain[i]));
        sv_masks_add(request->masks, request->chain[i]);
    }
    sv_masks_send(stream->place.engine, request->masks);
    json_object_set_new(message, "id", json_integer((json_int_t)request->id));
    json_object_set_new(message, "chains", chains);
    return sv_engine_send(stream->place.engine, message);
}

/* Sends the change to the engine. An engine that is releasing the stream, or has closed its link
 * and is about to end, still writes files and URLs with the old filters, so the change waits for
 * that. Without an engine, the change is in force at once. */
static int pass_on(struct sv_stream *stream, struct sv_request *request)
{
    const int code = stream->place.phase == SV_IN ? send_set(stream, request) : -EPIPE;
    if (code != -EPIPE)
        return code;
    request->waits = true;
    if (stream->place.phase == SV_OUT)
        sv_request_fail_all(stream, "the engine has ended");
    return 0;
}

int sv_request_check(const struct sv_stream *stream, const char *filters, struct halo_error *err)
{
    /* The settings to which the filters belong. */
    const struct halo_stream_settings *next = stream->coming ? stream->coming : &stream->settings;
    int code = halo_checks.filters(filters, (enum halo_privacy)next->privacy, err);
    if (code == 0 && !next->region_feed.on)
        code = halo_checks.feed(filters, err);
    return code == 0 ? halo_checks.coverage(filters, next, err) : code;
}

static int set_base(struct sv_request *request, int chain, const char *base)
{
    request->sets[chain] = true;
    return sv_hides_set_base(&request->hides, chain, base);
}

/* Stores what changes; chains are not made yet. Returns 0 or -ENOMEM. */
static int take_change(struct sv_request *request, const struct sv_change *change)
{
    const struct halo_stream_settings *now = &request->stream->settings;
    int code = sv_hides_copy(&request->hides, sv_request_hides(request->stream));
    if (code == 0 && change->base)
        code = set_base(request, 0, change->base);
    for (int i = 0; code == 0 && change->file && i < now->renditions; i++) {
        const int at = halo_rendition_find(change->file, now->rendition[i].name);
        if (at >= 0)
            code = set_base(request, i + 1, change->file->rendition[at].filters);
    }
    if (code == 0 && change->id) {
        request->addition = strdup(change->id);
        request->hide = strdup(change->hide);
        code = request->addition && request->hide ? 0 : -ENOMEM;
    }
    request->of_file = change->file;
    return code;
}

/* Makes the change to these parts of chains. */
static int change_hides(struct sv_hides *ret, const struct sv_request *request,
                        const struct sv_hides *from, struct halo_error *err)
{
    int code = sv_hides_copy(ret, from);
    for (int i = 0; code == 0 && i < ret->bases; i++)
        if (request->sets[i])
            code = sv_hides_set_base(ret, i, request->hides.base[i]);
    if (code < 0)
        return halo_fail(err, code, "out of memory");
    return request->hide ? sv_hides_put(ret, request->addition, request->hide, err) : 0;
}

/* Makes all chains as they are after the change: the engine changes all or none. */
static int fill_chains(struct sv_request *request, const struct sv_hides *from,
                       struct halo_error *err)
{
    struct sv_hides hides;
    int code = change_hides(&hides, request, from, err);
    hides.revision = request->hides.revision;
    sv_hides_finish(&request->hides);
    request->hides = hides;
    for (int i = 0; code == 0 && i < request->hides.bases; i++) {
        free(request->chain[i]);
        request->chain[i] = sv_hides_chain(&request->hides, i);
        code = request->chain[i] ? sv_request_check(request->stream, request->chain[i], err)
                                 : halo_fail(err, -ENOMEM, "out of memory");
    }
    return code;
}

int sv_request_set(struct sv_stream *stream, const struct sv_change *change, halo_reply *reply,
                   void *arg, struct halo_error *err)
{
    struct sv_request *request = new_request(stream, SV_SET, reply, arg);
    if (!request)
        return halo_fail(err, -ENOMEM, "out of memory");
    int done = take_change(request, change);
    if (done < 0)
        halo_fail(err, done, "out of memory");
    else
        done = fill_chains(request, sv_request_hides(stream), err);
    if (done < 0) {
        free_request(request);
        return done;
    }
    request->hides.revision = ++stream->revision;
    link_request(request);
    done = pass_on(stream, request);
    if (done == 0)
        return 0;
    unlink_request(stream->sv, request);
    free_request(request);
    return halo_fail(err, done, "the filters cannot be sent: %s", strerror(-done));
}

/* ---- controls of a camera ---- */

static void control_is_set(struct sv_stream *stream, struct sv_request *request)
{
    struct halo_capture_settings *capture = &stream->settings.capture;
    char what[100], *all = halo_controls_put(capture->controls, request->control, request->value);
    if (!all) {
        refuse(request, -ENOMEM, "out of memory");
        return;
    }
    free(capture->controls);
    capture->controls = all;
    snprintf(what, sizeof what, "%s=%" PRId64, request->control, request->value);
    halo_log(HALO_LOG_INFO, "stream %s: the camera's control was set: %s", stream->name, what);
    sv_event(stream->sv, "control", stream->name, NULL, what);
    reply_with(request, json_pack("{s:s}", "name", stream->name));
}

int sv_request_control(struct sv_stream *stream, const struct halo_control_value *to,
                       halo_reply *reply, void *arg, struct halo_error *err)
{
    if (!halo_source_row(stream->settings.source.input)->captures)
        return halo_fail_usage(err, "the input of '%s' is not a camera", stream->name);
    if (!halo_is_name(to->control, strlen(to->control)))
        return halo_fail_usage(
            err, "not a valid name of a control: run 'halod devices' to list the controls");
    struct sv_request *request = new_request(stream, SV_CONTROL, reply, arg);
    if (!request)
        return halo_fail(err, -ENOMEM, "out of memory");
    link_request(request);
    snprintf(request->control, sizeof request->control, "%s", to->control);
    request->value = to->value;
    json_t *message = sv_do("control", stream);
    json_object_set_new(message, "id", json_integer((json_int_t)request->id));
    json_object_set_new(message, "control", json_string(to->control));
    json_object_set_new(message, "value", json_integer((json_int_t)to->value));
    if (stream->place.phase == SV_IN && sv_engine_send(stream->place.engine, message) == 0)
        return 0;
    if (stream->place.phase != SV_IN)
        json_decref(message);
    unlink_request(stream->sv, request);
    control_is_set(stream, request); /* takes effect when the camera is opened */
    free_request(request);
    return 0;
}

/* ---- snapshot ---- */

int sv_request_snapshot(struct sv_stream *stream, const struct halo_shot *shot, halo_reply *reply,
                        void *arg, struct halo_error *err)
{
    if (strcmp(shot->format, "png") != 0 && strcmp(shot->format, "jpg") != 0)
        return halo_fail_usage(err, "the format of a snapshot must be png or jpg, not '%s'",
                               shot->format);
    const int code = shot->filters ? halo_checks.filters(shot->filters, HALO_PRIVACY_OFF, err) : 0;
    if (code < 0)
        return code;
    if (stream->place.phase != SV_IN)
        return halo_fail(err, -EAGAIN, "stream '%s' is not running", stream->name);
    struct sv_request *request = new_request(stream, SV_SNAPSHOT, reply, arg);
    if (!request)
        return halo_fail(err, -ENOMEM, "out of memory");
    link_request(request);
    snprintf(request->format, sizeof request->format, "%s", shot->format);
    json_t *message = sv_do("snapshot", stream);
    json_object_set_new(message, "id", json_integer((json_int_t)request->id));
    json_object_set_new(message, "format", json_string(shot->format));
    if (shot->filters)
        json_object_set_new(message, "filters", json_string(shot->filters));
    if (sv_engine_send(stream->place.engine, message) == 0)
        return 0;
    unlink_request(stream->sv, request);
    free_request(request);
    return halo_fail(err, -EAGAIN, "the engine of '%s' is not running: try again later",
                     stream->name);
}

/* Returns the bytes of an image, or -1 unless its memory is sealed, so that it cannot change while
 * it is read. */
static int64_t image_size(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS), wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct stat found;
    if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &found) < 0)
        return -1;
    return found.st_size > 0 && found.st_size <= IMAGE_MAX ? found.st_size : -1;
}

static void answer_snapshot(struct sv_request *request, int fd)
{
    const int64_t size = fd < 0 ? -1 : image_size(fd);
    if (size < 0)
        refuse(request, -EPROTO, "the engine sent no image");
    else
        reply_with(request, json_pack("{s:s, s:I, s:i}", "format", request->format, "size",
                                      (json_int_t)size, "fd", fd));
}

/* ---- ends ---- */

/* Whether the client was told that the change will still take effect. */
static bool is_promised(const struct sv_request *request)
{
    return request->kind == SV_SET && !request->reply;
}

static void fail(struct sv_request *request, int code, const char *why)
{
    const struct sv_stream *stream = request->stream;
    if (is_promised(request)) {
        halo_log(HALO_LOG_ERROR, "stream %s: the filters did not change: %s", stream->name, why);
        sv_event(stream->sv, "refused", stream->name, NULL, why);
    }
    refuse(request, code, why);
}

static void take_answer(struct sv_request *request, const struct sv_answer *answer)
{
    if (answer->why)
        fail(request, -EIO, answer->why);
    else if (request->kind == SV_SET)
        set_is_in_force(request->stream, request, answer->coverage);
    else if (request->kind == SV_CONTROL)
        control_is_set(request->stream, request);
    else
        answer_snapshot(request, answer->fd);
}

void sv_request_answer(struct sv_stream *stream, enum sv_request_kind kind,
                       const struct sv_answer *answer)
{
    struct sv_request *request = stream->sv->requests;
    while (request && (request->id != answer->id || request->stream != stream ||
                       (request->kind != kind && !(request->kind == SV_CONTROL && kind == SV_SET))))
        request = request->next;
    if (request && answer->ended && request->kind == SV_SET) {
        request->waits = true;
    } else if (request) {
        unlink_request(stream->sv, request);
        take_answer(request, answer);
        free_request(request);
    }
    if (answer->fd >= 0)
        close(answer->fd);
}

/* Whether the change takes effect at the next start of the stream or of halod: it waits for that,
 * the settings file requests it, or its client was told that it takes effect with the next
 * frame. */
static bool holds(const struct sv_request *request)
{
    const struct sv_stream *stream = request->stream;
    if (request->kind != SV_SET || stream->place.removed)
        return false;
    if (stream->sv->stopping && !request->addition)
        return false; /* halod's next start reads its bases from the file */
    if (request->of_file)
        return !stream->coming;
    return request->waits || is_promised(request);
}

static struct sv_request *oldest(const struct sv_stream *stream)
{
    struct sv_request *ret = NULL; /* the newest is first in the list */
    for (struct sv_request *r = stream->sv->requests; r; r = r->next)
        if (r->stream == stream)
            ret = r;
    return ret;
}

void sv_request_fail_all(struct sv_stream *stream, const char *why)
{
    static const char kept_until_start[] =
        "halod is stopping: this addition is kept, and takes effect when halod starts again";
    for (struct sv_request *request; (request = oldest(stream));) { /* a reply may add one */
        struct halo_error err = {0};
        unlink_request(stream->sv, request);
        if (!holds(request))
            fail(request, -EAGAIN, why);
        else if (fill_chains(request, &stream->hides, &err) < 0)
            fail(request, -EAGAIN, err.text);
        else {
            /* Engines may still be finishing files with the filters of before. */
            if (stream->sv->stopping)
                refuse(request, -EAGAIN, kept_until_start);
            set_is_in_force(stream, request, NULL);
        }
        free_request(request);
    }
}

void sv_request_tick(struct halo_supervisor *sv)
{
    const uint64_t now = sv_now(sv);
    for (struct sv_request *r = sv->requests, *next; r; r = next) {
        next = r->next;
        if (now < r->deadline || halo_fault("supervisor", "answer"))
            continue;
        if (r->kind == SV_SET) { /* kept until the engine reports the result */
            refuse(r, -ETIMEDOUT,
                   r->waits ? "the stream did not stop in time: these filters take effect when it "
                              "starts again"
                            : "no frame arrived in time: the filters change with the next frame");
            continue;
        }
        unlink_request(sv, r);
        refuse(r, -ETIMEDOUT,
               r->kind == SV_CONTROL ? "the camera did not respond in time"
                                     : "no frame arrived in time");
        free_request(r);
    }
}
