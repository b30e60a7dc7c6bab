/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_state.h"

#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_stream_data.h"

const char *const sv_state_names[] = {"starting", "running", "overloaded", "waiting", "restarting",
                                      "ended",    "failed",  "stopped",    "disabled"};

static enum halo_log_level level_of(enum sv_state state)
{
    return state == SV_FAILED ? HALO_LOG_ERROR
           : state == SV_WAITING || state == SV_RESTARTING || state == SV_OVERLOADED
               ? HALO_LOG_WARNING
               : HALO_LOG_INFO;
}

void sv_stream_state(struct sv_stream *stream, enum sv_state state, const char *why)
{
    why = why ? why : "";
    if (stream->state == state && !strcmp(stream->why, why))
        return;
    const uint64_t now = sv_now(stream->sv);
    if (state == SV_RUNNING && !sv_stream_is_up(stream))
        stream->started = stream->place.backoff.good_since = now;
    else if (state != SV_RUNNING && state != SV_OVERLOADED && state != SV_WAITING)
        stream->started = 0;
    stream->state = state;
    stream->in_line = false;
    if (state == SV_RUNNING || state == SV_STOPPED || state == SV_ENDED || state == SV_DISABLED) {
        stream->no_memory[0] = '\0';
        stream->place.no_room = false;
    }
    if (state == SV_RUNNING && stream->place.engine)
        stream->place.engine->room_after = 0; /* this one has found memory, so the next may, too */
    snprintf(stream->why, sizeof stream->why, "%s", why);
    halo_log(level_of(state), "stream %s: %s%s%s", stream->name, sv_state_names[state],
             why[0] ? ": " : "", why);
    sv_event(stream->sv, "state", stream->name, sv_state_names[state], why);
}
