/* SPDX-License-Identifier: BSD-2-Clause
 * Chooses the GPU of a stream without a GPU number. Only engines may ask the driver: the first one
 * for such streams reports the GPUs before it gets its number (it is "gpu" until then, and "cpu" if
 * there is no GPU), later any engine on a GPU. Streams assigned since the last report are counted,
 * because the report does not show their memory yet. Loop thread only. */
#ifndef HALO_SUP_GPU_H
#define HALO_SUP_GPU_H

#include <jansson.h>
#include <stdbool.h>

struct halo_supervisor;
struct sv_engine;

enum {
    SV_GPU_NONE = -1,    /* there is no GPU */
    SV_GPU_UNKNOWN = -2, /* no engine has reported which there are */
    SV_GPU_WAIT = -3,    /* an engine was asked, and will report soon */
};
int sv_gpu_choose(struct halo_supervisor *sv); /* a number, or one of these */
void sv_gpu_ask(struct sv_engine *engine);     /* its process runs */
/* An engine's answer; false: it is malformed or was not asked for. */
bool sv_gpu_report(struct sv_engine *engine, const json_t *message);
bool sv_gpu_is_late(const struct sv_engine *engine); /* its answer takes too long */

#endif
