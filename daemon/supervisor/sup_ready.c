/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_ready.h"

#include "config/base/log.h"
#include "daemon/supervisor/sup_choose.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_gpu.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"

void sv_engine_ready(struct sv_engine *engine)
{
    struct halo_supervisor *sv = engine->sv;
    engine->state = SV_ENGINE_RUNNING;
    engine->backoff.good_since = sv_now(sv);
    if (engine->choosing) {
        sv_gpu_ask(engine);
        return;
    }
    sv_engine_report_running(engine);
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        if (s->place.engine == engine)
            sv_stream_step(s);
    }
}

/* The GPUs are known: its streams move to the engines where they belong, perhaps to this one. */
static void settle(struct sv_engine *engine)
{
    struct halo_supervisor *sv = engine->sv;
    struct sv_stream *first = NULL;
    engine->choosing = false;
    for (struct sv_stream *s = sv->streams; s; s = s->next) {
        if (s->place.engine != engine)
            continue;
        sv_placement_leave(&s->place);
        first = first ? first : s;
    }
    if (first)
        sv_engine_become(engine, first);
    sv_engine_report_running(engine);
    for (struct sv_stream *s = sv->streams, *next; s; s = next) {
        next = s->next;
        sv_stream_step(s);
    }
}

bool sv_engine_report_gpus(struct sv_engine *engine, const json_t *message)
{
    if (!sv_gpu_report(engine, message))
        return false;
    if (engine->choosing)
        settle(engine);
    return true;
}

void sv_engine_step_choosing(struct sv_engine *engine)
{
    if (!engine->choosing || !sv_gpu_is_late(engine))
        return;
    halo_log(HALO_LOG_WARNING, "engine %s: the driver did not list the GPUs in time", engine->name);
    engine->choosing = false; /* its streams choose for themselves */
    sv_engine_ready(engine);
}
