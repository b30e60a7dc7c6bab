/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor: creation and end, the timer, and the functions for control and HTTP. */
#include "daemon/supervisor/supervisor.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/output_kinds.h"
#include "daemon/link/link.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/sup_camera.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_detectors.h"
#include "daemon/supervisor/sup_drain.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_list.h"
#include "daemon/supervisor/sup_lost.h"
#include "daemon/supervisor/sup_message.h"
#include "daemon/supervisor/sup_process.h"
#include "daemon/supervisor/sup_ready.h"
#include "daemon/supervisor/sup_regions.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_share.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "kernels/clock.h"
#include "kernels/fault.h"
#include "pipeline/output/output_hook.h"

/* ---- the end ---- */

/* Handles the end of engine processes: reports the reason, and kills a process at a timeout (if it
 * sends no hello, is silent, or does not release a stream). Loop thread only. */

enum {
    HELLO_MS = 10000,    /* to load its libraries on a busy machine */
    GONE_MS = 15000,     /* for a stream to finish */
    LAST_WORDS_MS = 200, /* between the end of a link and the end of its process */
};

static void describe_end(char *text, size_t size, int64_t status, int number)
{
    if (number)
        snprintf(text, size, "the engine was ended by signal %d (%s)", number, strsignal(number));
    else if (status == HALO_EXIT_TRY_AGAIN)
        snprintf(text, size, "the GPU failed (the engine ended with status %d)",
                 HALO_EXIT_TRY_AGAIN);
    else
        snprintf(text, size, "the engine ended with status %lld", (long long)status);
}

/* Logs the end of a process that was released before. */
static void say_end(const struct sv_process *process, int64_t status, int number)
{
    char why[160];
    describe_end(why, sizeof why, status, number);
    halo_log(HALO_LOG_INFO, "engine %s (process %d): %s", process->name, process->process.pid, why);
}

/* The engine is lost: reports what happened, and which stream requested it. */
static void lose(struct sv_process *process, const char *what, bool device)
{
    char why[600];
    if (process->asker[0])
        snprintf(why, sizeof why, "%.250s; requested by stream %s: %s", what, process->asker,
                 process->asked);
    else
        snprintf(why, sizeof why, "%s", what);
    sv_engine_lost(process->engine, why, device);
}

/* Called when a process has exited; child->data is its struct sv_process. */
static void sv_end_on_exit(struct halo_process *child, int64_t status, int number)
{
    struct sv_process *process = child->data;
    struct sv_engine *engine = process->engine;
    process->exited = true;
    if (process->link && !process->closed)
        /* its last messages may announce cards and finished files */
        halo_link_drain(process->link);
    if (!engine) {
        say_end(process, status, number);
        sv_process_forget(process);
        return;
    }
    if (!process->engine)
        return; /* one of these messages has already ended it */
    char why[160];
    describe_end(why, sizeof why, status, number);
    const bool device = process->device || (!number && status == HALO_EXIT_TRY_AGAIN);
    lose(process, why, device); /* forgets it */
}

/* Handles a released process. If it still has a link, it was asked to quit; otherwise it was
 * killed. */
static void step_leaving(struct sv_process *process)
{
    struct halo_supervisor *sv = process->sv;
    if (process->deadline == UINT64_MAX || sv_now(sv) < process->deadline)
        return;
    if (process->link) {
        halo_log(HALO_LOG_WARNING, "engine process %d did not finish in time and is being killed",
                 process->process.pid);
        sv_process_kill(process);
        return;
    }
    sv_process_judge(process);
}

static bool leaves_too_long(const struct sv_engine *engine, uint64_t now)
{
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next)
        if (s->place.engine == engine && s->place.phase == SV_LEAVING &&
            now - s->place.since >= GONE_MS)
            return true;
    return false;
}

/* The supervisor ends a process that stalled. */
static void lose_standing(struct sv_process *process, const char *why)
{
    char what[160];
    snprintf(what, sizeof what, "killed: %s", why);
    sv_engine_stalled(process->engine);
    lose(process, what, false);
}

/* The process has closed its link but has not ended. */
static void lose_closed(struct sv_process *process)
{
    char what[300];
    snprintf(what, sizeof what,
             "killed: its connection was closed (%s), but the process did not exit",
             process->closed_why);
    lose(process, what, process->device);
}

/* The time for which the process was ready to run but had no processor does not count. */
static bool is_silent(struct sv_process *process, uint64_t now)
{
    const uint64_t since = process->said_hello ? process->heard : process->started;
    const uint64_t most = process->said_hello ? HALO_ENGINE_SILENCE_MS : HELLO_MS;
    const pid_t pid = process->process.pid;
    if (process->looked != process->heard) {
        process->looked = process->heard;
        process->waited = sv_share_waited(pid);
    }
    if (now - since < most || halo_fault("supervisor", "silence"))
        return false;
    const uint64_t waited = sv_share_waited(pid);
    return now - since >= most + (waited > process->waited ? waited - process->waited : 0);
}

