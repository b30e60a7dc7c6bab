/* SPDX-License-Identifier: BSD-2-Clause
 * Which GPU a stream without a number goes to. Only an engine may ask the driver: the first one for
 * such streams says what there is before it gets its number ("gpu" until then; "cpu" where there is
 * none), later any that is on a GPU. What was given since is counted, for it is not seen yet in
 * what they say. Loop thread only. */
#ifndef HALO_SUP_GPU_H
#define HALO_SUP_GPU_H

#include <jansson.h>
#include <stdbool.h>

struct halo_supervisor;
struct sv_engine;

enum {
    SV_GPU_NONE = -1,    /* there is no GPU */
    SV_GPU_UNKNOWN = -2, /* nobody has said which there are */
    SV_GPU_WAIT = -3,    /* somebody has been asked, and says it soon */
};
int sv_gpu_choose(struct halo_supervisor *sv); /* a number, or one of these */
void sv_gpu_ask(struct sv_engine *engine);     /* its process runs */
/* An engine's answer; false: it makes no sense. */
bool sv_gpu_told(struct sv_engine *engine, const json_t *message);
bool sv_gpu_is_late(const struct sv_engine *engine); /* with its answer */

#endif
