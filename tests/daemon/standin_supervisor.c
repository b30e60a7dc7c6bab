/* SPDX-License-Identifier: BSD-2-Clause
 * The interface of supervisor.h, and the part of feed.h that takers use, with canned answers.
 * Filters named "bad" are refused, "late" ones fail after a while, others are in force then. */
#include "tests/daemon/standin_supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/option.h"
#include "pipeline/base/histogram.h"

enum { FRAME_MS = 40, ANSWER_MS = 60 };

struct halo_feed {
    struct halo_feed_taker *first;
    bool ended;
};

struct canned_stream {
    struct halo_feed feed;
    const char *state;
    char *filters;
    json_t *hides; /* NULL: none */
    json_int_t frames;
    bool recording;
};

struct answer {
    uv_timer_t timer;
    struct answer *next;
    struct halo_supervisor *sv;
    halo_reply *reply;
    void *arg;
    char filters[128];
    bool snapshot;
    char format[8];
    struct canned_stream *hides; /* the stream that hides this under the id; NULL: none */
    char id[32];
};

struct halo_supervisor {
    uv_loop_t *loop;
    struct halo_daemon_settings *settings;
    struct canned_stream *stream;
    struct halo_listener *first;
    const void *jpeg;
    size_t jpeg_size;
    uv_timer_t timer;
    int64_t pts;
    bool closed;
};

static int find(const struct halo_supervisor *sv, const char *name, struct halo_error *err)
{
    const char *names[HALO_MAX_STREAMS];
    for (int i = 0; i < sv->settings->streams; i++) {
        names[i] = sv->settings->stream[i].name;
        if (!strcmp(names[i], name))
            return i;
    }
    char near[HALO_NEAREST_WORDS];
    return halo_fail(err, -ENOENT, "no stream '%.64s'%s", name,
                     halo_nearest_words(near, name, names, (size_t)sv->settings->streams));
}

static json_t *stage(double p50)
{
    json_t *below = json_array();
    for (int i = 0, past = 0; i < HALO_HISTOGRAM_EDGES; i++) {
        past += (double)halo_histogram_edge(i) >= p50 * 1e6;
        json_array_append_new(below, json_integer(past == 0 ? i : past == 1 ? 990 : 1000));
    }
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:o}", "count", 1000, "sum", p50 * 1000, "p50",
                     p50, "p95", p50 * 1.5, "p99", p50 * 2, "most", p50 * 3, "below", below);
}

/* The fields are docs/control.md's. */
static json_t *stream_status(const struct halo_supervisor *sv, int i)
{
    const struct canned_stream *s = &sv->stream[i];
    const bool failed = !strcmp(s->state, "failed");
    int takers = 0;
    for (const struct halo_feed_taker *t = s->feed.first; t; t = t->next)
        takers++;
    json_t *status = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:s, s:i, s:i, s:b}", "name",
                               sv->settings->stream[i].name, "state", s->state, "why",
                               failed ? "no \"such\" file" : "", "backend", "cpu", "width", 1280,
                               "height", 720, "rate", 25.0, "filters", s->filters, "viewers",
                               takers, "restarts", 1, "recording", s->recording);
    json_t *more =
        json_pack("{s:I, s:I, s:I, s:I, s:i, s:i}", "decoded", s->frames, "filtered", s->frames,
                  "encoded", s->frames, "bytes", s->frames * 1000, "opened", 1, "damaged", 1);
    json_object_update_new(status, more);
    json_object_set_new(status, "base", json_string(s->filters));
    json_object_set_new(status, "hides", s->hides ? json_incref(s->hides) : json_object());
    json_object_set_new(status, "revision", json_integer(0));
    json_object_set_new(
        status, "dropped",
        json_pack("{s:i, s:i, s:i, s:i}", "late", 2, "encoder", 0, "damaged", 1, "rate", 0));
    json_object_set_new(status, "stages",
                        json_pack("{s:o, s:o, s:o, s:o}", "decode", stage(2), "filter", stage(4),
                                  "encode", stage(3), "total", stage(11)));
    json_object_set_new(status, "gpu",
                        i ? json_null()
                          : json_pack("{s:i, s:I, s:I}", "number", 1, "memory_used_bytes",
                                      (json_int_t)5000000001, "memory_size_bytes",
                                      (json_int_t)80000000000));
    json_object_set_new(status, "outputs",
                        json_pack("[{s:s, s:s, s:i, s:i, s:i, s:i}, {s:s, s:s, s:i}, "
                                  "{s:s, s:s, s:i}, {s:s}]",
                                  "kind", "unix", "target", "/run/halod/x.ts", "viewers", 3,
                                  "sent_bytes", 5000, "dropped_packets", 4, "cut", 0, "kind", "url",
                                  "target", "rtmp://a/***", "bytes", 6, "kind", "url", "target",
                                  "rtmp://a/***", "bytes", 7, "kind", "null"));
    return status;
}

