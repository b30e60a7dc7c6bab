/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_message.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/engine/refusals.h"
#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_degraded.h"
#include "daemon/supervisor/sup_detectors.h"
#include "daemon/supervisor/sup_drain.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_hook.h"
#include "daemon/supervisor/sup_lost.h"
#include "daemon/supervisor/sup_ready.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/sup_suspects.h"
#include "daemon/supervisor/supervisor.h"
#include "kernels/version.h"
#include "pipeline/base/degradation.h"
#include "pipeline/camera/camera_find.h"

/* ---- stray messages ---- */

enum {
    STRAYS_MAX = 100, /* malformed messages of an engine within ... */
    STRAYS_MS = 60000,
};

/* Counts one invalid message or forbidden connection from the process; after too many of them, the
 * process is killed. `what` describes the act in the log, in a phrase without a subject, such as
 * "sent an invalid message". */
static void sv_process_strays(struct sv_process *process, const char *what)
{
    const uint64_t now = sv_now(process->sv);
    struct sv_engine *engine = process->engine;
    if (!engine)
        return;
    engine->ignored++;
    if (now - process->senseless_since >= STRAYS_MS) {
        process->senseless = 0;
        process->senseless_since = now;
    }
    if (process->senseless++ == 0)
        halo_log(HALO_LOG_WARNING, "engine %s (process %d) %s: ignored", engine->name,
                 process->process.pid, what);
    if (process->senseless <= STRAYS_MAX)
        return;
    char why[160];
    snprintf(why, sizeof why, "it %s more than %d times in a minute", what, (int)STRAYS_MAX);
    sv_engine_lost(engine, why, false);
}

/* ---- the control socket ---- */

void halo_supervisor_forget_dead(struct halo_supervisor *sv)
{
    sv->deads = 0;
}

/* 0: unknown. */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    int parent = 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *name_end = strrchr(text, ')'); /* a name may contain any characters */
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool was_engine(const struct halo_supervisor *sv, pid_t pid)
{
    for (int i = 0; i < sv->deads; i++)
        if (sv->dead[i] == pid)
            return true;
    return false;
}

static struct sv_process *process_of(const struct halo_supervisor *sv, pid_t pid)
{
    struct sv_process *process = sv->processes;
    while (process && process->process.pid != pid)
        process = process->next;
    return process;
}

bool halo_supervisor_is_engine(struct halo_supervisor *sv, pid_t pid)
{
    enum { MAX_PARENTS = 64 };
    for (int i = 0; i < MAX_PARENTS && pid > 1 && pid != getpid(); i++, pid = parent_of(pid)) {
        struct sv_process *process = process_of(sv, pid);
        if (!process && !was_engine(sv, pid))
            continue;
        if (process && process->engine)
            sv_process_strays(process, "tried to control halod");
        else
            halo_log(HALO_LOG_WARNING,
                     "process %d, which belonged to an engine that has ended, tried to control "
                     "halod: refused",
                     (int)pid);
        return true;
    }
    return false;
}

/* ---- messages ---- */

/* The stream of a message, if it is on this engine. */
static struct sv_stream *stream_of(struct sv_engine *engine, const char *name)
{
    for (struct sv_stream *s = engine->sv->streams; name && s; s = s->next)
        if (s->place.engine == engine && s->place.phase != SV_OUT && !strcmp(s->name, name))
            return s;
    return NULL;
}

static bool take_hello(struct sv_process *process, const json_t *message, int calls)
{
    char who[120];
    const char *version = json_string_value(json_object_get(message, "version"));
    if (process->said_hello || !version || strcmp(version, HALO_VERSION) != 0) {
        halo_link_close_fds(&calls, calls >= 0);
        return false;
    }
    snprintf(who, sizeof who, "engine %s", process->name);
    if (calls >= 0)
        process->refusals = halo_refusals_answer(process->sv->loop, calls, who);
    process->said_hello = true;
    sv_engine_ready(process->engine);
    return true;
}

