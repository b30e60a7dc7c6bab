/* SPDX-License-Identifier: BSD-2-Clause
 * Finds the stream that makes engines die. When an engine dies, all of its streams end with it, so
 * one death does not show which of them caused it. If engines of a device die again and again, the
 * streams that were active each time are split: one half gets an extra engine, and the next death
 * shows which half contains the culprit. So the culprit is found after as many deaths as the set
 * can be halved, and only streams that have to start again anyway are moved. All devices together
 * never have more than HALO_EXTRA_ENGINES extra engines.
 *
 * This code uses no clock and no processes: the caller reports deaths and moves streams as
 * requested here. */
#ifndef HALO_SUSPECTS_H
#define HALO_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HALO_EXTRA_ENGINES = 4,
    HALO_SUSPECT_DEATHS = 2,  /* deaths with the same stream active ... */
    HALO_SUSPECT_MS = 600000, /* ... each within this time after the one before */
};

/* The record of one stream. Zeroed except for its device: not suspected. */
struct halo_suspect {
    int device;     /* streams with the same number share engines */
    int extra;      /* 0: it is on the device's own engine; 1 to 4: on that extra engine */
    bool active;    /* it was on the engine that died; set by the caller */
    bool moved;     /* the last death moved it to another engine */
    bool suspected; /* it is among those that contain the culprit */
    bool blamed;    /* it is the culprit; kept until the caller resets it */
    int deaths;     /* how many deaths it was active in */
    uint64_t died;  /* time of the last death: ms */
};

enum halo_verdict {
    HALO_VERDICT_NONE,   /* nothing changes */
    HALO_VERDICT_SHARED, /* no suspect was in the engine: no stream is suspected any more */
    HALO_VERDICT_HALVED, /* some suspects were moved */
    HALO_VERDICT_FOUND,  /* one stream is blamed now, and alone if an engine is available for it */
};

/* An engine of this device has died at `now` (ms), with the streams placed on it that are `active`.
 * all: the records of all streams that should run and share engines. asker: the stream that
 * requested the death, which then counts only for this stream; NULL: none. */
enum halo_verdict halo_suspects_died(struct halo_suspect *const *all, int count, int device,
                                     int extra, struct halo_suspect *asker, uint64_t now);

/* One stream has stalled and left its engine, which goes on with the others. FOUND: its place is an
 * extra engine now. NONE: no extra engine is available, and its place does not change. */
enum halo_verdict halo_suspects_stalled(struct halo_suspect *const *all, int count,
                                        struct halo_suspect *one);

#endif