/* Called by the timer; kills the process if it has exceeded a time limit. */
static void sv_end_step(struct sv_process *process)
{
    const uint64_t now = sv_now(process->sv);
    struct sv_engine *engine = process->engine;
    if (!engine)
        step_leaving(process);
    else if (process->closed && now - process->closed >= LAST_WORDS_MS &&
             !sv_share_ended(process->process.pid) && !halo_fault("supervisor", "exit"))
        lose_closed(process);
    else if (process->closed)
        return;
    else if (is_silent(process, now))
        lose_standing(process, process->said_hello ? "it was silent for three seconds"
                                                   : "it did not start in time");
    else if (leaves_too_long(engine, now) && !halo_fault("supervisor", "exit"))
        lose_standing(process, "a stream did not end in time");
}

enum {
    TICK_MS = 50,
    STALL_MS = 1000, /* without a tick: the whole process was suspended */
    STOP_MS = 9500,  /* the header promises ten seconds in all ... */
    HOOKS_MS = 300,  /* ... including this */
};

/* ---- the clock ---- */

/* If this process was suspended, the engines may have been, too: their silence counts from now on,
 * and what they have been told to do may take as much longer. */
static void forgive(struct halo_supervisor *sv, uint64_t now)
{
    if (now - sv->ticked < STALL_MS)
        return;
    for (struct sv_process *p = sv->processes; p; p = p->next)
        sv_process_forgive(p, now);
    for (struct sv_stream *s = sv->streams; s; s = s->next)
        if (s->place.phase == SV_LEAVING)
            s->place.since = sv_forgive(sv, s->place.since, now);
}

static void finish_stop(struct halo_supervisor *sv);

static void on_tick(uv_timer_t *timer)
{
    struct halo_supervisor *sv = timer->data;
    const uint64_t now = sv_now(sv);
    forgive(sv, now);
    sv->ticked = now;
    for (struct sv_process *p = sv->processes, *next; p; p = next) {
        next = p->next;
        sv_end_step(p);
    }
    if (sv->stopping) {
        finish_stop(sv);
        return;
    }
    for (struct sv_engine *e = sv->engines, *next; e; e = next) {
        next = e->next;
        sv_engine_step_choosing(e);
        sv_engine_step(e);
    }
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        sv_drain_tick(s);
        sv_stream_step(s);
    }
    sv_request_tick(sv);
    sv_hides_tick(sv);
}

/* ---- life ---- */

