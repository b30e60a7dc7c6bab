/* SPDX-License-Identifier: BSD-2-Clause
 * The report to a service manager: the status in words, and whether the daemon is alive. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/view/feed.h"

enum {
    MAX_PLACES = 8, /* backends and GPUs where streams are filtered */
    MAX_NAMED = 3,  /* streams that do not run */
    WHY = 80,       /* bytes of the reason shown for each of them */
    STANDS = 3,     /* after this many stalls in a row, a new engine may not help */
};

struct text {
    char *at;
    size_t left;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    const size_t taken = length < 0                     ? 0
                         : (size_t)length >= text->left ? text->left - 1
                                                        : (size_t)length;
    text->at += taken;
    text->left -= taken;
}

/* ---- running streams ---- */

struct place {
    char name[40];
    int count;
};

/* Writes where the stream is filtered: "cuda:0", or "cuda" if its engine uses several GPUs. */
static void name_place(const struct sv_stream *stream, char *ret, size_t size)
{
    const struct sv_engine *engine = stream->place.engine;
    const char *backend = stream->stats.backend[0] ? stream->stats.backend : "an unknown backend";
    if (!strncmp(backend, "cuda", 4) && engine && engine->gpu >= 0)
        snprintf(ret, size, "%s:%d", backend, engine->gpu);
    else if (!strncmp(backend, "cuda", 4) && engine && engine->gpus == 1)
        snprintf(ret, size, "%s:%d", backend, (int)engine->gpu_memory[0].number);
    else
        snprintf(ret, size, "%s", backend);
}

static void count_place(struct place *places, const struct sv_stream *stream)
{
    char name[40];
    name_place(stream, name, sizeof name);
    for (int i = 0; i < MAX_PLACES; i++) {
        if (places[i].count && strcmp(places[i].name, name) != 0 && i < MAX_PLACES - 1)
            continue;
        if (!places[i].count)
            snprintf(places[i].name, sizeof places[i].name, "%s", name);
        else if (strcmp(places[i].name, name) != 0)
            snprintf(places[i].name, sizeof places[i].name, "other GPUs");
        places[i].count++;
        return;
    }
}

static void add_places(struct text *text, const struct halo_supervisor *sv)
{
    struct place places[MAX_PLACES] = {0};
    for (const struct sv_stream *s = sv->streams; s; s = s->next)
        if (!s->place.removed && sv_stream_is_up(s))
            count_place(places, s);
    for (int i = 0; i < MAX_PLACES && places[i].count; i++)
        add(text, ", %d filtering on %s", places[i].count, places[i].name);
}

/* ---- streams that do not run ---- */

static bool shows_card(const struct sv_stream *stream)
{
    for (int i = 0; stream->open && i < stream->encodings; i++) {
        struct halo_feed_stats stats;
        if (!stream->packet_feed[i].feed)
            continue;
        halo_feed_stats(stream->packet_feed[i].feed, &stats);
        if (stats.subscribers > 0 && stats.card)
            return true;
    }
    return false;
}

static bool is_away(const char *camera)
{
    return camera[0] && strcmp(camera, "open") != 0 && strcmp(camera, "closed") != 0;
}

/* Whether to name a stream. Overloaded ones run, but are named too. */
static bool is_to_name(const struct sv_stream *stream)
{
    return !stream->place.removed && stream->state != SV_RUNNING &&
           (stream->place.wanted || stream->state == SV_FAILED);
}

static void add_stream(struct text *text, const struct sv_stream *stream)
{
    const char *camera = stream->stats.camera;
    if (stream->state == SV_WAITING && !strcmp(camera, "absent"))
        add(text, ", %s: no camera", stream->name);
    else if (stream->state == SV_WAITING && is_away(camera))
        add(text, ", %s: camera %s", stream->name, camera);
    else if (stream->why[0] && strlen(stream->why) <= WHY)
        add(text, ", %s: %s: %s", stream->name, sv_state_names[stream->state], stream->why);
    else
        add(text, ", %s: %s", stream->name, sv_state_names[stream->state]);
    if (shows_card(stream))
        add(text, ", showing card");
}

static void add_others(struct text *text, const struct halo_supervisor *sv)
{
    int named = 0, count[SV_DISABLED + 1] = {0};
    for (const struct sv_stream *s = sv->streams; s; s = s->next) {
        if (is_to_name(s) && named++ < MAX_NAMED)
            add_stream(text, s);
        count[s->state] += !s->place.removed && !s->place.wanted && s->state != SV_FAILED;
    }
    if (named > MAX_NAMED)
        add(text, ", %d more not running well", named - MAX_NAMED);
    for (int i = 0; i <= SV_DISABLED; i++)
        if (count[i])
            add(text, ", %d %s", count[i], sv_state_names[i]);
}

/* ---- for the service manager ---- */

static void supervisor_count(const struct halo_supervisor *sv, int *ret_running, int *ret_all)
{
    *ret_running = *ret_all = 0;
    for (const struct sv_stream *s = sv->streams; s; s = s->next) {
        *ret_running += sv_stream_is_up(s);
        *ret_all += !s->place.removed;
    }
}

void halo_supervisor_status_text(const struct halo_supervisor *sv, char *ret, size_t size)
{
    struct text text = {ret, size};
    const int engines = halo_supervisor_engines(sv);
    int running, all;
    supervisor_count(sv, &running, &all);
    ret[0] = '\0';
    if (sv->stopping && engines) {
        add(&text, "stopping: %d engine%s %s still finishing", engines, engines == 1 ? "" : "s",
            engines == 1 ? "is" : "are");
    } else if (sv->stopping) {
        add(&text, "stopping");
    } else {
        add(&text, "%d stream%s", all, all == 1 ? "" : "s");
        add_places(&text, sv);
        add_others(&text, sv);
    }
}

int halo_supervisor_engines(const struct halo_supervisor *sv)
{
    int count = 0;
    for (const struct sv_process *p = sv->processes; p; p = p->next)
        count++;
    return count;
}

bool halo_supervisor_is_alive(const struct halo_supervisor *sv)
{
    int wanted = 0, lost = 0;
    if (sv->stopping)
        return true; /* stopping has its own deadline */
    for (const struct sv_stream *s = sv->streams; s; s = s->next) {
        wanted += s->place.wanted && !s->place.removed;
        lost += s->place.wanted && !s->place.removed && s->place.engine &&
                sv_engine_stalls(s->place.engine) >= STANDS;
    }
    return !wanted || lost < wanted;
}
