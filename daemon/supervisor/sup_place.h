/* SPDX-License-Identifier: BSD-2-Clause
 * Where a stream is wanted, where it is, and what it met there. Values alone: no clock, no engine
 * is touched. Times are milliseconds of CLOCK_MONOTONIC. Loop thread only. */
#ifndef HALO_SUP_PLACE_H
#define HALO_SUP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/supervisor/suspects.h"

enum {
    SV_BACKOFF_MS = 250, /* doubles ... */
    SV_BACKOFF_MAX_MS = 5000,
    SV_GOOD_MS = 10000, /* of good running, and the pauses begin again with the shortest */
};

/* What grows with each failure and is forgotten after good running. */
struct sv_backoff {
    int failures;
    uint64_t not_before; /* no start earlier than this */
    uint64_t good_since; /* 0: is not running */
};

enum sv_phase {
    SV_OUT,     /* no engine knows it */
    SV_IN,      /* start was sent */
    SV_LEAVING, /* stop was sent, gone is awaited */
};

struct sv_engine;

/* Zeroed: out, and not wanted. */
struct sv_placement {
    /* The wish. */
    bool wanted;  /* to run */
    bool removed; /* goes away once it is out */
    bool again;   /* has to leave its engine once, and comes back, perhaps to another */

    enum sv_phase phase;
    uint64_t since;           /* start or stop was sent; kept when it is out */
    struct sv_engine *engine; /* kept over its restarts; NULL: none */
    uint64_t given;           /* when it got that */
    uint64_t moved;           /* to another one, by the search for suspects; 0: never */

    /* What it met, until sv_placement_reset(). */
    struct sv_backoff backoff;
    struct halo_suspect suspect;
    bool on_cpu;     /* the GPU failed too often ... */
    bool for_memory; /* ... or its memory was full for too long */
    bool no_room;    /* for it there was not enough to begin with: it waits, out of its engine */
    bool apart;      /* the engine of its place may not open its files */
};

/* It has to choose its engine again: once it has left the one that it is on. */
void sv_placement_leave(struct sv_placement *place);
/* By hand or with new settings: what it met counts no more, so it chooses its engine again. */
void sv_placement_reset(struct sv_placement *place);

/* Of what failed now: the first time it starts again at once. */
void sv_backoff_failed(struct sv_backoff *backoff, uint64_t now);

#endif
