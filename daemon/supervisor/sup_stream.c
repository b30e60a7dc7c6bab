/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/output_kinds.h"
#include "config/run.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_camera.h"
#include "daemon/supervisor/sup_choose.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_detectors.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_files.h"
#include "daemon/supervisor/sup_hook.h"
#include "daemon/supervisor/sup_degraded.h"
#include "daemon/supervisor/sup_list.h"
#include "daemon/supervisor/sup_masks.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_regions.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_ring.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/sup_suspects.h"

/* ---- ends ---- */

/* The stream has ended, and stays so until it is started by hand or by new settings. */
static void rest(struct sv_stream *stream, enum sv_state state, const char *why)
{
    stream->place.wanted = false;
    sv_stream_state(stream, state, why);
}

void sv_stream_ended(struct sv_stream *stream)
{
    if (stream->settings.restart == HALO_RESTART_ALWAYS) {
        sv_placement_leave(&stream->place);
        stream->place.backoff.not_before = sv_now(stream->sv) + SV_BACKOFF_MS;
        sv_stream_state(stream, SV_RESTARTING, "its input has ended");
    } else {
        rest(stream, SV_ENDED, "");
    }
    sv_stream_step(stream);
}

static void fail(struct sv_stream *stream, const char *why)
{
    if (stream->settings.restart == HALO_RESTART_NEVER)
        rest(stream, SV_FAILED, why);
    else
        sv_stream_state(stream, SV_RESTARTING, why);
}

static void fail_by_itself(struct sv_stream *stream, const char *why)
{
    sv_placement_leave(&stream->place);
    sv_backoff_failed(&stream->place.backoff, sv_now(stream->sv));
    fail(stream, why);
}

void sv_stream_failed(struct sv_stream *stream, const char *why)
{
    fail_by_itself(stream, why);
    sv_stream_step(stream);
}

static void leave_rings(struct sv_stream *stream, const char *why)
{
    sv_ring_close_all(stream, true);
    sv_request_fail_all(stream, why);
    stream->place.phase = SV_OUT;
    stream->stats.rate = 0;
    stream->stats.backend[0] = '\0'; /* no engine filters it now */
    stream->stats.outputs = 0;       /* or writes its outputs */
    memset(stream->stats.degradation, 0, sizeof stream->stats.degradation);
    for (int i = 0; i < stream->encodings; i++)
        stream->packet_feed[i].why[0] = '\0';
    sv_degraded_update(stream);
    sv_regions_forget(stream);
    sv_detectors_forget(stream);
}

void sv_stream_lost(struct sv_stream *stream, const char *why)
{
    leave_rings(stream, why);
    if (stream->place.wanted)
        fail(stream, why);
}

void sv_stream_gone(struct sv_stream *stream)
{
    if (stream->place.phase != SV_LEAVING)
        return; /* not requested: the engine's next messages will show its state */
    leave_rings(stream, "the stream was stopped");
    sv_stream_step(stream);
}

/* ---- steps ---- */

static void leave(struct sv_stream *stream)
{
    stream->place.phase = SV_LEAVING;
    stream->place.since = sv_now(stream->sv);
    sv_engine_send(stream->place.engine, sv_do("stop", stream));
}

/* From now on a camera number means the camera that has it when it is next opened. */
static void forget_camera(struct sv_stream *stream)
{
    free(stream->camera_is);
    stream->camera_is = NULL;
}

static void take_coming(struct sv_stream *stream)
{
    const char *before = stream->settings.source.input, *now = stream->coming->source.input;
    if (!before || !now || strcmp(before, now) != 0)
        forget_camera(stream);
    sv_feed_close(stream, "the stream's settings have changed");
    halo_stream_settings_finish(&stream->settings);
    stream->settings = *stream->coming;
    free(stream->coming);
    stream->coming = NULL;
    halo_coverages_read(stream->stats.coverage, NULL); /* that of the old chains */
}

