/* SPDX-License-Identifier: BSD-2-Clause
 * Records whether a stream is to run, which engine it is on, and which failures it has had there.
 * These functions only change values: they neither read a clock nor act on an engine. Times are
 * milliseconds of CLOCK_MONOTONIC. Loop thread only. */
#ifndef HALO_SUP_PLACE_H
#define HALO_SUP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/supervisor/suspects.h"

enum {
    SV_BACKOFF_MS = 250, /* the first pause that is not zero; doubles up to SV_BACKOFF_MAX_MS */
    SV_BACKOFF_MAX_MS = 5000,
    SV_GOOD_MS = 10000, /* after running this long, the pauses start again with the shortest */
};

/* The pause before a restart. It grows with each failure and is reset after running for
 * SV_GOOD_MS. */
struct sv_backoff {
    int failures;
    uint64_t not_before; /* earliest time of the next start */
    uint64_t good_since; /* time since which it has been running; 0: it is not running */
};

enum sv_phase {
    SV_OUT,     /* no engine knows it */
    SV_IN,      /* `start` was sent */
    SV_LEAVING, /* `stop` was sent, and `gone` is awaited */
};

struct sv_engine;

/* A zeroed placement is out and not wanted. */
struct sv_placement {
    /* The requests: what is to happen with the stream. */
    bool wanted;  /* the stream is to run */
    bool removed; /* the stream is destroyed once it is out */
    /* the stream must leave its engine once and then return, perhaps to another engine */
    bool again;

    enum sv_phase phase;
    uint64_t since;           /* when `start` or `stop` was sent; kept when the stream is out */
    struct sv_engine *engine; /* kept while the engine is restarted; NULL: none */
    uint64_t given;           /* when the stream got this engine */
    uint64_t moved; /* when the search for suspects moved it to another engine; 0: never */

    /* Its failures, kept until sv_placement_reset(). */
    struct sv_backoff backoff;
    struct halo_suspect suspect;
    /* runs on the CPU because the GPU failed too often or (for_memory) its memory was full */
    bool on_cpu;
    bool for_memory; /* it is on the CPU because the GPU's memory was full for too long */
    /* there was too little GPU memory to start it, so it waits without an engine */
    bool no_room;
    /* the shared engine is not allowed to open its files, so it has its own engine */
    bool apart;
};

/* Makes the stream choose its engine again, once it has left its current engine. */
void sv_placement_leave(struct sv_placement *place);
/* To be called for a start by hand or new settings: earlier failures no longer count, so the stream
 * chooses its engine again. */
void sv_placement_reset(struct sv_placement *place);

/* To be called at each failure. No pause follows the first failure. */
void sv_backoff_failed(struct sv_backoff *backoff, uint64_t now);

#endif
