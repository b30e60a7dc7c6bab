/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor: creation and end, the timer, and the functions for control and HTTP. */
#include "daemon/supervisor/supervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/log.h"
#include "config/output_kinds.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/sup_camera.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_detectors.h"
#include "daemon/supervisor/sup_drain.h"
#include "daemon/supervisor/sup_end.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_list.h"
#include "daemon/supervisor/sup_message.h"
#include "daemon/supervisor/sup_process.h"
#include "daemon/supervisor/sup_ready.h"
#include "daemon/supervisor/sup_regions.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "kernels/clock.h"
#include "pipeline/output/output_hook.h"

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
                                halo_checks_leaves(filters))
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

int halo_supervisor_regions(struct halo_supervisor *sv, const char *name, int64_t picture_us,
                            json_t *regions, struct halo_error *err)
{
    struct sv_stream *stream = sv_stream_find(sv, name, err);
    return stream ? sv_regions_send(stream, picture_us, regions, err) : -ENOENT;
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
    return stream && stream->open ? stream->outlet[stream->encodings - HALO_VIEWS + view].feed
                                  : NULL;
}