static bool take_ring(struct sv_stream *stream, const json_t *message, const int *fds, int count)
{
    const int64_t encoding = halo_json_integer(message, "encoding", 0, stream->encodings - 1, -1);
    const bool good = encoding >= 0 && count == 2 && stream->encoding[encoding].feeds;
    /* If the stream is not open or not in, it is to stop, which the engine cannot know yet, and its
     * frames may have passed older filters. */
    if (!good || !stream->open || stream->place.phase != SV_IN) {
        halo_link_close_fds(fds, count);
        return good;
    }
    sv_drain_add(stream, (int)encoding, fds);
    return true;
}

static bool take_state(struct sv_process *process, struct sv_stream *stream, const json_t *message)
{
    const char *state = json_string_value(json_object_get(message, "state"));
    int which = 0;
    while (which < HALO_LIVE_STATES && (!state || strcmp(halo_live_state_names[which], state)))
        which++;
    if (which == HALO_LIVE_STATES)
        return false;
    char why[600];
    halo_json_text(message, "why", why, sizeof why);
    const bool device = json_is_true(json_object_get(message, "device"));
    const bool stalled = json_is_true(json_object_get(message, "stands"));
    process->device |= device;
    if (stalled)
        sv_engine_stalled(process->engine);
    if ((device || stalled) && !process->asker[0]) {
        snprintf(process->asker, sizeof process->asker, "%s", stream->name);
        snprintf(process->asked, sizeof process->asked, "%.199s", why);
    }
    if (stream->place.phase != SV_IN)
        return true; /* it is stopping: its reports no longer matter */
    const char *degradation = json_string_value(json_object_get(message, "lack"));
    const bool full =
        degradation && !strcmp(degradation, halo_degradation_names[HALO_DEGRADED_GPU_MEMORY]);
    sv_degraded_memory(stream, full, why);
    switch (which) {
    case HALO_LIVE_STARTING:
        sv_stream_state(stream, SV_STARTING, why);
        break;
    case HALO_LIVE_RUNNING:
        sv_stream_state(stream, SV_RUNNING, why);
        break;
    case HALO_LIVE_WAITING:
        sv_stream_state(stream, SV_WAITING, why);
        break;
    case HALO_LIVE_ENDED:
        sv_stream_ended(stream);
        break;
    case HALO_LIVE_FAILED:
        if (json_is_true(json_object_get(message, "stalled")))
            sv_suspect_stalled(stream);
        if (full && stream->settings.restart != HALO_RESTART_NEVER) {
            sv_degraded_wait(stream, why);
            sv_stream_step(stream);
        } else {
            sv_stream_failed(stream, why);
        }
        break;
    }
    sv_degraded_update(stream);
    return true;
}

static bool take_encoding(struct sv_stream *stream, const json_t *message)
{
    const int64_t encoding = halo_json_integer(message, "encoding", 0, stream->encodings - 1, -1);
    if (encoding < 0)
        return false;
    struct sv_packet_feed *packet_feed = &stream->packet_feed[encoding];
    char why[600];
    halo_json_text(message, "why", why, sizeof why);
    if (!strcmp(why, packet_feed->why))
        return true;
    snprintf(packet_feed->why, sizeof packet_feed->why, "%s", why);
    if (why[0])
        halo_log(HALO_LOG_ERROR, "stream %s: an encoding failed: %s", stream->name, why);
    else
        halo_log(HALO_LOG_INFO, "stream %s: the encoding that had failed works again",
                 stream->name);
    sv_event(stream->sv, "encoding", stream->name, why[0] ? "failed" : "running", why);
    return true;
}

static bool take_camera(struct sv_stream *stream, const json_t *message)
{
    struct halo_camera_id id;
    const char *is = json_string_value(json_object_get(message, "is"));
    if (!is || halo_camera_id_read(&id, is) < 0)
        return false;
    char *copy = stream->place.phase == SV_IN ? strdup(is) : NULL;
    if (copy) {
        free(stream->camera_is);
        stream->camera_is = copy;
    }
    return true;
}

