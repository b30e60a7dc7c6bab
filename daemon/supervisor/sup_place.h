/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a stream is to run, which engine it is on, and which failures it has had there. These
 * functions only change values: they read no clock and touch no engine. Times are milliseconds of
 * CLOCK_MONOTONIC. Loop thread only. */
#ifndef HALO_SUP_PLACE_H
#define HALO_SUP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/supervisor/suspects.h"

enum {
    SV_BACKOFF_MS = 250, /* doubles ... */
    SV_BACKOFF_MAX_MS = 5000,
    SV_GOOD_MS = 10000, /* after running this long, the pauses start again with the shortest */
};

/* The pause before a restart: it grows with each failure and is reset after SV_GOOD_MS of
 * running. */
struct sv_backoff {
    int failures;
    uint64_t not_before; /* no start earlier than this */
    uint64_t good_since; /* since when it has been running; 0: it is not */
};

enum sv_phase {
    SV_OUT,     /* no engine knows it */
    SV_IN,      /* start was sent */
    SV_LEAVING, /* stop was sent, gone is awaited */
};

struct sv_engine;

/* Zeroed: out, and not wanted. */
struct sv_placement {
    /* What is requested. */
    bool wanted;  /* to run */
    bool removed; /* destroyed once it is out */
    bool again;   /* must leave its engine once and then return, perhaps to another one */

    enum sv_phase phase;
    uint64_t since;           /* when start or stop was sent; kept when it is out */
    struct sv_engine *engine; /* kept while that is restarted; NULL: none */
    uint64_t given;           /* when it got this engine */
    uint64_t moved; /* when the search for suspects moved it to another engine; 0: never */

    /* Its failures, kept until sv_placement_reset(). */
    struct sv_backoff backoff;
    struct halo_suspect suspect;
    bool on_cpu;     /* runs on the CPU because the GPU failed too often ... */
    bool for_memory; /* ... or because its memory was full for too long */
    bool no_room;    /* there was too little memory to start it: it waits without an engine */
    bool apart;      /* the shared engine is not allowed to open its files */
};

/* Makes the stream choose its engine again, once it has left its present one. */
void sv_placement_leave(struct sv_placement *place);
/* For a start by hand or new settings: earlier failures no longer count, so it chooses its engine
 * again. */
void sv_placement_reset(struct sv_placement *place);

/* To be called at each failure. After the first one there is no pause. */
void sv_backoff_failed(struct sv_backoff *backoff, uint64_t now);

#endif
