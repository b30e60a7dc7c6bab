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
    /* the first pause that is not zero; it doubles with each failure, up to SV_BACKOFF_MAX_MS */
    SV_BACKOFF_MS = 250,
    SV_BACKOFF_MAX_MS = 5000,
    /* once a stream or engine has been running for this long, its next failure counts as the first
     * again */
    SV_GOOD_MS = 10000,
};

/* The pause before a restart of a stream or engine. The pause grows with each failure, and is reset
 * after the stream or engine has been running for SV_GOOD_MS. */
struct sv_backoff {
    int failures;
    uint64_t not_before; /* earliest time of the next start */
    /* when the stream or engine last began to run; 0: it has not run since its last failure */
    uint64_t good_since;
};

enum sv_phase {
    SV_OUT,     /* the stream is not in any engine */
    SV_IN,      /* `start` was sent to the engine */
    SV_LEAVING, /* `stop` was sent, and the engine has not answered `gone` yet */
};

struct sv_engine;

/* Where a stream is and where it should be. If all fields are zero, the stream is in no engine and
 * should not run. */
struct sv_placement {
    /* What should happen to the stream. */
    bool wanted;  /* the stream should run */
    bool removed; /* the stream must be destroyed once its phase is SV_OUT */
    /* the stream must leave its engine once and then be placed in an engine again, perhaps a
     * different one */
    bool again;

    enum sv_phase phase;
    uint64_t since; /* when `start` or `stop` was last sent; unchanged when the phase becomes
                       SV_OUT */
    struct sv_engine *engine; /* the stream's engine, kept while the engine restarts; NULL: none */
    uint64_t given;           /* when the stream was assigned to this engine */
    uint64_t moved; /* when the search for suspects moved the stream to another engine; 0: never */

    /* The stream's failures, kept until sv_placement_reset() is called. */
    struct sv_backoff backoff;
    struct halo_suspect suspect;
    /* the stream runs on the CPU because the GPU failed too often or, if for_memory is true,
     * because the GPU's memory was full */
    bool on_cpu;
    bool for_memory; /* on_cpu is true because the GPU's memory was full for too long */
    /* the GPU had too little memory for the stream, so the stream waits without an engine */
    bool no_room;
    /* the stream has its own engine, because the shared engine is not allowed to open the stream's
     * files */
    bool apart;
};

/* Makes the stream leave its current engine, if any, so that an engine is chosen again. */
void sv_placement_leave(struct sv_placement *place);
/* Must be called when the stream is started by hand or gets new settings. Forgets the stream's
 * earlier failures, and makes the stream leave its engine, so that an engine is chosen again. */
void sv_placement_reset(struct sv_placement *place);

/* Must be called after each failure, to determine the next pause. There is no pause after the first
 * failure. */
void sv_backoff_failed(struct sv_backoff *backoff, uint64_t now);

#endif
