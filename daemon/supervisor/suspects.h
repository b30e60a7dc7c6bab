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
    /* the search starts after this number of engine deaths at which the same stream was active */
    HALO_SUSPECT_DEATHS = 2,
    HALO_SUSPECT_MS = 600000, /* longest time between two deaths that are counted together */
};

/* The record of one stream. If all fields except device are zero, the stream is not suspected. */
struct halo_suspect {
    int device; /* number of the stream's device; streams on the same device share engines */
    /* 0: the stream is on the device's own engine; 1 to 4: it is on the extra engine with this
     * number */
    int extra;
    bool active;    /* set by the caller: the stream was active on the engine that died */
    bool moved;     /* the stream was moved to another engine after the last death */
    bool suspected; /* the stream is in the set that contains the culprit */
    bool blamed;    /* the stream is the culprit; stays set until the caller resets it */
    int deaths;     /* number of engine deaths at which the stream was active */
    uint64_t died;  /* time of the last such death, in ms */
};

enum halo_verdict {
    HALO_VERDICT_NONE,   /* nothing changes */
    HALO_VERDICT_SHARED, /* an engine without suspects died, so no stream is suspected any more */
    HALO_VERDICT_HALVED, /* some suspects were moved */
    /* one stream is blamed now; it is isolated if an extra engine is available */
    HALO_VERDICT_FOUND,
};

/* Called when an engine has died. device and extra identify the engine, and `now` is the time in
 * ms. `all` contains the records of all streams that should run and share engines; the streams that
 * ended together with this engine are marked `active`. `asker` is the stream that requested the
 * engine's end, or NULL if no stream did. If asker is not NULL, the engine's death counts against
 * that stream only. */
enum halo_verdict halo_suspects_died(struct halo_suspect *const *all, int count, int device,
                                     int extra, struct halo_suspect *asker, uint64_t now);

/* Called when one stream has stalled and left its engine, which continues with its other streams.
 * Returns HALO_VERDICT_FOUND if the stream now belongs on an extra engine. Returns
 * HALO_VERDICT_NONE, and changes nothing, if no extra engine is available. */
enum halo_verdict halo_suspects_stalled(struct halo_suspect *const *all, int count,
                                        struct halo_suspect *one);

#endif
