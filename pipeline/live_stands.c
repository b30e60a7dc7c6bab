/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a stage stands: it is inside a call that waits for nobody, and does not come back. What
 * waits (for a source, for room, for the GPU, whose calls the ring watches) is not in such a
 * call. */
#include <unistd.h>

#include "kernels/fault.h"
#include "pipeline/live_private.h"

enum { PATIENCE = 8 }; /* seconds; live.h names it */

void halo_live_enter(atomic_llong *call, const char *fault)
{
    atomic_store(call, halo_now_ns());
    while (halo_fault("live", fault))
        for (;;)
            pause();
}

void halo_live_leave(atomic_llong *call)
{
    atomic_store(call, 0);
}

static bool is_late(const struct halo_live *live, const atomic_llong *call)
{
    const int64_t since = atomic_load(call);
    return since &&
           halo_now_ns() - FFMAX(since, live->watch.resumed) > PATIENCE * INT64_C(1000000000);
}

bool halo_live_stands(struct halo_live *live, struct halo_error *err)
{
    const char *who = is_late(live, &live->in_decoder) ? "the decoder" : NULL;
    for (int i = 0; i < live->encodings && !who; i++)
        if (is_late(live, &live->encoder[i].in_encoder))
            who = "an encoder";
    if (who)
        halo_fail(err, -ETIMEDOUT, "%s has been at one picture for %d seconds", who, PATIENCE);
    return who;
}
