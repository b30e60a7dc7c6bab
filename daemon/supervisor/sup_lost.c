/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_lost.h"

#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "config/run.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_process.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/sup_suspects.h"
#include "daemon/supervisor/supervisor.h"

/* Moves those streams to the CPU that allow it; the others keep trying. */
static void leave_gpu(struct sv_engine *engine)
{
    for (struct sv_stream *s = engine->sv->streams; s; s = s->next) {
        if (s->place.engine != engine ||
            strcmp(halo_run_backends[s->settings.device.backend], "auto") != 0)
            continue;
        s->place.on_cpu = true;
        sv_placement_leave(&s->place);
        halo_log(HALO_LOG_WARNING,
                 "stream %s: the GPU failed %d times in a row: continuing on the CPU", s->name,
                 HALO_GPU_FAILURES);
        sv_event(engine->sv, "cpu", s->name, NULL, "the GPU failed too often");
    }
    engine->device_failures = 0;
}

void sv_engine_lost(struct sv_engine *engine, const char *why, bool device)
{
    struct halo_supervisor *sv = engine->sv;
    char words[600];
    snprintf(words, sizeof words, "%s", why); /* why may belong to the process */
    const bool worked = engine->process && engine->process->worked;
    char asker[68] = "";
    if (engine->process)
        snprintf(asker, sizeof asker, "%s", engine->process->asker);
    if (engine->process)
        sv_process_kill(engine->process);
    if (sv->stopping)
        return;
    sv_engine_failed(engine, words, device, worked);
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
    /* The timer starts its next process, but if that may start at once, it is started here. */
    if (sv_engine_streams(engine) > 0)
        sv_engine_step(engine);
}
