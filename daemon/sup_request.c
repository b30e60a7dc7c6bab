/* SPDX-License-Identifier: BSD-2-Clause
 * Questions to an engine that somebody waits for. Each is answered once: by the engine, by its end,
 * or by the clock. A change of filters that comes into force after its time still counts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/checks.h"
#include "daemon/supervisor_private.h"

enum { IMAGE_MOST = 64 << 20, LATE_MS = 60000 };

static void free_request(struct sv_request *request)
{
    free(request->filters);
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

static struct sv_request *add(struct sv_stream *stream, enum sv_request_kind kind,
                              halo_reply *reply, void *arg)
{
    struct halo_supervisor *sv = stream->sv;
    struct sv_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    *request = (struct sv_request){
        .kind = kind,
        .stream = stream,
        .id = ++sv->next_id,
        .deadline = sv_now(sv) + SV_REPLY_MS,
        .reply = reply,
        .arg = arg,
        .next = sv->requests,
    };
    sv->requests = request;
    return request;
}

/* ---- set ---- */

int sv_stream_take_filters(struct sv_stream *stream, const char *filters)
{
    char *copy = strdup(filters);
    if (!copy)
        return -ENOMEM;
    free(stream->settings.filters);
    stream->settings.filters = copy;
    return 0;
}

static void set_is_in_force(struct sv_stream *stream, struct sv_request *request)
{
    sv_stream_take_filters(stream, request->filters);
    sv_feed_forget(stream);
    halo_log(HALO_LOG_INFO, "stream %s: filters are now %s", stream->name, request->filters);
    sv_event(stream->sv, "set", stream->name, NULL, request->filters);
    reply_with(request, json_pack("{s:s, s:s}", "name", stream->name, "filters", request->filters));
}

static int send_set(struct sv_stream *stream, const struct sv_request *request)
{
    json_t *chains = json_array(), *message = sv_do("set", stream);
    json_array_append_new(chains, json_string(request->filters));
    for (int i = 0; i < stream->settings.renditions; i++)
        json_array_append_new(chains, json_string(stream->settings.rendition[i].filters));
    json_object_set_new(message, "id", json_integer((json_int_t)request->id));
    json_object_set_new(message, "chains", chains);
    return sv_engine_send(stream->engine, message);
}

/* Nobody is there: they are in force for whatever comes. */
static int set_at_once(struct sv_stream *stream, struct sv_request *request)
{
    char *coming = stream->coming ? strdup(request->filters) : NULL;
    if (stream->coming && !coming)
        return -ENOMEM;
    if (coming) {
        free(stream->coming->filters);
        stream->coming->filters = coming;
    }
    sv_ring_close_all(stream, true); /* one that stops still writes under the old ones */
    sv_request_fail_all(stream, "other filters were set meanwhile");
    set_is_in_force(stream, request);
    return 0;
}

int sv_request_set(struct sv_stream *stream, const char *filters, halo_reply *reply, void *arg,
                   struct halo_error *err)
{
    const int ret =
        halo_checks.filters(filters, (enum halo_privacy)stream->settings.privacy, err);
    if (ret < 0)
        return ret;
    struct sv_request *request = add(stream, SV_SET, reply, arg);
    if (request)
        request->filters = strdup(filters);
    if (!request || !request->filters) {
        if (request)
            unlink_request(stream->sv, request);
        free(request);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    int done = stream->phase == SV_IN ? send_set(stream, request) : -EPIPE;
    if (done == 0)
        return 0;
    unlink_request(stream->sv, request);
    if (done == -EPIPE)
        done = set_at_once(stream, request);
    free_request(request);
    return done == 0 ? 0 : halo_fail(err, done, "the filters cannot be sent: %s", strerror(-done));
}

/* ---- snapshot ---- */

int sv_request_snapshot(struct sv_stream *stream, const char *format, halo_reply *reply, void *arg,
                        struct halo_error *err)
{
    if (strcmp(format, "png") != 0 && strcmp(format, "jpg") != 0)
        return halo_fail_usage(err, "a snapshot is png or jpg, not '%s'", format);
    if (stream->phase != SV_IN)
        return halo_fail(err, -EAGAIN, "stream '%s' is not running", stream->name);
    struct sv_request *request = add(stream, SV_SNAPSHOT, reply, arg);
    if (!request)
        return halo_fail(err, -ENOMEM, "out of memory");
    snprintf(request->format, sizeof request->format, "%s", format);
    json_t *message = sv_do("snapshot", stream);
    json_object_set_new(message, "id", json_integer((json_int_t)request->id));
    json_object_set_new(message, "format", json_string(format));
    if (sv_engine_send(stream->engine, message) == 0)
        return 0;
    unlink_request(stream->sv, request);
    free_request(request);
    return halo_fail(err, -EAGAIN, "the engine of '%s' is away", stream->name);
}

/* Bytes of an image in sealed memory, so that nobody changes it while it is read; or -1. */
static int64_t image_size(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS), wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct stat found;
    if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &found) < 0)
        return -1;
    return found.st_size > 0 && found.st_size <= IMAGE_MOST ? found.st_size : -1;
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

void sv_request_answer(struct sv_stream *stream, enum sv_request_kind kind, uint64_t id,
                       const char *why, int fd)
{
    struct sv_request *request = stream->sv->requests;
    while (request && (request->id != id || request->stream != stream || request->kind != kind))
        request = request->next;
    if (request) {
        unlink_request(stream->sv, request);
        if (why)
            refuse(request, -EIO, why);
        else if (kind == SV_SET)
            set_is_in_force(stream, request);
        else
            answer_snapshot(request, fd);
        free_request(request);
    }
    if (fd >= 0)
        close(fd);
}

void sv_request_fail_all(struct sv_stream *stream, const char *why)
{
    struct sv_request **at = &stream->sv->requests;
    while (*at) {
        struct sv_request *request = *at;
        if (request->stream != stream) {
            at = &request->next;
            continue;
        }
        *at = request->next;
        refuse(request, -EAGAIN, why);
        free_request(request);
        at = &stream->sv->requests; /* who was told may have asked again */
    }
}

void sv_request_tick(struct halo_supervisor *sv)
{
    const uint64_t now = sv_now(sv);
    for (struct sv_request *r = sv->requests, *next; r; r = next) {
        next = r->next;
        if (now < r->deadline)
            continue;
        const bool keep = r->kind == SV_SET && now < r->deadline + LATE_MS;
        if (!keep)
            unlink_request(sv, r);
        refuse(r, -ETIMEDOUT,
               r->kind == SV_SET
                   ? "no picture came in time: the filters change when the next one does"
                   : "no picture came in time");
        if (!keep)
            free_request(r);
    }
}
