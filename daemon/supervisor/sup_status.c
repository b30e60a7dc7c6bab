/* SPDX-License-Identifier: BSD-2-Clause
 * The status of the supervisor as JSON; docs/control.md lists the fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/secrets.h"
#include "config/output_kinds.h"
#include "config/run.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_degraded.h"
#include "daemon/supervisor/sup_detectors.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_list.h"
#include "daemon/supervisor/sup_regions.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/view/camera_out.h"
#include "daemon/view/feed.h"
#include "daemon/view/viewers.h"
#include "pipeline/base/degradation.h"
#include "pipeline/output/output.h"

static void set_text(json_t *to, const char *key, const char *text)
{
    json_object_set_new(to, key, json_string(text ? text : ""));
}

static void set_number(json_t *to, const char *key, int64_t number)
{
    json_object_set_new(to, key, json_integer(number));
}

static void set_hidden(json_t *to, const char *key, const char *url)
{
    char *text = url ? halo_hide_secrets(url) : NULL;
    set_text(to, key, text);
    free(text);
}

/* ---- outputs ---- */

static void add_written(json_t *to, const struct halo_link_output *output)
{
    static const char *const states[] = {
        [HALO_OUTPUT_IDLE] = "idle",
        [HALO_OUTPUT_WRITING] = "writing",
        [HALO_OUTPUT_FAILED] = "failed",
    };
    set_text(to, "state", states[output->state]);
    set_text(to, "why", output->why);
    set_text(to, "path", output->path);
    set_number(to, "packets", output->packets);
    set_number(to, "bytes", output->bytes);
    set_number(to, "dropped_packets", output->dropped);
    set_number(to, "segments", output->segments);
    set_number(to, "failures", output->failures);
}

static json_t *output_status(const struct sv_stream *stream, int index)
{
    const struct halo_output_settings *output = &stream->settings.output[index];
    json_t *to = NULL;
    if (stream->viewers[index])
        to = halo_viewers_status(stream->viewers[index]);
    if (stream->camera[index] && halo_camera_out_is_of(stream->camera[index], output))
        to = halo_camera_out_status(stream->camera[index]);
    if (!to)
        to = json_object();
    set_text(to, "kind", halo_output_row(output)->key);
    if (output->target)
        set_hidden(to, "target", output->target);
    if (output->rendition)
        set_text(to, "rendition", output->rendition);
    const char *failed = sv_feed_why(stream, index);
    if (failed) {
        set_text(to, "state", "failed");
        set_text(to, "why", failed);
    }
    const int encoding = stream->open ? stream->of[index] : -1;
    if (encoding >= 0 && stream->packet_feed[encoding].why[0])
        set_text(to, "encoding_failed", stream->packet_feed[encoding].why);
    const bool written = halo_output_row(output)->writer == HALO_WRITER_ENGINE;
    if (written && index < stream->stats.outputs)
        add_written(to, &stream->stats.output[index]);
    return to;
}

/* Counts the viewers of all of its feeds, including HTTP clients. */
static int count_viewers(const struct sv_stream *stream, bool *ret_card)
{
    int count = 0;
    *ret_card = false;
    for (int i = 0; stream->open && i < stream->encodings; i++) {
        struct halo_feed_stats stats;
        if (!stream->packet_feed[i].feed)
            continue;
        halo_feed_stats(stream->packet_feed[i].feed, &stats);
        count += stats.viewers;
        *ret_card |= stats.subscribers > 0 && stats.card;
    }
    return count;
}

/* ---- streams ---- */

static void add_place(json_t *to, const struct sv_stream *stream)
{
    const uint64_t now = sv_now(stream->sv);
    bool card;
    set_text(to, "state", sv_state_names[stream->state]);
    char degradation[HALO_DEGRADATION_WORDS + 32];
    sv_degraded_words(stream, degradation, sizeof degradation);
    set_text(to, "why", stream->why[0] ? stream->why : degradation);
    set_text(to, "engine", stream->place.engine ? stream->place.engine->name : "");
    set_number(to, "restarts", stream->starts > 1 ? stream->starts - 1 : 0);
    json_object_set_new(to, "uptime_s",
                        json_real(stream->started ? (double)(now - stream->started) / 1e3 : 0));
    set_number(to, "viewers", count_viewers(stream, &card));
    json_object_set_new(to, "card", json_boolean(card));
    json_object_set_new(to, "recording",
                        json_boolean(stream->recording && sv_stream_can_record(stream)));
    json_object_set_new(to, "overloaded", json_boolean(stream->state == SV_OVERLOADED));
    json_object_set_new(to, "cpu_instead", json_boolean(stream->place.on_cpu));
}

