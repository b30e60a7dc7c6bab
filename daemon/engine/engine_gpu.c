/* SPDX-License-Identifier: BSD-2-Clause
 * How full the GPUs are that this engine's streams use, and the free capacity of all GPUs. The
 * driver is queried on a libuv worker thread, because it may answer late or never. If a query does
 * not return, no further one is made. */
#include <stdlib.h>

#include "daemon/engine/engine_private.h"

enum {
    EVERY_MS = 2000,
    LATE_MS = 4000, /* from then on the state is unknown */
};

struct engine_query {
    uv_work_t work;
    struct engine *engine;
    struct halo_link_gpu gpu[HALO_LINK_GPUS];
    int gpus;
};

static void note_gpu(struct engine_query *query, int number)
{
    for (int i = 0; i < query->gpus; i++)
        if (query->gpu[i].number == number)
            return;
    if (number >= 0 && query->gpus < HALO_LINK_GPUS)
        query->gpu[query->gpus++].number = number;
}

/* GPUs that do not answer are left out. */
static void ask(uv_work_t *work)
{
    struct engine_query *query = work->data;
    int known = 0;
    for (int i = 0; i < query->gpus; i++) {
        struct halo_device_memory memory;
        if (halo_device_memory((int)query->gpu[i].number, &memory) == 0)
            query->gpu[known++] = (struct halo_link_gpu){
                .number = query->gpu[i].number, .used = memory.used, .size = memory.size};
    }
    query->gpus = known;
}

static void asked(uv_work_t *work, int status)
{
    struct engine_query *query = work->data;
    struct engine *engine = query->engine;
    (void)status;
    engine->gpus = query->gpus;
    for (int i = 0; i < query->gpus; i++)
        engine->gpu[i] = query->gpu[i];
    engine->query = NULL;
    free(query);
}

void engine_gpu_tick(struct engine *engine)
{
    const uint64_t now = uv_now(&engine->loop);
    if (engine->query || engine->quitting || (engine->queried && now - engine->queried < EVERY_MS))
        return;
    struct engine_query *query = calloc(1, sizeof *query);
    if (!query)
        return;
    for (const struct engine_stream *s = engine->streams; s; s = s->next)
        note_gpu(query, s->gpu);
    engine->gpus = query->gpus ? engine->gpus : 0;
    if (!query->gpus) {
        free(query);
        return;
    }
    query->engine = engine;
    query->work.data = query;
    engine->queried = now;
    engine->query = query;
    uv_queue_work(&engine->loop, &query->work, ask, asked);
}

/* ---- all GPUs of the machine ---- */

struct engine_survey {
    uv_work_t work;
    struct engine *engine;
    struct halo_device_load load[HALO_LINK_GPUS];
    int gpus;
};

static void survey(uv_work_t *work)
{
    struct engine_survey *survey = work->data;
    survey->gpus = halo_device_loads(survey->load, HALO_LINK_GPUS);
}

static void surveyed(uv_work_t *work, int status)
{
    struct engine_survey *survey = work->data;
    struct engine *engine = survey->engine;
    (void)status;
    engine->survey = NULL;
    if (engine->link)
        halo_link_send(engine->link,
                       json_pack("{s:s, s:o}", "tell", "gpus", "gpus",
                                 halo_link_loads_write(survey->load, survey->gpus)),
                       NULL, 0);
    free(survey);
}

void engine_gpu_survey(struct engine *engine)
{
    struct engine_survey *new = engine->survey ? NULL : calloc(1, sizeof *new);
    if (!new)
        return;
    new->engine = engine;
    new->work.data = new;
    engine->survey = new;
    uv_queue_work(&engine->loop, &new->work, survey, surveyed);
}

json_t *engine_gpu_report(const struct engine *engine)
{
    const bool late = engine->query && uv_now(&engine->loop) - engine->queried > LATE_MS;
    return halo_link_gpus_write(engine->gpu, late ? 0 : engine->gpus);
}
