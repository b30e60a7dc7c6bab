/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_detectors.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "daemon/detector/pool.h"
#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_stream_data.h"

static struct sv_stream *find_stream(const struct halo_supervisor *sv, const char *name)
{
    struct sv_stream *stream = sv->streams;
    while (stream && strcmp(stream->name, name) != 0)
        stream = stream->next;
    return stream;
}

/* ---- the pool ---- */

/* A connection is closed if the engine is not there any more. */
static void on_answer(void *arg, const char *name, enum halo_find find, uint64_t id, int fd,
                      const char *why)
{
    const struct sv_stream *stream = find_stream(arg, name);
    struct sv_engine *engine = stream ? stream->place.engine : NULL;
    if (engine && stream->place.phase == SV_IN && sv_engine_is_ready(engine)) {
        json_t *message = sv_do("detector", stream);
        json_object_set_new(message, "find", json_string(halo_find_names[find]));
        json_object_set_new(message, "id", json_integer((json_int_t)id));
        if (fd < 0)
            json_object_set_new(message, "why", json_string(why));
        halo_link_send(engine->process->link, message, &fd, fd >= 0);
    }
    if (fd >= 0)
        close(fd);
}

static void on_event(void *arg, const char *name, enum halo_find find,
                     enum halo_detector_event event, const char *why)
{
    (void)find; /* the reason names it */
    sv_event(arg, "detector", name, event == HALO_DETECTOR_STARTED ? "started" : "failed", why);
}

int sv_detectors_create(struct halo_supervisor *sv)
{
    static const struct halo_detector_pool_ops ops = {.answer = on_answer, .event = on_event};
    return halo_detector_pool_create(&sv->detectors, sv->loop, sv->program, &ops, sv);
}

void sv_detectors_destroy(struct halo_supervisor *sv)
{
    halo_detector_pool_destroy(sv->detectors);
    sv->detectors = NULL;
}

/* ---- engines ---- */

bool sv_detectors_take(struct sv_stream *stream, const json_t *message)
{
    struct halo_detector_pool *pool = stream->sv->detectors;
    const char *ask = json_string_value(json_object_get(message, "ask"));
    const char *name = json_string_value(json_object_get(message, "find"));
    const int64_t id = halo_json_integer(message, "id", 0, INT64_MAX, -1);
    int find = 0;
    while (find < HALO_FINDS && (!name || strcmp(halo_find_names[find], name) != 0))
        find++;
    if (!ask || find == HALO_FINDS || id < 0)
        return false;
    if (stream->place.phase != SV_IN || !pool)
        return true; /* it is stopping, which the engine cannot know yet */
    if (!strcmp(ask, "want")) {
        halo_detector_pool_want(pool, stream->name, (enum halo_find)find, (uint64_t)id,
                                &stream->settings.detector[find]);
    } else if (!strcmp(ask, "broken")) {
        char why[160];
        halo_json_text(message, "why", why, sizeof why);
        halo_detector_pool_broken(pool, stream->name, (enum halo_find)find, why);
    } else if (!strcmp(ask, "unwanted")) {
        halo_detector_pool_leave(pool, stream->name, (enum halo_find)find);
    } else {
        return false;
    }
    return true;
}

void sv_detectors_forget(struct sv_stream *stream)
{
    for (int find = 0; find < HALO_FINDS && stream->sv->detectors; find++)
        halo_detector_pool_leave(stream->sv->detectors, stream->name, (enum halo_find)find);
    memset(stream->stats.detector, 0, sizeof stream->stats.detector);
}

/* ---- status ---- */

static json_t *status_of(const struct sv_stream *stream, enum halo_find find)
{
    const struct halo_live_detector *work = &stream->stats.detector[find];
    struct halo_detector_status status = {0};
    const bool known =
        stream->sv->detectors &&
        halo_detector_pool_status(stream->sv->detectors, stream->name, find, &status);
    if (!known && !work->wanted)
        return NULL;
    json_t *to = halo_link_detector_write(work);
    json_object_set_new(to, "up", json_boolean(status.up));
    json_object_set_new(to, "pid", json_integer(status.pid));
    json_object_set_new(to, "restarts", json_integer(status.restarts));
    json_object_set_new(to, "why", json_string(status.up && work->ready ? "" : status.why));
    return to;
}

json_t *sv_detectors_status(const struct sv_stream *stream)
{
    json_t *all = json_object();
    for (int find = 0; find < HALO_FINDS; find++) {
        json_t *one = status_of(stream, (enum halo_find)find);
        if (one)
            json_object_set_new(all, halo_find_names[find], one);
    }
    return all;
}