static char *write_settings(const struct sv_stream *stream)
{
    struct halo_stream_settings now = stream->settings; /* its strings are borrowed */
    if (stream->place.on_cpu) {
        for (now.device.backend = 0; strcmp(halo_run_backends[now.device.backend], "cpu") != 0;)
            now.device.backend++;
        now.device.hwaccel = HALO_HWACCEL_NONE;
    } else if (stream->place.engine->gpu >= 0) {
        now.device.gpu = stream->place.engine->gpu;
    }
    return halo_stream_settings_write(&now);
}

static int send_start(struct sv_stream *stream)
{
    char *text = write_settings(stream);
    json_t *message = sv_do("start", stream);
    json_object_set_new(message, "settings", json_string(text ? text : ""));
    free(text);
    json_decref(stream->masks);
    stream->masks = sv_masks_of(&stream->settings);
    sv_masks_send(stream->place.engine, stream->masks);
    if (stream->camera_is)
        json_object_set_new(message, "camera", json_string(stream->camera_is));
    const int code = sv_engine_send(stream->place.engine, message);
    if (code >= 0)
        sv_hooks_give(stream->place.engine->process, stream);
    return code;
}

bool sv_stream_can_record(const struct sv_stream *stream)
{
    for (int i = 0; i < stream->settings.outputs; i++)
        if (halo_output_row(&stream->settings.output[i])->records)
            return true;
    return false;
}

void sv_stream_report_recording(struct sv_stream *stream)
{
    json_t *message = sv_do("record", stream);
    json_object_set_new(message, "on", json_boolean(stream->recording));
    sv_engine_send(stream->place.engine, message);
}

static void enter(struct sv_stream *stream)
{
    const int code = send_start(stream);
    if (code == -EMSGSIZE)
        rest(stream, SV_FAILED, "its settings are too long to be sent to an engine");
    if (code < 0)
        return; /* the engine is about to be lost, and the stream will try again */
    stream->place.phase = SV_IN;
    stream->place.since = sv_now(stream->sv);
    stream->starts++;
    memset(&stream->stats, 0, sizeof stream->stats);
    if (stream->settings.privacy == HALO_PRIVACY_OFF)
        halo_log(HALO_LOG_WARNING, "stream %s: privacy off: unfiltered frames may be output",
                 stream->name);
    sv_stream_state(stream, SV_STARTING, "");
    sv_feed_watch_all(stream);
    if (!stream->recording)
        sv_stream_report_recording(stream);
}

/* The stream is on no engine but should be on one. */
static void try_to_enter(struct sv_stream *stream)
{
    if (sv_now(stream->sv) < stream->place.backoff.not_before)
        return;
    struct halo_error err = {0};
    if (sv_feed_open(stream, &err) < 0) {
        fail_by_itself(stream, err.text);
        return;
    }
    sv_degraded_update(stream);
    if (!stream->place.engine)
        stream->place.engine = sv_engine_choose(stream);
    if (!stream->place.engine)
        return;
    if (sv_engine_is_ready(stream->place.engine) && sv_suspect_may_enter(stream) &&
        sv_degraded_may_enter(stream))
        enter(stream);
    else
        sv_engine_step(stream->place.engine);
}

void sv_stream_step(struct sv_stream *stream)
{
    if (stream->sv->stopping)
        return;
    sv_feed_step(stream);
    const bool stays =
        stream->place.wanted && !stream->place.removed && !stream->coming && !stream->place.again;
    if (stream->place.phase == SV_LEAVING)
        return; /* gone will arrive, or the engine will end */
    if (stream->place.phase == SV_IN) {
        if (!stays)
            leave(stream);
        return;
    }
    if (stream->place.again)
        stream->place.engine = NULL; /* another one may be chosen now */
    stream->place.again = false;
    if (stream->place.removed) {
        sv_stream_destroy(stream);
        return;
    }
    if (stream->coming)
        take_coming(stream);
    if (stream->place.wanted) {
        try_to_enter(stream);
        return;
    }
    stream->place.engine = NULL;
    if (stream->state == SV_FAILED && stream->settings.on_error != HALO_ON_ERROR_STOP)
        return;
    if (stream->open) {
        sv_feed_close(stream, stream->state == SV_ENDED ? "the stream has ended"
                                                        : "the stream was stopped");
        sv_degraded_update(stream);
    }
    sv_camera_close(stream);
}

