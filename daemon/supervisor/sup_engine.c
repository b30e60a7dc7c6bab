/* SPDX-License-Identifier: BSD-2-Clause
 * Engines as streams see them: a name, perhaps a process. A stream keeps its engine while the
 * process is away, and the engine keeps count of how it fails. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/run.h"
#include "daemon/supervisor/supervisor_private.h"
#include "kernels/backend.h"

enum {
    ABANDONED_MOST = 16,
    IDLE_MS = 2000,   /* an engine without streams is kept */
    MOVED_MS = 30000, /* between two times that one stood, and they are not in a row */
};

/* ---- which one ---- */

static bool wants_gpu(const struct sv_stream *stream)
{
    const char *backend = halo_run_backends[stream->settings.device.backend];
    if (!strcmp(backend, "cuda"))
        return true;
    /* A build without CUDA has no strategy for it: nothing to keep apart. */
    const struct halo_backend_ops *cuda = halo_backend_find("cuda");
    const bool none = stream->sv->gpus.known && stream->sv->gpus.count == 0;
    return !strcmp(backend, "auto") && !stream->place.on_cpu && !none && cuda &&
           cuda->strategies[0];
}

/* gpu: its number; negative: none. Streams of the same name share an engine. */
static void name_engine(struct sv_stream *stream, bool on_gpu, int gpu, char *ret, size_t size)
{
    struct halo_suspect *suspect = &stream->place.suspect;
    const int device = !on_gpu ? SV_GPU_NONE : gpu >= 0 ? gpu : SV_GPU_UNKNOWN;
    if (suspect->device != device) /* what it did there says nothing of another one */
        *suspect = (struct halo_suspect){.device = device};
    char number[16] = "", place[80] = "";
    if (on_gpu && gpu >= 0)
        snprintf(number, sizeof number, "%d", gpu);
    if (sv_stream_has_own_engine(stream))
        snprintf(place, sizeof place, ":%s", stream->name);
    else if (suspect->extra)
        snprintf(place, sizeof place, "+%d", suspect->extra);
    snprintf(ret, size, "%s%s%s", on_gpu ? "gpu" : "cpu", number, place);
}

static struct sv_engine *find(const struct halo_supervisor *sv, const char *name)
{
    struct sv_engine *engine = sv->engines;
    while (engine && strcmp(engine->name, name) != 0)
        engine = engine->next;
    return engine;
}

static struct sv_engine *make(struct halo_supervisor *sv, const char *name)
{
    struct sv_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return NULL;
    engine->sv = sv;
    engine->state = SV_ENGINE_PAUSED;
    engine->gpu = -1;
    snprintf(engine->name, sizeof engine->name, "%s", name);
    engine->next = sv->engines;
    sv->engines = engine;
    return engine;
}

/* As sv_engine_choose(), but it may be one that cannot open all the files. */
static struct sv_engine *engine_of(struct sv_stream *stream)
{
    struct halo_supervisor *sv = stream->sv;
    const bool on_gpu = wants_gpu(stream);
    const int wished = stream->settings.device.gpu;
    const struct halo_suspect *suspect = &stream->place.suspect;
    const int gpu = !on_gpu                                  ? SV_GPU_NONE
                    : wished >= 0                            ? wished
                    : suspect->extra && suspect->device >= 0 ? suspect->device
                                                             : sv_gpu_choose(sv);
    if (gpu == SV_GPU_WAIT)
        return NULL; /* the clock asks again */
    char name[96];
    name_engine(stream, on_gpu, gpu, name, sizeof name);
    struct sv_engine *engine = find(sv, name);
    if (!engine) {
        engine = make(sv, name);
        if (!engine)
            return NULL;
        engine->gpu = gpu < 0 ? -1 : gpu;
        engine->choosing = gpu == SV_GPU_UNKNOWN;
    }
    stream->place.given = sv_now(sv);
    return engine;
}