json_t *halo_supervisor_status(const struct halo_supervisor *sv)
{
    json_t *streams = json_array();
    for (int i = 0; i < sv->settings->streams; i++)
        json_array_append_new(streams, stream_status(sv, i));
    return json_pack("{s:o, s:[{s:s, s:i, s:s, s:i}, {s:s, s:[{s:i, s:I, s:I}]}], s:f}", "streams",
                     streams, "engines", "name", "cpu", "pid", 1234, "state", "running", "restarts",
                     1, "name", "gpu1", "gpus", "number", 1, "memory_used_bytes",
                     (json_int_t)5000000001, "memory_size_bytes", (json_int_t)80000000000, "since",
                     1.7e9);
}

json_t *halo_supervisor_stream(struct halo_supervisor *sv, const char *name, struct halo_error *err)
{
    const int i = find(sv, name, err);
    return i < 0 ? NULL : stream_status(sv, i);
}

json_t *halo_supervisor_chain(struct halo_supervisor *sv, const char *name, struct halo_error *err)
{
    return halo_supervisor_stream(sv, name, err);
}

const struct halo_daemon_settings *halo_supervisor_settings(const struct halo_supervisor *sv)
{
    return sv->settings;
}

json_t *halo_supervisor_detectors(const struct halo_supervisor *sv)
{
    (void)sv;
    return json_array();
}

static void report(struct halo_supervisor *sv, const char *name, const char *what,
                   const char *state)
{
    json_t *event = json_pack("{s:f, s:s, s:s, s:s, s:s}", "time", 1.7e9, "event", what, "stream",
                              name, "state", state, "why", "asked for");
    struct halo_listener *next;
    for (struct halo_listener *l = sv->first; l; l = next) {
        next = l->next;
        l->event(l, event);
    }
    json_decref(event);
}

static void free_answer(uv_handle_t *handle)
{
    free(handle->data);
}

static void answer_snapshot(const struct answer *a)
{
    const struct halo_supervisor *sv = a->sv;
    const int fd = memfd_create("snapshot", MFD_CLOEXEC);
    const bool whole = write(fd, sv->jpeg, sv->jpeg_size) == (ssize_t)sv->jpeg_size;
    json_t *result = json_pack("{s:s, s:I, s:i}", "format", a->format, "size",
                               (json_int_t)(whole ? sv->jpeg_size : 0), "fd", fd);
    a->reply(a->arg, result, NULL);
    json_decref(result);
    close(fd);
}

/* Additions are in force from the call on. */
static void put_hide(const struct answer *a)
{
    json_t *hides = a->hides->hides ? a->hides->hides : json_object();
    a->hides->hides = hides;
    if (*a->filters)
        json_object_set_new(hides, a->id, json_string(a->filters));
    else
        json_object_del(hides, a->id);
    const char *name = a->sv->settings->stream[a->hides - a->sv->stream].name;
    report(a->sv, name, "set", a->hides->state);
}

static void on_answer(uv_timer_t *timer)
{
    struct answer *a = timer->data;
    struct halo_error err = {0};
    if (a->hides)
        put_hide(a);
    if (a->snapshot && a->sv->jpeg) {
        answer_snapshot(a);
    } else if (a->snapshot || strstr(a->filters, "late")) {
        halo_fail(&err, -ETIMEDOUT, "no picture came in two seconds: haloctl status says why");
        a->reply(a->arg, NULL, &err);
    } else {
        json_t *result = json_object();
        a->reply(a->arg, result, NULL);
        json_decref(result);
    }
    uv_close((uv_handle_t *)timer, free_answer);
}

static int answer_later(struct halo_supervisor *sv, struct answer proto)
{
    struct answer *a = malloc(sizeof *a);
    *a = proto;
    a->sv = sv;
    uv_timer_init(sv->loop, &a->timer);
    a->timer.data = a;
    uv_timer_start(&a->timer, on_answer, ANSWER_MS, 0);
    return 0;
}