int halo_supervisor_create(struct halo_supervisor **ret, uv_loop_t *loop, const char *program,
                           struct halo_daemon_settings *settings, struct halo_error *err)
{
    struct halo_supervisor *sv = calloc(1, sizeof *sv);
    if (!sv || !(sv->packet = av_packet_alloc())) {
        free(sv);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    sv->since = halo_unix_time();
    sv->loop = loop;
    sv->program = program;
    sv->on_exit = sv_end_on_exit;
    sv->link_ops = &sv_link_ops;
    if (sv_detectors_create(sv) < 0) {
        halo_supervisor_destroy(sv);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    sv->settings = settings;
    int code = sv_hides_load(sv, err);
    for (int i = 0; code == 0 && i < settings->streams; i++)
        code = sv_stream_create(sv, &settings->stream[i], err);
    if (code < 0) {
        sv->settings = NULL; /* still the caller's */
        halo_supervisor_destroy(sv);
        return code;
    }
    uv_timer_init(loop, &sv->tick);
    uv_idle_init(loop, &sv->drain);
    uv_timer_init(loop, &sv->regions);
    sv->handles = 3;
    sv->tick.data = sv->drain.data = sv->regions.data = sv;
    *ret = sv;
    return 0;
}

void halo_supervisor_start(struct halo_supervisor *sv)
{
    struct halo_error ignored = {0}; /* the stream's next step tries again, and reports it */
    for (struct sv_stream *s = sv->streams; s; s = s->next)
        if (s->place.wanted)
            (void)sv_feed_open(s, &ignored);
    uv_update_time(sv->loop);
    sv->ticked = sv_now(sv);
    uv_timer_start(&sv->tick, on_tick, 0, TICK_MS);
}

static void on_closed(uv_handle_t *handle)
{
    struct halo_supervisor *sv = handle->data;
    if (--sv->handles == 0 && sv->stopped)
        sv->stopped(sv->stopped_arg);
}

static void finish_stop(struct halo_supervisor *sv)
{
    if (sv->processes && sv_now(sv) < sv->stop_deadline)
        return;
    sv_process_forget_all(sv);
    sv_detectors_destroy(sv);
    halo_hook_wait_begun(HOOKS_MS);
    while (sv->streams)
        sv_stream_destroy(sv->streams);
    uv_close((uv_handle_t *)&sv->tick, on_closed);
    uv_close((uv_handle_t *)&sv->drain, on_closed);
    uv_close((uv_handle_t *)&sv->regions, on_closed);
}

void halo_supervisor_stop(struct halo_supervisor *sv, void (*done)(void *arg), void *arg)
{
    if (sv->stopping)
        return;
    sv->stopping = true;
    sv->stopped = done;
    sv->stopped_arg = arg;
    sv->stop_deadline = sv_now(sv) + STOP_MS;
    for (struct sv_stream *s = sv->streams; s; s = s->next) {
        sv_request_fail_all(s, "halod is stopping");
        sv_feed_close(s, "halod is stopping");
        sv_camera_close(s);
        s->place.phase = SV_OUT;
        s->place.engine = NULL;
        if (s->place.wanted)
            sv_stream_state(s, SV_STOPPED, "halod is stopping");
    }
    while (sv->engines)
        sv_engine_drop(sv->engines);
    uv_timer_start(&sv->tick, on_tick, 0, TICK_MS);
}

void halo_supervisor_destroy(struct halo_supervisor *sv)
{
    if (!sv)
        return;
    sv_detectors_destroy(sv);
    while (sv->streams)
        sv_stream_destroy(sv->streams);
    if (sv->hides)
        sv_hides_end(sv);
    halo_daemon_settings_destroy(sv->settings);
    av_packet_free(&sv->packet);
    free(sv->dead);
    free(sv);
}

/* ---- for control, HTTP and signals ---- */

const struct halo_daemon_settings *halo_supervisor_settings(const struct halo_supervisor *sv)
{
    return sv->settings;
}

json_t *halo_supervisor_detectors(const struct halo_supervisor *sv)
{
    return halo_checks_detectors(sv->settings);
}

int halo_supervisor_set(struct halo_supervisor *sv, const char *name, const char *filters,
                        halo_reply *reply, void *arg, struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    const struct sv_change change = {.base = filters};
    return stream ? sv_request_set(stream, &change, reply, arg, err) : -ENOENT;
}

int halo_supervisor_hide(struct halo_supervisor *sv, const char *name, const struct halo_hide *hide,
                         halo_reply *reply, void *arg, struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    const struct sv_change change = {.id = hide->id, .hide = hide->filters};
    return stream ? sv_request_set(stream, &change, reply, arg, err) : -ENOENT;
}

json_t *halo_supervisor_check(struct halo_supervisor *sv, const char *name, const char *filters,
                              struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    if (!stream || sv_request_check(stream, filters, err) < 0)
        return NULL;
    json_t *coverage = halo_checks_hides(filters, stream->stats.width, stream->stats.height, err);
    return coverage ? json_pack("{s:o, s:o}", "coverage", coverage, "leaves",
                                halo_checks_disclosure(filters))
                    : NULL;
}

int halo_supervisor_control(struct halo_supervisor *sv, const char *name,
                            const struct halo_control_value *to, halo_reply *reply, void *arg,
                            struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    return stream ? sv_request_control(stream, to, reply, arg, err) : -ENOENT;
}

int halo_supervisor_snapshot(struct halo_supervisor *sv, const char *name,
                             const struct halo_shot *shot, halo_reply *reply, void *arg,
                             struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    return stream ? sv_request_snapshot(stream, shot, reply, arg, err) : -ENOENT;
}

int halo_supervisor_act(struct halo_supervisor *sv, const char *name, const char *action,
                        struct halo_error *err)
{
    static const struct {
        const char *name;
        void (*act)(struct sv_stream *stream);
    } actions[] = {
        {"start", sv_stream_start}, {"stop", sv_stream_stop}, {"restart", sv_stream_again}};
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    if (!stream)
        return -ENOENT;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, action)) {
            actions[i].act(stream);
            return 0;
        }
    return halo_fail_usage(err, "there is no action '%s': use start, stop or restart", action);
}

int halo_supervisor_record(struct halo_supervisor *sv, const char *name, bool on,
                           struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    if (!stream)
        return -ENOENT;
    if (!sv_stream_can_record(stream))
        return halo_fail_usage(err, "stream '%s' has no output of the kind 'file'", name);
    stream->recording = on;
    if (stream->place.phase == SV_IN)
        sv_stream_report_recording(stream);
    sv_event(sv, "record", name, on ? "on" : "off", NULL);
    return 0;
}

int halo_supervisor_regions(struct halo_supervisor *sv, const char *name, int64_t frame_us,
                            json_t *regions, struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    return stream ? sv_regions_send(stream, frame_us, regions, err) : -ENOENT;
}

void halo_supervisor_log_level(struct halo_supervisor *sv, int level)
{
    if ((int)halo_log_get_level() == level)
        return;
    halo_log_set_level((enum halo_log_level)level);
    for (struct sv_engine *e = sv->engines; e; e = e->next)
        sv_engine_send(e, json_pack("{s:s, s:i}", "do", "log", "level", level));
}

struct halo_feed *halo_supervisor_feed(struct halo_supervisor *sv, const char *name,
                                       enum halo_view view)
{
    struct halo_error ignored = {0};
    struct sv_stream *stream = sv_stream_find(sv, name, &ignored);
    return stream && stream->open ? stream->packet_feed[stream->encodings - HALO_VIEWS + view].feed
                                  : NULL;
}
