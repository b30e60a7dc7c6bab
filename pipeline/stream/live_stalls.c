/* SPDX-License-Identifier: BSD-2-Clause
 * Detects stages that are stuck (live_stalls.h). */
#include "pipeline/stream/live_stalls.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "kernels/clock.h"
#include "kernels/fault.h"
#include "pipeline/base/turn.h"
#include "pipeline/gate/ring.h"

enum {
    CALLS = HALO_CALL_DECODER + 1,
    PATIENCE = 8,          /* seconds; documented in live.h, as is the next */
    OPENING_PATIENCE = 30, /* other processes may open theirs first */
};

struct call {
    atomic_llong since; /* ns: since when a thread is in it; 0: none is */
    atomic_bool own;
};

struct halo_live_stalls {
    struct call call[CALLS];
    atomic_llong ring_opening; /* ns: since when; 0: not opening */
    atomic_llong in_opening;   /* the same for the GPU's decoder, while it has its turn */
    struct halo_turn turn;     /* to open something on the GPU; owned by the source thread */
    const atomic_int *stop;
    bool was_in_decoder; /* when the turn was requested; owned by the source thread */
    struct halo_opening opening;
    struct halo_ring_watch watch; /* owned by the loop */
    /* only this stream's own calls were found stuck; owned by the loop */
    bool alone;
};

/* ---- around calls ---- */

void halo_live_enter(struct halo_live_stalls *s, int call, bool own)
{
    atomic_store(&s->call[call].own, own);
    atomic_store(&s->call[call].since, halo_now_ns());
    if (halo_fault("live", call == HALO_CALL_DECODER ? "decoder" : "encoder"))
        while (halo_fault_lasts())
            halo_sleep(0.01);
}

void halo_live_leave(struct halo_live_stalls *s, int call)
{
    atomic_store(&s->call[call].since, 0);
}

/* Opening, and waiting for the turn, does not count as decoding. */
static bool take_turn(struct halo_live_stalls *s)
{
    s->was_in_decoder = atomic_exchange(&s->call[HALO_CALL_DECODER].since, 0) != 0;
    return halo_turn_take(&s->turn, HALO_TURNS_GPU, s->stop, INT64_MAX);
}

static void end_turn(struct halo_live_stalls *s)
{
    halo_turn_end(&s->turn);
    if (s->was_in_decoder)
        atomic_store(&s->call[HALO_CALL_DECODER].since, halo_now_ns());
}

static bool begin_opening(void *arg)
{
    struct halo_live_stalls *s = arg;
    const bool ret = take_turn(s);
    if (ret)
        atomic_store(&s->in_opening, halo_now_ns());
    return ret;
}

static void end_opening(void *arg)
{
    struct halo_live_stalls *s = arg;
    atomic_store(&s->in_opening, 0);
    end_turn(s);
}

const struct halo_opening *halo_live_stalls_opening(const struct halo_live_stalls *s)
{
    return &s->opening;
}

bool halo_live_stalls_begin_ring(struct halo_live_stalls *s)
{
    const bool ret = take_turn(s);
    if (ret)
        atomic_store(&s->ring_opening, halo_now_ns());
    return ret;
}

void halo_live_stalls_end_ring(struct halo_live_stalls *s)
{
    atomic_store(&s->ring_opening, 0);
    end_turn(s);
}

int halo_live_stalls_turn(const struct halo_live_stalls *s)
{
    return halo_turn_place(&s->turn);
}

/* ---- checks ---- */

static bool is_late(const struct halo_live_stalls *s, const atomic_llong *call, int seconds)
{
    const int64_t since = atomic_load(call);
    const int64_t from = since > s->watch.resumed ? since : s->watch.resumed;
    return since && halo_now_ns() - from > seconds * INT64_C(1000000000);
}

/* Also updates whether all late calls so far are the stream's own. */
static bool is_call_late(struct halo_live_stalls *s, const struct call *call)
{
    const bool late = is_late(s, &call->since, PATIENCE);
    s->alone &= !late || atomic_load(&call->own);
    return late;
}

static bool is_stalled(struct halo_live_stalls *s, struct halo_error *err)
{
    if (is_late(s, &s->in_opening, OPENING_PATIENCE)) {
        halo_fail_device(err, "the driver has not opened the decoder within %d seconds",
                         OPENING_PATIENCE);
        return true;
    }
    s->alone = true;
    const char *who = is_call_late(s, &s->call[HALO_CALL_DECODER]) ? "the decoder" : NULL;
    for (int i = 0; i < HALO_MAX_ENCODINGS; i++)
        if (is_call_late(s, &s->call[i]))
            who = who ? who : "an encoder";
    if (who)
        halo_fail(err, -ETIMEDOUT, "%s has been stuck at one frame for %d seconds", who, PATIENCE);
    return who;
}

bool halo_live_stalls_is_stuck(struct halo_live_stalls *s, struct halo_ring *ring, double timeout,
                               struct halo_error *err)
{
    s->alone = false;
    return halo_ring_watch_is_stuck(&s->watch, ring, atomic_load(&s->ring_opening), timeout, err) ||
           is_stalled(s, err);
}

bool halo_live_stalls_is_alone(const struct halo_live_stalls *s)
{
    return s->alone;
}

struct halo_live_stalls *halo_live_stalls_create(const atomic_int *stop)
{
    struct halo_live_stalls *s = av_mallocz(sizeof *s);
    if (!s)
        return NULL;
    s->stop = stop;
    s->opening = (struct halo_opening){begin_opening, end_opening, s};
    return s;
}

void halo_live_stalls_destroy(struct halo_live_stalls *s)
{
    av_free(s);
}
