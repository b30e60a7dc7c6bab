/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a stage stands: it is inside a call that waits for nobody, and does not come back. What
 * waits (for a source, for room, for the GPU, whose calls the ring watches) is not in such a
 * call. */
#include <unistd.h>

#include "kernels/fault.h"
#include "pipeline/live/live_private.h"

enum {
    PATIENCE = 8,          /* seconds; live.h names both */
    OPENING_PATIENCE = 30, /* those of other processes may come first */
    FAULT_LOOK_US = 10000,
};

void halo_live_enter(struct halo_live_call *call, bool own, const char *fault)
{
    atomic_store(&call->own, own);
    atomic_store(&call->since, halo_now_ns());
    if (halo_fault("live", fault))
        while (halo_fault_lasts())
            usleep(FAULT_LOOK_US);
}

void halo_live_leave(struct halo_live_call *call)
{
    atomic_store(&call->since, 0);
}

/* Opening is not decoding: neither is the wait for the turn. */
bool halo_live_opening_begin(void *arg)
{
    struct halo_live *live = arg;
    live->was_in_decoder = atomic_exchange(&live->in_decoder.since, 0) != 0;
    const bool ret = halo_turn_take(&live->turn, &live->stop);
    if (ret)
        atomic_store(&live->in_opening, halo_now_ns());
    return ret;
}

void halo_live_opening_end(void *arg)
{
    struct halo_live *live = arg;
    atomic_store(&live->in_opening, 0);
    halo_turn_end(&live->turn);
    if (live->was_in_decoder)
        atomic_store(&live->in_decoder.since, halo_now_ns());
}

static bool is_late(const struct halo_live *live, const atomic_llong *call, int seconds)
{
    const int64_t since = atomic_load(call);
    return since &&
           halo_now_ns() - FFMAX(since, live->watch.resumed) > seconds * INT64_C(1000000000);
}

/* Also whether all that is late so far is the stream's own. */
static bool is_call_late(struct halo_live *live, const struct halo_live_call *call)
{
    const bool late = is_late(live, &call->since, PATIENCE);
    live->stalls_alone &= !late || atomic_load(&call->own);
    return late;
}

bool halo_live_stands(struct halo_live *live, struct halo_error *err)
{
    if (is_late(live, &live->in_opening, OPENING_PATIENCE)) {
        halo_fail_device(err, "the driver has not opened the decoder within %d seconds",
                         OPENING_PATIENCE);
        return true;
    }
    live->stalls_alone = true;
    const char *who = is_call_late(live, &live->in_decoder) ? "the decoder" : NULL;
    for (int i = 0; i < live->encodings; i++)
        if (is_call_late(live, &live->encoder[i].in_encoder))
            who = who ? who : "an encoder";
    if (who)
        halo_fail(err, -ETIMEDOUT, "%s has been at one picture for %d seconds", who, PATIENCE);
    return who;
}
