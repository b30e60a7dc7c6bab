/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_degraded.h"

#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "config/run.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "pipeline/base/degradation.h"

enum {
    ROOM_MS = 5000,   /* between two attempts with streams for which a GPU has too little memory */
    MEMORY_MS = 3000, /* after this long without GPU memory, a stream moves to the CPU if it may */
};

static bool is_late(enum halo_degradation degradation)
{
    return degradation == HALO_DEGRADED_LATE || degradation == HALO_DEGRADED_LATE_DECODER ||
           degradation == HALO_DEGRADED_LATE_ENCODER;
}

/* Why the stream is degraded in this way, as known now; "": it is not. room has
 * HALO_DEGRADATION_WORDS bytes, which the result may use. */
static const char *find(const struct sv_stream *stream, enum halo_degradation degradation,
                        char *room)
{
    if (degradation == HALO_DEGRADED_OUTPUT && sv_feed_failed(stream, room, HALO_DEGRADATION_WORDS))
        return room;
    if (degradation == HALO_DEGRADED_GPU_MEMORY && stream->no_memory[0])
        return stream->no_memory;
    if (stream->place.on_cpu &&
        degradation == (stream->place.for_memory ? HALO_DEGRADED_GPU_MEMORY : HALO_DEGRADED_GPU))
        return stream->place.for_memory ? "filtered on the CPU because the GPU's memory was full"
                                        : "filtered on the CPU because the GPU failed too often";
    return stream->stats.degradation[degradation];
}

static void report(struct sv_stream *stream, enum halo_degradation degradation, const char *why)
{
    const char *word = halo_degradation_names[degradation];
    if (why[0])
        halo_log(HALO_LOG_WARNING, "stream %s: degraded (%s): %s", stream->name, word, why);
    else
        halo_log(HALO_LOG_INFO, "stream %s: no longer degraded (%s)", stream->name, word);
    sv_event(stream->sv, why[0] ? "degraded" : "recovered", stream->name, word, why);
}

/* Sets the state: running, or overloaded if the stream does not keep up. */
static void place(struct sv_stream *stream)
{
    const char *why = NULL;
    for (int i = 0; i < HALO_DEGRADATIONS && !why; i++)
        if (is_late((enum halo_degradation)i) && stream->degradation[i][0])
            why = stream->degradation[i];
    if (why && stream->state == SV_RUNNING)
        sv_stream_state(stream, SV_OVERLOADED, why);
    else if (!why && stream->state == SV_OVERLOADED)
        sv_stream_state(stream, SV_RUNNING, "");
}

/* Moves the stream to the CPU if its backend allows this; otherwise it waits for free memory. */
static void leave_gpu(struct sv_stream *stream)
{
    if (stream->place.on_cpu ||
        strcmp(halo_run_backends[stream->settings.device.backend], "auto") != 0)
        return;
    stream->place.on_cpu = stream->place.for_memory = true;
    stream->place.no_room = false;
    sv_placement_leave(&stream->place);
    sv_event(stream->sv, "cpu", stream->name, NULL, "the GPU's memory is full");
    sv_stream_state(stream, SV_RESTARTING, "the GPU's memory is full: continuing on the CPU");
}

void sv_degraded_update(struct sv_stream *stream)
{
    for (int i = 0; i < HALO_DEGRADATIONS; i++) {
        char room[HALO_DEGRADATION_WORDS];
        const char *why = find(stream, (enum halo_degradation)i, room);
        const bool was = stream->degradation[i][0], is = why[0];
        snprintf(stream->degradation[i], sizeof stream->degradation[i], "%s", why);
        if (was != is)
            report(stream, (enum halo_degradation)i, stream->degradation[i]);
    }
    if (stream->place.phase == SV_IN)
        place(stream);
    if (stream->no_memory[0] && sv_now(stream->sv) - stream->no_memory_since >= MEMORY_MS)
        leave_gpu(stream);
}

void sv_degraded_memory(struct sv_stream *stream, bool full, const char *why)
{
    const uint64_t now = sv_now(stream->sv);
    if (!full)
        return;
    if (!stream->no_memory[0])
        stream->no_memory_since = now;
    snprintf(stream->no_memory, sizeof stream->no_memory, "%s", why);
}

void sv_degraded_wait(struct sv_stream *stream, const char *why)
{
    stream->place.no_room = true;
    sv_placement_leave(&stream->place);
    sv_stream_state(stream, SV_WAITING, why);
}

bool sv_degraded_may_enter(struct sv_stream *stream)
{
    const struct halo_supervisor *sv = stream->sv;
    const uint64_t now = sv_now(sv);
    if (!stream->place.no_room)
        return true;
    if (now < stream->place.engine->room_after || now - stream->place.since < ROOM_MS)
        return false;
    for (const struct sv_stream *s = sv->streams; s; s = s->next)
        if (s->place.engine == stream->place.engine && s->place.no_room && s->place.wanted &&
            s->place.phase == SV_OUT && s->place.since < stream->place.since)
            return false;
    stream->place.engine->room_after = now + ROOM_MS;
    return true;
}

void sv_degraded_words(const struct sv_stream *stream, char *ret, size_t size)
{
    ret[0] = '\0';
    for (int i = 0; i < HALO_DEGRADATIONS && !ret[0]; i++)
        if (stream->degradation[i][0])
            snprintf(ret, size, "%s: %s", halo_degradation_names[i], stream->degradation[i]);
}