/* The GPU of the stream's engine, with its memory as last reported, or only its number. */
static json_t *gpu_of(const struct sv_stream *stream)
{
    const struct sv_engine *engine = stream->place.engine;
    if (!engine || engine->gpu < 0)
        return json_null();
    for (int i = 0; i < engine->gpus; i++)
        if (engine->gpu_memory[i].number == engine->gpu)
            return halo_link_gpu_write(&engine->gpu_memory[i]);
    return json_pack("{s:i}", "number", engine->gpu);
}

/* By the settings last loaded. */
static bool is_kept(const struct sv_stream *stream)
{
    const struct halo_stream_settings *loaded =
        halo_daemon_stream(stream->sv->settings, stream->name);
    return loaded && loaded->kept;
}

static json_t *stream_status(const struct sv_stream *stream)
{
    json_t *to = halo_link_stats_numbers(&stream->stats);
    set_text(to, "name", stream->name);
    set_hidden(to, "input", stream->settings.source.input);
    set_text(to, "filters", stream->settings.filters);
    json_t *hides = sv_hides_status(&stream->hides);
    json_object_update(to, hides);
    json_decref(hides);
    json_object_set_new(to, "kept", json_boolean(is_kept(stream)));
    set_text(to, "privacy", halo_privacy_names[stream->settings.privacy]);
    if (!stream->stats.backend[0])
        set_text(to, "backend",
                 stream->place.on_cpu ? "cpu" : halo_run_backends[stream->settings.device.backend]);
    json_object_set_new(to, "degraded", halo_degradations_write(stream->degradation));
    json_object_set_new(to, "gpu", gpu_of(stream));
    if (stream->settings.region_feed.on)
        json_object_set_new(to, "region_feed", sv_regions_status(stream));
    json_object_set_new(to, "detectors", sv_detectors_status(stream));
    add_place(to, stream);
    json_t *renditions = json_object(), *outputs = json_array(), *parts = json_object();
    const struct halo_coverage *coverage = stream->stats.coverage;
    for (int i = 0; i < stream->settings.renditions; i++) {
        const char *name = stream->settings.rendition[i].name;
        set_text(renditions, name, stream->settings.rendition[i].filters);
        if (coverage[i + 1].known)
            json_object_set_new(parts, name, halo_coverage_write(&coverage[i + 1]));
    }
    if (coverage[0].known)
        json_object_set_new(to, "coverage", halo_coverage_write(&coverage[0]));
    json_object_set_new(to, "rendition_coverage", parts);
    json_object_set_new(to, "leaves", halo_checks_disclosure(stream->settings.filters));
    for (int i = 0; i < stream->settings.outputs; i++)
        json_array_append_new(outputs, output_status(stream, i));
    json_object_set_new(to, "renditions", renditions);
    json_object_set_new(to, "outputs", outputs);
    return to;
}

static json_t *engine_status(const struct sv_engine *engine)
{
    static const char *const states[] = {"starting", "running", "paused"};
    json_t *to = json_object(), *streams = json_array();
    set_text(to, "name", engine->name);
    set_text(to, "state", states[engine->state]);
    set_text(to, "why", engine->state == SV_ENGINE_RUNNING ? "" : engine->why);
    set_text(to, "last_failure", engine->why);
    set_number(to, "pid", engine->process ? engine->process->process.pid : 0);
    set_number(to, "restarts", engine->restarts);
    set_number(to, "device_failures", engine->device_failures);
    set_number(to, "ignored_messages", engine->ignored);
    json_object_set_new(to, "gpus", halo_link_gpus_write(engine->gpu_memory, engine->gpus));
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next)
        if (s->place.engine == engine)
            json_array_append_new(streams, json_string(s->name));
    json_object_set_new(to, "streams", streams);
    return to;
}

json_t *halo_supervisor_status(const struct halo_supervisor *sv)
{
    json_t *streams = json_array(), *engines = json_array();
    for (const struct sv_stream *s = sv->streams; s; s = s->next)
        if (!s->place.removed)
            json_array_append_new(streams, stream_status(s));
    for (const struct sv_engine *e = sv->engines; e; e = e->next)
        json_array_append_new(engines, engine_status(e));
    return json_pack("{s:o, s:o, s:f, s:i}", "streams", streams, "engines", engines, "since",
                     sv->since, "abandoned", sv->abandoned);
}

json_t *halo_supervisor_stream(struct halo_supervisor *sv, const char *name, struct halo_error *err)
{
    const struct sv_stream *stream = sv_stream_find(sv, name, err);
    return stream ? stream_status(stream) : NULL;
}

json_t *halo_supervisor_chain(struct halo_supervisor *sv, const char *name, struct halo_error *err)
{
    const struct sv_stream *stream = sv_stream_find(sv, name, err);
    return stream ? sv_hides_status(sv_request_hides(stream)) : NULL;
}
