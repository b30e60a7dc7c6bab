/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_suspects.h"

#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_stream_data.h"

enum { SETTLE_MS = 2000 }; /* before a suspect enters a running engine, which may be dying, too */

bool sv_suspect_may_enter(const struct sv_stream *stream)
{
    const struct sv_process *process = stream->place.engine->process;
    return !process || process->started >= stream->place.moved ||
           sv_now(stream->sv) - stream->place.moved >= SETTLE_MS;
}

/* Collects the records of the streams that share engines; the caller frees the array. NULL: no
 * streams, or out of memory. */
static struct halo_suspect **collect(struct halo_supervisor *sv, int *ret_count)
{
    int count = 0;
    for (const struct sv_stream *s = sv->streams; s; s = s->next)
        count++;
    struct halo_suspect **ret = count ? calloc((size_t)count, sizeof *ret) : NULL;
    *ret_count = 0;
    for (struct sv_stream *s = sv->streams; s && ret; s = s->next)
        if (s->place.wanted && !sv_stream_has_own_engine(s))
            ret[(*ret_count)++] = &s->place.suspect;
    return ret;
}

static void say(const struct sv_engine *engine, enum halo_verdict verdict)
{
    int moved = 0;
    struct halo_supervisor *sv = engine->sv;
    for (const struct sv_stream *s = sv->streams; s; s = s->next) {
        moved += s->place.engine == engine && s->place.suspect.moved;
        if (s->place.engine != engine || !s->place.suspect.blamed || verdict != HALO_VERDICT_FOUND)
            continue;
        halo_log(HALO_LOG_WARNING, "stream %s: isolated, because engines ended while it was active",
                 s->name);
        sv_event(sv, "alone", s->name, NULL, "engines ended while it was active");
    }
    if (verdict == HALO_VERDICT_HALVED)
        halo_log(HALO_LOG_WARNING,
                 "engine %s ended %d times: moving %d of its %d streams to another engine, to find "
                 "the stream that causes this",
                 engine->name, HALO_SUSPECT_DEATHS, moved, sv_engine_streams(engine));
    if (verdict == HALO_VERDICT_SHARED)
        halo_log(HALO_LOG_WARNING,
                 "engine %s also ended without the suspected streams, so none of them is the cause",
                 engine->name);
}

void sv_suspect_stalled(struct sv_stream *stream)
{
    int count;
    struct halo_suspect **all = collect(stream->sv, &count);
    if (all && !sv_stream_has_own_engine(stream) &&
        halo_suspects_stalled(all, count, &stream->place.suspect) == HALO_VERDICT_FOUND) {
        halo_log(HALO_LOG_WARNING, "stream %s: isolated from the others, because it stalled",
                 stream->name);
        sv_event(stream->sv, "alone", stream->name, NULL, "the stream stalled");
    }
    free(all);
}

void sv_suspect_engine_died(struct sv_engine *engine, const struct sv_stream *first,
                            const char *asker)
{
    struct halo_supervisor *sv = engine->sv;
    int count;
    struct halo_suspect **all = collect(sv, &count), *one = NULL;
    if (!all)
        return;
    for (struct sv_stream *s = sv->streams; s; s = s->next)
        if (s->place.suspect.active && !strcmp(s->name, asker))
            one = &s->place.suspect;
    say(engine, halo_suspects_died(all, count, first->place.suspect.device,
                                   first->place.suspect.extra, one, sv_now(sv)));
    free(all);
    for (struct sv_stream *s = sv->streams; s; s = s->next) {
        if (s->place.engine == engine && s->place.suspect.moved) {
            sv_placement_leave(&s->place);
            s->place.moved = sv_now(sv);
        }
        s->place.suspect.moved = s->place.suspect.active = false;
    }
}