static bool take_answer(struct sv_stream *stream, enum sv_request_kind kind, const json_t *message,
                        const int *fds, int count)
{
    const int64_t id = halo_json_integer(message, "id", 0, INT64_MAX, -1);
    const int fd = count == 1 ? fds[0] : -1;
    if (count > 1)
        halo_link_close_fds(fds, count);
    if (id < 0) {
        halo_link_close_fds(&fd, fd >= 0);
        return false;
    }
    char why[600];
    halo_json_text(message, "why", why, sizeof why);
    const struct sv_answer answer = {.id = (uint64_t)id,
                                     .why = why[0] ? why : NULL,
                                     .ended = json_is_true(json_object_get(message, "ended")),
                                     .coverage = json_object_get(message, "coverage"),
                                     .fd = fd};
    sv_request_answer(stream, kind, &answer);
    return true;
}

static bool take_stats(struct sv_engine *engine, const json_t *message)
{
    const char *name;
    json_t *value, *streams = json_object_get(message, "streams");
    if (!json_is_object(streams))
        return false;
    bool good = true;
    const json_t *gpus = json_object_get(message, "gpus");
    if (gpus)
        engine->gpus = halo_link_gpus_read(engine->gpu_memory, gpus);
    json_object_foreach (streams, name, value) {
        struct sv_stream *stream = stream_of(engine, name);
        good &= stream && json_is_object(value);
        if (!stream)
            continue;
        sv_stream_stats(stream, value);
        engine->process->worked |= stream->stats.filtered > 0;
    }
    return good;
}

/* Handles a message about one stream; takes ownership of the descriptors. */
static bool take_of_stream(struct sv_process *process, const char *report, const json_t *message,
                           const int *fds, int count)
{
    struct sv_stream *stream =
        stream_of(process->engine, json_string_value(json_object_get(message, "stream")));
    if (stream && !strcmp(report, "ring"))
        return take_ring(stream, message, fds, count);
    if (stream && !strcmp(report, "snapshot"))
        return take_answer(stream, SV_SNAPSHOT, message, fds, count);
    halo_link_close_fds(fds, count);
    if (!stream)
        return false;
    if (!strcmp(report, "set"))
        return take_answer(stream, SV_SET, message, NULL, 0);
    if (!strcmp(report, "state"))
        return take_state(process, stream, message);
    if (!strcmp(report, "detector"))
        return sv_detectors_take(stream, message);
    if (!strcmp(report, "camera"))
        return take_camera(stream, message);
    if (!strcmp(report, "encoding"))
        return take_encoding(stream, message);
    if (!strcmp(report, "gone")) {
        sv_stream_gone(stream);
        return true;
    }
    return false;
}

static void on_message(void *arg, json_t *message, const int *fds, int count)
{
    struct sv_process *process = arg;
    struct sv_engine *engine = process->engine;
    const char *report = json_string_value(json_object_get(message, "tell"));
    bool good = false;
    process->heard = sv_now(process->sv);
    if (report && !strcmp(report, "finished")) { /* also while the process ends */
        halo_link_close_fds(fds, count);
        good = sv_hooks_finished(process, message);
    } else if (!engine || !report || (!process->said_hello && strcmp(report, "hello") != 0)) {
        halo_link_close_fds(fds, count);
    } else if (!strcmp(report, "hello")) {
        halo_link_close_fds(fds + 1, count - 1);
        good = take_hello(process, message, count > 0 ? fds[0] : -1);
    } else if (!strcmp(report, "stats") || !strcmp(report, "gpus")) {
        halo_link_close_fds(fds, count);
        good =
            report[0] == 's' ? take_stats(engine, message) : sv_engine_report_gpus(engine, message);
    } else {
        good = take_of_stream(process, report, message, fds, count);
    }
    if (!good)
        sv_process_strays(process, "sent an invalid message");
}

/* The exit status says more and will arrive soon. If the process has only closed its link, the
 * timer ends it. */
static void on_closed(void *arg, const char *why)
{
    struct sv_process *process = arg;
    process->closed = sv_now(process->sv);
    snprintf(process->closed_why, sizeof process->closed_why, "%s", why);
}

const struct halo_link_ops sv_link_ops = {.message = on_message, .closed = on_closed};
