/* SPDX-License-Identifier: BSD-2-Clause
 * Chooses the GPU for a stream without a GPU number. Only engines may ask the driver. The first
 * engine for such streams reports the GPUs before it gets its GPU number; until then its name is
 * "gpu", and it becomes "cpu" if there is no GPU. Later, any engine on a GPU reports them. Streams
 * that were assigned since the last report are counted, because the report does not show their
 * memory yet. Loop thread only. */
#ifndef HALO_SUP_GPU_H
#define HALO_SUP_GPU_H

#include <jansson.h>
#include <stdbool.h>

struct halo_supervisor;
struct sv_engine;

enum {
    SV_GPU_NONE = -1,    /* there is no GPU */
    SV_GPU_UNKNOWN = -2, /* no engine has reported which GPUs exist */
    SV_GPU_WAIT = -3,    /* an engine was asked, and will report soon */
};
/* Returns the number of the chosen GPU, or SV_GPU_NONE, SV_GPU_UNKNOWN or SV_GPU_WAIT. */
int sv_gpu_choose(struct halo_supervisor *sv);
/* Asks the engine for a report about the GPUs; the engine's process must be running. */
void sv_gpu_ask(struct sv_engine *engine);
/* Handles an engine's report about the GPUs. Returns false if the report is malformed or was not
 * requested. */
bool sv_gpu_report(struct sv_engine *engine, const json_t *message);
/* Returns whether the engine's report is overdue. */
bool sv_gpu_is_late(const struct sv_engine *engine);

#endif