int halo_supervisor_set(struct halo_supervisor *sv, const char *name, const char *filters,
                        halo_reply *reply, void *arg, struct halo_error *err)
{
    const int i = find(sv, name, err);
    if (i < 0)
        return i;
    if (!strncmp(filters, "bad", 3))
        return halo_fail_usage(err, "filters: no filter '%.40s' (nearest: gblur)", filters);
    struct answer a = {.reply = reply, .arg = arg};
    snprintf(a.filters, sizeof a.filters, "%s", filters);
    free(sv->stream[i].filters);
    sv->stream[i].filters = strdup(filters);
    report(sv, name, "set", sv->stream[i].state);
    return answer_later(sv, a);
}

json_t *halo_supervisor_check(struct halo_supervisor *sv, const char *name, const char *filters,
                              struct halo_error *err)
{
    if (find(sv, name, err) < 0)
        return NULL;
    if (!strncmp(filters, "bad", 3)) {
        halo_fail_usage(err, "filters: no filter '%.40s' (nearest: gblur)", filters);
        return NULL;
    }
    return json_pack("{s:{s:s}, s:[]}", "coverage", "words", "all", "leaves");
}

int halo_supervisor_hide(struct halo_supervisor *sv, const char *name, const struct halo_hide *hide,
                         halo_reply *reply, void *arg, struct halo_error *err)
{
    const int i = find(sv, name, err);
    if (i < 0)
        return i;
    struct answer a = {.reply = reply, .arg = arg, .hides = &sv->stream[i]};
    snprintf(a.id, sizeof a.id, "%s", hide->id);
    snprintf(a.filters, sizeof a.filters, "%s", hide->filters);
    return answer_later(sv, a);
}

int halo_supervisor_control(struct halo_supervisor *sv, const char *name,
                            const struct halo_control_value *to, halo_reply *reply, void *arg,
                            struct halo_error *err)
{
    const int i = find(sv, name, err);
    if (i < 0)
        return i;
    if (strcmp(to->control, "brightness") != 0 || to->value > 255)
        return halo_fail_usage(err, "no control '%.40s' (nearest: brightness)", to->control);
    struct answer a = {.reply = reply, .arg = arg};
    report(sv, name, "control", sv->stream[i].state);
    return answer_later(sv, a);
}

int halo_supervisor_regions(struct halo_supervisor *sv, const char *name, int64_t picture_us,
                            json_t *regions, struct halo_error *err)
{
    const int i = find(sv, name, err);
    if (i < 0)
        return i;
    if (picture_us == 1)
        return halo_fail_usage(err, "stream '%.64s' has no region_feed in its settings", name);
    sv->stream[i].frames += (json_int_t)json_array_size(regions); /* seen in the status */
    return 0;
}

int halo_supervisor_snapshot(struct halo_supervisor *sv, const char *name,
                             const struct halo_shot *shot, halo_reply *reply, void *arg,
                             struct halo_error *err)
{
    const int i = find(sv, name, err);
    struct answer a = {.reply = reply, .arg = arg, .snapshot = true};
    snprintf(a.format, sizeof a.format, "%s", shot->format);
    return i < 0 ? i : answer_later(sv, a);
}

int halo_supervisor_act(struct halo_supervisor *sv, const char *name, const char *action,
                        struct halo_error *err)
{
    const int i = find(sv, name, err);
    if (i < 0)
        return i;
    sv->stream[i].state = strcmp(action, "stop") ? "running" : "stopped";
    report(sv, name, "state", sv->stream[i].state);
    return 0;
}

int halo_supervisor_record(struct halo_supervisor *sv, const char *name, bool on,
                           struct halo_error *err)
{
    const int i = find(sv, name, err);
    if (i < 0)
        return i;
    if (i > 0)
        return halo_fail_usage(err, "%.64s has no file among its outputs", name);
    sv->stream[i].recording = on;
    return 0;
}

int halo_supervisor_reload(struct halo_supervisor *sv, struct halo_daemon_settings *settings,
                           const char *kept, halo_reply *reply, void *arg, struct halo_error *err)
{
    (void)sv;
    (void)settings;
    (void)kept;
    (void)err;
    json_t *result = json_pack("{s:[], s:[], s:[], s:[], s:[]}", "added", "removed", "changed",
                               "set", "refused");
    reply(arg, result, NULL);
    json_decref(result);
    return 0;
}

