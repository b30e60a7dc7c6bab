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
};

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

/* Opening is not decoding: neither is the wait for the turn. */
bool halo_live_opening_begin(void *arg)
{
    struct halo_live *live = arg;
    live->was_in_decoder = atomic_exchange(&live->in_decoder, 0) != 0;
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
        atomic_store(&live->in_decoder, halo_now_ns());
}

static bool is_late(const struct halo_live *live, const atomic_llong *call, int seconds)
{
    const int64_t since = atomic_load(call);
    return since &&
           halo_now_ns() - FFMAX(since, live->watch.resumed) > seconds * INT64_C(1000000000);
}

bool halo_live_stands(struct halo_live *live, struct halo_error *err)
{
    if (is_late(live, &live->in_opening, OPENING_PATIENCE)) {
        halo_fail_device(err, "the driver has not opened the decoder within %d seconds",
                         OPENING_PATIENCE);
        return true;
    }
    const char *who = is_late(live, &live->in_decoder, PATIENCE) ? "the decoder" : NULL;
    for (int i = 0; i < live->encodings && !who; i++)
        if (is_late(live, &live->encoder[i].in_encoder, PATIENCE))
            who = "an encoder";
    if (who)
        halo_fail(err, -ETIMEDOUT, "%s has been at one picture for %d seconds", who, PATIENCE);
    return who;
}