/* ---- requests ---- */

void sv_stream_start(struct sv_stream *stream)
{
    if (stream->place.wanted && stream->state != SV_RESTARTING)
        return;
    stream->place.wanted = true;
    sv_placement_reset(&stream->place);
    sv_stream_state(stream, SV_STARTING, "");
    sv_stream_step(stream);
}

void sv_stream_stop(struct sv_stream *stream)
{
    rest(stream, SV_STOPPED, "");
    forget_camera(stream);
    sv_stream_step(stream);
}

void sv_stream_again(struct sv_stream *stream)
{
    if (!stream->place.wanted) {
        sv_stream_start(stream);
        return;
    }
    forget_camera(stream);
    sv_placement_reset(&stream->place);
    sv_stream_state(stream, SV_RESTARTING, "restart requested");
    sv_stream_step(stream);
}

void sv_stream_remove(struct sv_stream *stream)
{
    stream->place.removed = true;
    sv_feed_close(stream, "the stream was removed");
    sv_camera_close(stream);
    sv_stream_step(stream);
}

void sv_stream_replace(struct sv_stream *stream, struct halo_stream_settings *settings)
{
    sv_settings_free(stream->coming);
    stream->coming = settings;
    sv_request_refuse_waiting(stream, "new settings were loaded in the meantime");
    stream->place.removed = false;
    stream->place.wanted = settings->enabled;
    sv_placement_reset(&stream->place);
    sv_feed_close(stream, "the stream's settings have changed");
    if (stream->place.wanted)
        sv_stream_state(stream, SV_RESTARTING, "its settings have changed");
    else
        sv_stream_state(stream, SV_DISABLED, "");
    sv_stream_step(stream);
}

/* ---- statistics ---- */

/* Shows the stream's place in the queue for its turn. The status has its progress, the log only the
 * beginning. A running stream must also wait when it opens its source again. */
static void check_turn(struct sv_stream *stream)
{
    const int64_t turn = stream->stats.turn;
    const bool starts = stream->state == SV_STARTING, in_line = stream->in_line;
    char why[100] = "";
    if (turn)
        snprintf(why, sizeof why, "waiting for its turn to %s (%" PRId64 " ahead of it)",
                 starts ? "start" : "continue", turn - 1);
    if (turn && ((starts && !stream->why[0]) || sv_stream_is_up(stream))) {
        sv_stream_state(stream, starts ? SV_STARTING : SV_WAITING, why);
        stream->in_line = !starts;
    } else if (starts || (turn && in_line)) {
        snprintf(stream->why, sizeof stream->why, "%s", why);
    } else if (in_line) {
        sv_stream_state(stream, SV_RUNNING, "");
    }
}

void sv_stream_stats(struct sv_stream *stream, const json_t *from)
{
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1];
    memcpy(coverage, stream->stats.coverage, sizeof coverage);
    halo_link_stats_read(&stream->stats, from);
    if (sv_request_sets(stream)) /* the new filters' coverage is shown together with them */
        memcpy(stream->stats.coverage, coverage, sizeof coverage);
    check_turn(stream);
    sv_degraded_update(stream);
    sv_regions_update(stream);
    if (sv_files_are_replaced(stream)) {
        halo_log(
            HALO_LOG_INFO,
            "stream %s: moving it to another engine, because its files or folders were replaced",
            stream->name);
        sv_placement_leave(&stream->place);
        sv_stream_step(stream);
    }
}