struct halo_feed *halo_supervisor_feed(struct halo_supervisor *sv, const char *name,
                                       enum halo_view view)
{
    (void)view;
    const int i = find(sv, name, NULL);
    return i < 0 ? NULL : &sv->stream[i].feed;
}

bool halo_supervisor_is_engine(struct halo_supervisor *sv, pid_t pid)
{
    (void)sv;
    (void)pid;
    return false;
}

void halo_supervisor_forget_dead(struct halo_supervisor *sv)
{
    (void)sv;
}

void halo_supervisor_listen(struct halo_supervisor *sv, struct halo_listener *listener)
{
    listener->next = sv->first;
    sv->first = listener;
}

void halo_supervisor_unlisten(struct halo_supervisor *sv, struct halo_listener *listener)
{
    struct halo_listener **at = &sv->first;
    while (*at && *at != listener)
        at = &(*at)->next;
    if (*at)
        *at = listener->next;
}

void halo_feed_join(struct halo_feed *feed, struct halo_feed_taker *taker)
{
    taker->feed = feed;
    taker->next = feed->first;
    feed->first = taker;
}

void halo_feed_leave(struct halo_feed_taker *taker)
{
    if (!taker->feed)
        return;
    struct halo_feed_taker **at = &taker->feed->first;
    while (*at != taker)
        at = &(*at)->next;
    *at = taker->next;
    taker->feed = NULL;
}

static void feed_packet(struct halo_feed *feed, const AVPacket *pkt)
{
    static const struct halo_live_begin begin = {0};
    struct halo_feed_taker *next;
    for (struct halo_feed_taker *t = feed->first; t; t = next) {
        next = t->next;
        if (!t->begun) {
            t->begun = true;
            t->begin(t, &begin);
        }
        t->packet(t, pkt);
    }
}

static void on_frame(uv_timer_t *timer)
{
    struct halo_supervisor *sv = timer->data;
    AVPacket *pkt = sv->jpeg ? av_packet_alloc() : NULL;
    if (!pkt || av_new_packet(pkt, (int)sv->jpeg_size))
        return;
    memcpy(pkt->data, sv->jpeg, sv->jpeg_size);
    pkt->pts = pkt->dts = sv->pts += FRAME_MS * 1000;
    pkt->flags = AV_PKT_FLAG_KEY;
    for (int i = 0; i < sv->settings->streams; i++) {
        sv->stream[i].frames++;
        if (!strcmp(sv->stream[i].state, "running"))
            feed_packet(&sv->stream[i].feed, pkt);
    }
    av_packet_free(&pkt);
}

struct halo_supervisor *standin_create(uv_loop_t *loop, struct halo_daemon_settings *settings,
                                       const void *jpeg, size_t size)
{
    struct halo_supervisor *sv = calloc(1, sizeof *sv);
    *sv = (struct halo_supervisor){
        .loop = loop, .settings = settings, .jpeg = jpeg, .jpeg_size = size};
    sv->stream = calloc((size_t)settings->streams + 1, sizeof *sv->stream);
    for (int i = 0; i < settings->streams; i++) {
        sv->stream[i].state = i == 2 ? "failed" : "running";
        sv->stream[i].filters = strdup("gblur=sigma=12");
    }
    uv_timer_init(loop, &sv->timer);
    sv->timer.data = sv;
    uv_timer_start(&sv->timer, on_frame, FRAME_MS, FRAME_MS);
    return sv;
}

void standin_flood(struct halo_supervisor *sv, int count)
{
    for (int i = 0; i < count; i++)
        report(sv, sv->settings->stream[0].name, "state", "running");
}

void standin_end(struct halo_supervisor *sv)
{
    for (int i = 0; i < sv->settings->streams; i++) {
        struct halo_feed_taker *t;
        while ((t = sv->stream[i].feed.first)) {
            halo_feed_leave(t);
            t->end(t, "the stream is stopped");
        }
    }
    if (!sv->closed)
        uv_close((uv_handle_t *)&sv->timer, NULL);
    sv->closed = true;
}

void standin_destroy(struct halo_supervisor *sv)
{
    for (int i = 0; i < sv->settings->streams; i++) {
        json_decref(sv->stream[i].hides);
        free(sv->stream[i].filters);
    }
    free(sv->stream);
    free(sv);
}