void sv_engine_become(struct sv_engine *engine, struct sv_stream *stream)
{
    char name[96];
    const bool on_gpu = wants_gpu(stream);
    const int gpu = on_gpu ? sv_gpu_choose(engine->sv) : SV_GPU_NONE;
    name_engine(stream, on_gpu, gpu, name, sizeof name);
    if ((on_gpu && gpu < 0) || find(engine->sv, name))
        return;
    halo_log(HALO_LOG_DEBUG, "engine %s is %s from now on", engine->name, name);
    snprintf(engine->name, sizeof engine->name, "%s", name);
    engine->gpu = on_gpu ? gpu : -1;
    stream->place.engine = engine;
    stream->place.given = sv_now(engine->sv);
}

int sv_engine_streams(const struct sv_engine *engine)
{
    int count = 0;
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next)
        count += s->place.engine == engine;
    return count;
}

/* ---- talk ---- */

bool sv_engine_is_ready(const struct sv_engine *engine)
{
    return engine->state == SV_ENGINE_RUNNING && !engine->choosing && engine->process &&
           engine->process->link && !engine->process->closed;
}

json_t *sv_do(const char *what, const struct sv_stream *stream)
{
    return json_pack("{s:s, s:s}", "do", what, "stream", stream->name);
}

int sv_engine_send(struct sv_engine *engine, json_t *message)
{
    if (sv_engine_is_ready(engine))
        return halo_link_send(engine->process->link, message, NULL, 0);
    json_decref(message);
    return -EPIPE;
}

bool sv_engine_is_behind(const struct sv_engine *engine)
{
    return sv_engine_is_ready(engine) && halo_link_is_behind(engine->process->link);
}

void sv_engine_tell_running(struct sv_engine *engine)
{
    halo_log(HALO_LOG_INFO, "engine %s runs (process %d)", engine->name,
             engine->process->handle.pid);
    sv_event(engine->sv, "engine", engine->name, "running", NULL);
}

void sv_engine_ready(struct sv_engine *engine)
{
    struct halo_supervisor *sv = engine->sv;
    engine->state = SV_ENGINE_RUNNING;
    engine->backoff.good_since = sv_now(sv);
    if (engine->choosing) {
        sv_gpu_ask(engine);
        return;
    }
    sv_engine_tell_running(engine);
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        if (s->place.engine == engine)
            sv_stream_step(s);
    }
}

/* One that runs can never open more files than when it started: a stream that needs others gets
 * another. */
struct sv_engine *sv_engine_choose(struct sv_stream *stream)
{
    struct sv_engine *engine = engine_of(stream);
    if (!engine || sv_files_cover(engine, &stream->settings))
        return engine;
    if (sv_engine_streams(engine) > 0) {
        stream->place.apart = true;
        engine = engine_of(stream);
    }
    if (engine && !sv_files_cover(engine, &stream->settings)) {
        sv_engine_drop(engine);
        engine = engine_of(stream);
    }
    return engine;
}

/* ---- failures ---- */

/* Streams that may are moved to the CPU; the others go on trying. */
static void leave_gpu(struct sv_engine *engine)
{
    for (struct sv_stream *s = engine->sv->streams; s; s = s->next) {
        if (s->place.engine != engine ||
            strcmp(halo_run_backends[s->settings.device.backend], "auto") != 0)
            continue;
        s->place.on_cpu = true;
        sv_placement_leave(&s->place);
        halo_log(HALO_LOG_WARNING,
                 "stream %s: the GPU failed %d times in a row: goes on on the CPU", s->name,
                 HALO_GPU_FAILURES);
        sv_event(engine->sv, "cpu", s->name, NULL, "the GPU failed too often");
    }
    engine->device_failures = 0;
}

void sv_engine_stands(struct sv_engine *engine)
{
    engine->stands = true;
}

/* worked: its process had filtered frames, so this is no loop of crashes, and the next one begins
 * at once. A device that fails may let a few frames pass each time. */
