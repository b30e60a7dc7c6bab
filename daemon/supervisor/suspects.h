/* SPDX-License-Identifier: BSD-2-Clause
 * Finds the stream that makes engines die. When an engine dies, all of its streams end with it, so
 * a single death does not show which stream caused it. If engines of a device die repeatedly, the
 * streams that were active each time are split: one half moves to an extra engine, and the next
 * death shows which half contains the culprit. The number of deaths until the culprit is found is
 * thus the number of times that the set can be halved, and only streams that have to start again
 * anyway are moved. All devices together never have more than HALO_EXTRA_ENGINES extra engines.
 *
 * This code uses neither clocks nor processes: the caller reports deaths, and moves streams as the
 * results request. */
#ifndef HALO_SUSPECTS_H
#define HALO_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HALO_EXTRA_ENGINES = 4,
    /* the search starts after this many deaths with the same stream active */
    HALO_SUSPECT_DEATHS = 2,
    HALO_SUSPECT_MS = 600000, /* each death must follow the previous one within this time */
};

/* The record of one stream. A record that is zeroed except for its device is not suspected. */
struct halo_suspect {
    int device; /* streams with the same number share engines */
    /* 0: it is on the device's own engine; 1 to 4: it is on the extra engine with this number */
    int extra;
    bool active;    /* set by the caller: it was active on the engine that died */
    bool moved;     /* the last death moved it to another engine */
    bool suspected; /* it is in the set that contains the culprit */
    bool blamed;    /* it is the culprit; kept until the caller resets it */
    int deaths;     /* number of deaths during which it was active */
    uint64_t died;  /* time of the last death in ms */
};

enum halo_verdict {
    HALO_VERDICT_NONE,   /* nothing changes */
    HALO_VERDICT_SHARED, /* no suspect was in the engine: no stream is suspected any more */
    HALO_VERDICT_HALVED, /* some suspects were moved */
    /* one stream is blamed now; it is isolated if an extra engine is available */
    HALO_VERDICT_FOUND,
};

/* Called when an engine of this device has died at `now` (ms), together with the streams that were
 * placed on it and are `active`. all contains the records of all streams that should run and share
 * engines. asker is the stream that requested the death, which then counts only for this stream, or
 * NULL if no stream did. */
enum halo_verdict halo_suspects_died(struct halo_suspect *const *all, int count, int device,
                                     int extra, struct halo_suspect *asker, uint64_t now);

/* Called when one stream has stalled and left its engine, which continues with the others. Returns
 * FOUND if the stream's place is now an extra engine, or NONE if no extra engine is available and
 * its place does not change. */
enum halo_verdict halo_suspects_stalled(struct halo_suspect *const *all, int count,
                                        struct halo_suspect *one);

#endif
