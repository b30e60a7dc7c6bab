/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_choose.h"

#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "config/run.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_files.h"
#include "daemon/supervisor/sup_gpu.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "kernels/backend.h"

static bool wants_gpu(const struct sv_stream *stream)
{
    const char *backend = halo_run_backends[stream->settings.device.backend];
    if (!strcmp(backend, "cuda"))
        return true;
    /* A build without CUDA has no strategy for it, so there is nothing to separate. */
    const struct halo_backend_ops *cuda = halo_backend_find("cuda");
    const bool none = stream->sv->gpus.known && stream->sv->gpus.count == 0;
    return !strcmp(backend, "auto") && !stream->place.on_cpu && !none && cuda &&
           cuda->strategies[0];
}

/* Writes the name of the stream's engine. gpu: number of the GPU; negative: none. Streams with the
 * same engine name share an engine. */
static void name_engine(struct sv_stream *stream, bool on_gpu, int gpu, char *ret, size_t size)
{
    struct halo_suspect *suspect = &stream->place.suspect;
    const int device = !on_gpu ? SV_GPU_NONE : gpu >= 0 ? gpu : SV_GPU_UNKNOWN;
    if (suspect->device != device) /* its record on the old device says nothing about the new one */
        *suspect = (struct halo_suspect){.device = device};
    char number[16] = "", place[80] = "";
    if (on_gpu && gpu >= 0)
        snprintf(number, sizeof number, "%d", gpu);
    if (sv_stream_has_own_engine(stream))
        snprintf(place, sizeof place, ":%s", stream->name);
    else if (suspect->extra)
        snprintf(place, sizeof place, "+%d", suspect->extra);
    snprintf(ret, size, "%s%s%s", on_gpu ? "gpu" : "cpu", number, place);
}

/* Like sv_engine_choose(), but does not check that the engine is allowed to open all the files. */
static struct sv_engine *engine_of(struct sv_stream *stream)
{
    struct halo_supervisor *sv = stream->sv;
    const bool on_gpu = wants_gpu(stream);
    const int wished = stream->settings.device.gpu;
    const struct halo_suspect *suspect = &stream->place.suspect;
    const int gpu = !on_gpu                                  ? SV_GPU_NONE
                    : wished >= 0                            ? wished
                    : suspect->extra && suspect->device >= 0 ? suspect->device
                                                             : sv_gpu_choose(sv);
    if (gpu == SV_GPU_WAIT)
        return NULL; /* the timer calls again */
    char name[96];
    name_engine(stream, on_gpu, gpu, name, sizeof name);
    struct sv_engine *engine = sv_engine_find(sv, name);
    if (!engine) {
        engine = sv_engine_make(sv, name);
        if (!engine)
            return NULL;
        engine->gpu = gpu < 0 ? -1 : gpu;
        engine->choosing = gpu == SV_GPU_UNKNOWN;
    }
    stream->place.given = sv_now(sv);
    return engine;
}

/* A running engine can never open more files than when it started, so a stream that needs others
 * gets another engine. */
struct sv_engine *sv_engine_choose(struct sv_stream *stream)
{
    struct sv_engine *engine = engine_of(stream);
    if (!engine || sv_files_cover(engine, &stream->settings))
        return engine;
    if (sv_engine_streams(engine) > 0) {
        stream->place.apart = true;
        engine = engine_of(stream);
    }
    if (engine && !sv_files_cover(engine, &stream->settings)) {
        sv_engine_drop(engine);
        engine = engine_of(stream);
    }
    return engine;
}

void sv_engine_become(struct sv_engine *engine, struct sv_stream *stream)
{
    char name[96];
    const bool on_gpu = wants_gpu(stream);
    const int gpu = on_gpu ? sv_gpu_choose(engine->sv) : SV_GPU_NONE;
    name_engine(stream, on_gpu, gpu, name, sizeof name);
    if ((on_gpu && gpu < 0) || sv_engine_find(engine->sv, name))
        return;
    halo_log(HALO_LOG_DEBUG, "engine %s is now named %s", engine->name, name);
    snprintf(engine->name, sizeof engine->name, "%s", name);
    engine->gpu = on_gpu ? gpu : -1;
    stream->place.engine = engine;
    stream->place.given = sv_now(engine->sv);
}