static void note_failure(struct sv_engine *engine, const char *why, bool device, bool worked)
{
    const uint64_t now = sv_now(engine->sv), good = engine->backoff.good_since;
    if (worked && !device)
        engine->backoff.failures = 0;
    if (!device || (good && now - good >= SV_GOOD_MS))
        engine->device_failures = 0;
    if (good && now - good >= MOVED_MS)
        engine->stood = 0;
    engine->device_failures += device;
    engine->stood = engine->stands ? engine->stood + 1 : 0;
    engine->stands = false;
    snprintf(engine->why, sizeof engine->why, "%s", why);
    sv_backoff_failed(&engine->backoff, now);
    engine->state = SV_ENGINE_PAUSED;
    engine->gpus = 0;
    engine->asked = 0;
    engine->choosing = false; /* one that fails at that is not asked again */
    halo_log(HALO_LOG_ERROR, "engine %s: %s", engine->name, why);
    sv_event(engine->sv, "engine", engine->name, "failed", why);
}

void sv_engine_lost(struct sv_engine *engine, const char *why, bool device)
{
    struct halo_supervisor *sv = engine->sv;
    char words[600];
    snprintf(words, sizeof words, "%s", why); /* may be the process's own */
    const bool worked = engine->process && engine->process->worked;
    char asker[68] = "";
    if (engine->process)
        snprintf(asker, sizeof asker, "%s", engine->process->asker);
    if (engine->process)
        sv_process_kill(engine->process);
    if (sv->stopping)
        return;
    note_failure(engine, words, device, worked);
    const struct sv_stream *first = NULL;
    for (struct sv_stream *s = sv->streams; s; s = s->next) {
        if (s->place.engine != engine)
            continue;
        s->place.suspect.active =
            s->place.phase == SV_IN && !device && !sv_stream_has_own_engine(s);
        first = s->place.suspect.active ? s : first;
        sv_stream_lost(s, words);
    }
    if (first)
        sv_suspect_engine_died(engine, first, asker);
    if (engine->device_failures >= HALO_GPU_FAILURES)
        leave_gpu(engine);
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        sv_stream_step(s);
    }
    /* Its next process is the clock's or, where it may begin at once, this very moment's. */
    if (sv_engine_streams(engine) > 0)
        sv_engine_step(engine);
}

static void start_process(struct sv_engine *engine)
{
    struct halo_supervisor *sv = engine->sv;
    struct halo_error err = {0};
    if (sv->abandoned >= ABANDONED_MOST)
        halo_fail(&err, -EAGAIN, "%d engines hang in a driver: reboot the machine", sv->abandoned);
    if (err.code || sv_process_start(engine, &err) < 0) {
        note_failure(engine, err.text, false, false);
        return;
    }
    engine->state = SV_ENGINE_STARTING;
    if (engine->backoff.failures > 0)
        engine->restarts++;
}

void sv_engine_drop(struct sv_engine *engine)
{
    if (engine->process)
        halo_log(HALO_LOG_INFO, "engine %s (process %d): asked to finish: %s", engine->name,
                 engine->process->handle.pid,
                 engine->sv->stopping ? "halod is stopping" : "no stream is on it");
    struct sv_engine **at = &engine->sv->engines;
    while (*at != engine)
        at = &(*at)->next;
    *at = engine->next;
    if (engine->process)
        sv_process_quit(engine->process);
    free(engine);
}

void sv_engine_step(struct sv_engine *engine)
{
    const uint64_t now = sv_now(engine->sv);
    sv_gpu_step(engine);
    if (sv_engine_streams(engine) > 0)
        engine->idle_since = 0;
    else if (!engine->idle_since)
        engine->idle_since = now;
    if (engine->idle_since) {
        if (now - engine->idle_since >= IDLE_MS)
            sv_engine_drop(engine);
    } else if (!engine->process && now >= engine->backoff.not_before) {
        start_process(engine);
    }
}
