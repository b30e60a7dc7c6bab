/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_gpu.h"

#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_stream_data.h"

enum {
    SURVEY_MS = 5000, /* for a driver to list the GPUs */
    FRESH_MS = 10000, /* a report is considered current for this long */
    /* for an engine that works to answer; after that the previous report is used */
    PATIENCE_MS = 1000,
    SETTLE_MS = 10000, /* after this long, the free memory reflects a started stream */
};

static const int64_t STREAM = 512 << 20; /* estimated bytes of a stream */

struct spare {
    int64_t free;
    int streams, busy;
};

static struct spare spare_of(const struct halo_supervisor *sv, int number)
{
    const struct halo_device_load *load = &sv->gpus.load[number];
    struct spare ret = {.free = load->free, .busy = load->busy};
    for (const struct sv_stream *s = sv->streams; s; s = s->next) {
        if (!s->place.engine || s->place.engine->gpu != number)
            continue;
        ret.streams++;
        if (s->place.given + SETTLE_MS > sv->gpus.known)
            ret.free -= STREAM;
    }
    return ret;
}

static bool is_better(const struct spare *a, const struct spare *b)
{
    if (!halo_device_is_near(a->free, b->free))
        return a->free > b->free;
    return a->streams != b->streams ? a->streams < b->streams : a->busy < b->busy;
}

/* An engine that can be asked, or has been; NULL: none. */
static struct sv_engine *find_witness(const struct halo_supervisor *sv)
{
    struct sv_engine *engine = sv->engines;
    while (engine && (engine->gpu < 0 || !sv_engine_is_ready(engine)))
        engine = engine->next;
    return engine;
}

int sv_gpu_choose(struct halo_supervisor *sv)
{
    const uint64_t now = sv_now(sv);
    struct sv_engine *witness = find_witness(sv);
    const bool fresh = sv->gpus.known && now - sv->gpus.known < FRESH_MS;
    if (!fresh && !witness)
        return SV_GPU_UNKNOWN;
    if (!fresh && !witness->asked)
        sv_gpu_ask(witness);
    if (!fresh && (!sv->gpus.known || now - witness->asked < PATIENCE_MS))
        return now - witness->asked < SURVEY_MS ? SV_GPU_WAIT : SV_GPU_UNKNOWN;
    int best = SV_GPU_NONE;
    struct spare most = {0};
    for (int i = 0; i < sv->gpus.count; i++) {
        const struct spare this = spare_of(sv, i);
        if (best >= 0 && !is_better(&this, &most))
            continue;
        most = this;
        best = i;
    }
    return best;
}

void sv_gpu_ask(struct sv_engine *engine)
{
    engine->asked = sv_now(engine->sv);
    halo_link_send(engine->process->link, json_pack("{s:s}", "do", "gpus"), NULL, 0);
}

bool sv_gpu_report(struct sv_engine *engine, const json_t *message)
{
    struct halo_device_load load[HALO_LINK_GPUS];
    struct halo_supervisor *sv = engine->sv;
    const int count = halo_link_loads_read(load, json_object_get(message, "gpus"));
    if (!engine->asked || count < 0)
        return false;
    engine->asked = 0;
    for (int i = 0; i < count; i++)
        sv->gpus.load[i] = load[i];
    sv->gpus.count = count;
    sv->gpus.known = sv_now(sv);
    return true;
}

bool sv_gpu_is_late(const struct sv_engine *engine)
{
    return engine->asked && sv_now(engine->sv) - engine->asked >= SURVEY_MS;
}
