/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/link/link.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_process.h"
#include "daemon/supervisor/sup_stream_data.h"

enum {
    ABANDONED_MAX = 16,
    STARTING_MAX = 4, /* engines that start at the same time, if they take no longer than ... */
    STARTING_MS = 3000,
    IDLE_MS = 2000,   /* an engine without streams is kept this long */
    MOVED_MS = 30000, /* two stalls further apart than this are not in a row */
};

/* ---- the list ---- */

struct sv_engine *sv_engine_find(const struct halo_supervisor *sv, const char *name)
{
    struct sv_engine *engine = sv->engines;
    while (engine && strcmp(engine->name, name) != 0)
        engine = engine->next;
    return engine;
}

struct sv_engine *sv_engine_make(struct halo_supervisor *sv, const char *name)
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

int sv_engine_streams(const struct sv_engine *engine)
{
    int count = 0;
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next)
        count += s->place.engine == engine;
    return count;
}

/* ---- messages ---- */

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

void sv_engine_report_running(struct sv_engine *engine)
{
    halo_log(HALO_LOG_INFO, "engine %s is running (process %d)", engine->name,
             engine->process->process.pid);
    sv_event(engine->sv, "engine", engine->name, "running", NULL);
}

/* ---- its process ---- */

void sv_engine_stalled(struct sv_engine *engine)
{
    engine->stalled = true;
}

int sv_engine_stalls(const struct sv_engine *engine)
{
    const uint64_t good = engine->backoff.good_since;
    return good && sv_now(engine->sv) - good >= MOVED_MS ? 0 : engine->stood;
}

/* A failing device may filter a few frames each time, so these do not reset its failures. */
void sv_engine_failed(struct sv_engine *engine, const char *why, bool device, bool worked)
{
    const uint64_t now = sv_now(engine->sv), good = engine->backoff.good_since;
    if (worked && !device)
        engine->backoff.failures = 0;
    if (!device || (good && now - good >= SV_GOOD_MS))
        engine->device_failures = 0;
    engine->device_failures += device;
    engine->stood = engine->stalled ? sv_engine_stalls(engine) + 1 : 0;
    engine->stalled = false;
    snprintf(engine->why, sizeof engine->why, "%s", why);
    sv_backoff_failed(&engine->backoff, now);
    engine->state = SV_ENGINE_PAUSED;
    engine->gpus = 0;
    engine->asked = 0;
    engine->choosing = false; /* if it fails while listing GPUs, it is not asked again */
    halo_log(HALO_LOG_ERROR, "engine %s: %s", engine->name, why);
    sv_event(engine->sv, "engine", engine->name, "failed", why);
}

static void start_process(struct sv_engine *engine)
{
    struct halo_supervisor *sv = engine->sv;
    struct halo_error err = {0};
    if (sv->abandoned >= ABANDONED_MAX)
        halo_fail(&err, -EAGAIN,
                  "%d engines were killed and do not end, because a driver or a disk does not "
                  "answer: reboot the machine",
                  sv->abandoned);
    if (err.code || sv_process_start(engine, &err) < 0) {
        sv_engine_failed(engine, err.text, false, false);
        return;
    }
    engine->state = SV_ENGINE_STARTING;
    if (engine->backoff.failures > 0)
        engine->restarts++;
}

void sv_engine_drop(struct sv_engine *engine)
{
    if (engine->process)
        halo_log(HALO_LOG_INFO, "engine %s (process %d): told to finish: %s", engine->name,
                 engine->process->process.pid,
                 engine->sv->stopping ? "halod is stopping" : "no stream uses it");
    struct sv_engine **at = &engine->sv->engines;
    while (*at != engine)
        at = &(*at)->next;
    *at = engine->next;
    if (engine->process)
        sv_process_quit(engine->process);
    free(engine);
}

/* Many engines that load their libraries at once would all be late. One that takes long does not
 * keep the others waiting. */
static bool may_start(const struct halo_supervisor *sv)
{
    int starting = 0;
    for (const struct sv_engine *e = sv->engines; e; e = e->next)
        starting +=
            e->process && !e->process->said_hello && sv_now(sv) - e->process->started < STARTING_MS;
    return starting < STARTING_MAX;
}

void sv_engine_step(struct sv_engine *engine)
{
    const uint64_t now = sv_now(engine->sv);
    if (sv_engine_streams(engine) > 0)
        engine->idle_since = 0;
    else if (!engine->idle_since)
        engine->idle_since = now;
    if (engine->idle_since) {
        if (now - engine->idle_since >= IDLE_MS)
            sv_engine_drop(engine);
    } else if (!engine->process && now >= engine->backoff.not_before && may_start(engine->sv)) {
        start_process(engine);
    }
}
